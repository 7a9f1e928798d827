//! Citations of places that no indexed repository has.

use super::*;

pub(super) fn place(file: &str, symbol: Option<&str>) -> NewCitation {
    NewCitation {
        file: file.into(),
        symbol: symbol.map(str::to_owned),
        lines: None,
        commit: None,
        content_hash: None,
    }
}

const CART: &str = "class Cart\n  def total\n    items.sum(&:price_in_cents)\n  end\nend";

pub(super) async fn citing(world: &World, citations: Vec<NewCitation>) -> SaveOutcome {
    let note = "The total of a cart is summed in cents, never in floats";
    world.save(&SaveRequest { citations, ..world.note(note) }).await
}

pub(super) async fn indexed() -> World {
    let world = World::new().await;
    world.index_file("app/models/cart.rb", CART, Some(("Cart#total", 2, 4))).await;
    testing::execute(world.url(), "update repositories set indexed_at = now()").await.unwrap();
    world
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_citation_is_left_out_with_suggestions() {
    let world = indexed().await;
    let lines = NewCitation { lines: Some((90, 95)), ..place("app/models/cart.rb", None) };
    let outcome = citing(
        &world,
        vec![
            place("app/models/cart.rb", Some("Cart#totl")),
            place("app/models/carts.rb", None),
            lines,
            place("app/models/cart.rb", None),
        ],
    )
    .await;
    assert_eq!(outcome.citations.len(), 1, "what is there is cited: {:?}", outcome.citations);
    let told: Vec<_> = outcome
        .unknown_citations
        .iter()
        .map(|one| (one.reason.as_str(), one.near.iter().map(String::as_str).collect::<Vec<_>>()))
        .collect();
    assert_eq!(
        told,
        [
            (
                "no indexed file defines `Cart#totl`: cite one of `near`, or save again once it \
                    is indexed",
                vec!["app/models/cart.rb#Cart#total"]
            ),
            (
                "the file is not indexed (absent, generated, or too large): cite one of `near`, or \
                    save again once it is indexed",
                vec!["app/models/cart.rb"]
            ),
            (
                "the file does not have these lines as it is indexed: cite lines that it has, or \
                    save again once it is reindexed",
                vec![]
            ),
        ]
    );
    let id = outcome.decision.record().unwrap();
    let kept = mc_store::citations::of_records(world.store(), &[id]).await.unwrap();
    assert_eq!(kept.len(), 1, "the note is not lost, and nothing stays to be blamed later");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unambiguous_citation_is_resolved() {
    let world = indexed().await;
    let outcome = citing(
        &world,
        vec![place("models/cart.rb", None), place("app/models/cart.rb", Some("Cart.total"))],
    )
    .await;
    assert!(outcome.unknown_citations.is_empty(), "{:?}", outcome.unknown_citations);
    let cited: Vec<_> = outcome
        .citations
        .iter()
        .map(|one| (one.file_path.as_str(), one.symbol.as_deref()))
        .collect();
    assert_eq!(cited, [("app/models/cart.rb", None), ("app/models/cart.rb", Some("Cart#total"))]);
}

/// Saves one citation and returns the stored path and name.
async fn cited(world: &World, citation: NewCitation) -> Option<(String, Option<String>)> {
    let outcome = citing(world, vec![citation]).await;
    let id = outcome.decision.record().unwrap();
    let sql = format!("delete from memory_records where id = '{id}'");
    testing::execute(world.url(), &sql).await.unwrap();
    outcome.citations.into_iter().next().map(|one| (one.file_path, one.symbol))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn name_in_several_files_is_not_resolved() {
    let world = indexed().await;
    world.index_file("lib/cart.rb", CART, Some(("Cart#total", 2, 4))).await;
    let outcome = citing(&world, vec![place("app/cart.rb", Some("Cart.total"))]).await;
    assert!(outcome.citations.is_empty(), "{:?}", outcome.citations);
    let near = ["app/models/cart.rb#Cart#total", "lib/cart.rb#Cart#total"];
    assert_eq!(outcome.unknown_citations[0].near, near);
    let there = cited(&world, place("lib/cart.rb", Some("Cart.total"))).await.unwrap();
    assert_eq!(there.0, "lib/cart.rb", "the file says which");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn citation_with_too_many_candidates_is_not_resolved() {
    let world = indexed().await;
    let elsewhere = place("app/cart.rb", Some("Cart.total"));
    let [name, path] = [elsewhere, place("models/cart.rb", None)];
    for one in [&name, &path] {
        assert!(cited(&world, one.clone()).await.is_some(), "the only one");
    }
    world.index_file("lib/totals.rb", CART, Some(("Totals", 1, 5))).await;
    for more in [
        "insert into code_symbols (file_id, project_id, name, kind, line_start, line_end, span_hash)
         select id, project_id, 'Row' || n || '#total', 'method', 1, 1, ''
         from files, generate_series(1, 200) n
         where path = 'lib/totals.rb'",
        "insert into files (id, repository_id, project_id, path, content_hash, size_bytes, \
            language, line_count, chunker_version)
         select gen_random_uuid(), repository_id, project_id, 'lib/cart' || n || '.rb', '', 0,
                'ruby', 0, 1
         from files, generate_series(1, 200) n where path = 'lib/totals.rb'",
    ] {
        testing::execute(world.url(), more).await.unwrap();
    }
    for one in [name, path] {
        assert_eq!(cited(&world, one).await, None, "who knows what comes after these");
    }
    let there = cited(&world, place("app/models/cart.rb", Some("Cart.total"))).await.unwrap();
    assert_eq!(there.1.as_deref(), Some("Cart#total"), "all of that file were looked at");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn citation_is_kept_unchecked_without_an_index() {
    let world = World::new().await;
    let outcome = citing(&world, vec![place("app/models/cart.rb", Some("Cart#total"))]).await;
    assert!(outcome.unknown_citations.is_empty());
    assert_eq!(outcome.citations.len(), 1);
}
