//! The states of records follow the code that they cite.

use mc_domain::{CitationVerdict, RecordId, RecordState};
use mc_memory::{NewCitation, SaveRequest, recheck_files};
use mc_store::{citations, records};

use crate::support::World;

const PATH: &str = "app/models/cart.rb";
const CART: &str = "class Cart\n  def total\n    items.sum(&:price_in_cents)\n  end\n\n  def \
    empty?\n    items.none?\n  end\nend";

fn span(start: i32, end: i32) -> NewCitation {
    NewCitation {
        file: PATH.into(),
        symbol: None,
        lines: Some((start, end)),
        commit: None,
        content_hash: None,
    }
}

fn symbol(name: &str) -> NewCitation {
    NewCitation { symbol: Some(name.into()), lines: None, ..span(1, 1) }
}

async fn state(world: &World, id: RecordId) -> (RecordState, Vec<CitationVerdict>) {
    let record = records::find(world.store(), id).await.unwrap().unwrap();
    let cited = citations::of_records(world.store(), &[id]).await.unwrap();
    (record.state, cited.into_iter().map(|c| c.verdict).collect())
}

async fn recheck(world: &World) {
    recheck_files(world.store(), world.project, &[PATH.to_owned()]).await.unwrap();
}

async fn cite(world: &World, citations: Vec<NewCitation>) -> RecordId {
    let note = SaveRequest {
        citations,
        ..world.note("The total of a cart is summed in cents, never in floats")
    };
    world.created(&note).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn record_is_stale_while_its_span_is_changed() {
    let world = World::new().await;
    world.index_file(PATH, CART, None).await;
    let id = cite(&world, vec![span(2, 4)]).await;
    assert_eq!(state(&world, id).await, (RecordState::Active, vec![CitationVerdict::Fresh]));

    world.index_file(PATH, &format!("# frozen_string_literal: true\n\n{CART}"), None).await;
    recheck(&world).await;
    assert_eq!(state(&world, id).await, (RecordState::Active, vec![CitationVerdict::Fresh]));
    let cited = citations::of_records(world.store(), &[id]).await.unwrap();
    assert_eq!(cited[0].lines, Some((4, 6)));

    world.index_file(PATH, &CART.replace("price_in_cents", "amount"), None).await;
    let done = recheck_files(world.store(), world.project, &[PATH.to_owned()]).await.unwrap();
    assert_eq!((done.records, done.turned_stale), (1, 1));
    assert_eq!(state(&world, id).await, (RecordState::Stale, vec![CitationVerdict::Drifted]));

    world.index_file(PATH, CART, None).await;
    recheck(&world).await;
    assert_eq!(state(&world, id).await, (RecordState::Active, vec![CitationVerdict::Fresh]));

    world.delete_file(PATH).await;
    recheck(&world).await;
    assert_eq!(state(&world, id).await, (RecordState::Stale, vec![CitationVerdict::Orphaned]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stale_record_is_recalled_with_a_warning_before_the_recheck() {
    let world = World::new().await;
    world.index_file(PATH, CART, None).await;
    let id = cite(&world, vec![span(2, 4)]).await;
    world.index_file(PATH, &CART.replace("price_in_cents", "amount"), None).await;

    let bundle = world.recall(&world.question("how is the total of a cart summed")).await;
    let fact = bundle.facts.iter().find(|fact| fact.id == id).unwrap();
    assert_eq!(fact.state, RecordState::Stale);
    assert_eq!(fact.citations[0].verdict, CitationVerdict::Drifted);
    assert!(fact.warning.as_ref().unwrap().contains("changed in app/models/cart.rb since"));
    assert_eq!(state(&world, id).await.0, RecordState::Stale);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn moved_symbol_is_fresh_and_deleted_one_is_orphaned() {
    let world = World::new().await;
    world.index_file(PATH, CART, Some(("Cart#total", 2, 4))).await;
    let id = cite(&world, vec![symbol("Cart#total")]).await;
    assert_eq!(state(&world, id).await.1, [CitationVerdict::Fresh]);

    world.index_file(PATH, "class Cart\nend", None).await;
    world.index_file("lib/cart.rb", CART, Some(("Cart#total", 2, 4))).await;
    recheck(&world).await;
    assert_eq!(state(&world, id).await, (RecordState::Active, vec![CitationVerdict::Fresh]));
    let cited = citations::of_records(world.store(), &[id]).await.unwrap();
    assert_eq!(cited[0].file_path, "lib/cart.rb");

    world.index_file("lib/cart.rb", "class Cart\nend", None).await;
    recheck_files(world.store(), world.project, &["lib/cart.rb".to_owned()]).await.unwrap();
    assert_eq!(state(&world, id).await, (RecordState::Stale, vec![CitationVerdict::Orphaned]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn code_that_is_not_indexed_is_unchecked_until_it_is() {
    let world = World::new().await;
    let id = cite(&world, vec![span(2, 4)]).await;
    assert_eq!(state(&world, id).await, (RecordState::Active, vec![CitationVerdict::Unchecked]));
    world.index_file(PATH, CART, None).await;
    recheck(&world).await;
    assert_eq!(state(&world, id).await, (RecordState::Active, vec![CitationVerdict::Fresh]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn saving_again_with_current_code_makes_a_record_fresh() {
    let world = World::new().await;
    world.index_file(PATH, CART, None).await;
    let id = cite(&world, vec![span(2, 4)]).await;
    world.index_file(PATH, &CART.replace("price_in_cents", "amount"), None).await;
    recheck(&world).await;
    assert_eq!(state(&world, id).await.0, RecordState::Stale);
    let confirmed = SaveRequest {
        citations: vec![span(2, 4)],
        ..world.note("The total of a cart is summed in cents, never in floats")
    };
    let outcome = world.save(&confirmed).await;
    assert_eq!(outcome.decision.record(), Some(id));
    assert_eq!(state(&world, id).await, (RecordState::Active, vec![CitationVerdict::Fresh]));

    // Citing other lines also replaces the drifted citation.
    world.index_file(PATH, &CART.replace("price_in_cents", "cost"), None).await;
    recheck(&world).await;
    assert_eq!(state(&world, id).await.0, RecordState::Stale);
    world.save(&SaveRequest { citations: vec![span(2, 5)], ..confirmed }).await;
    assert_eq!(state(&world, id).await, (RecordState::Active, vec![CitationVerdict::Fresh]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn check_of_replaced_citations_changes_no_state() {
    let world = World::new().await;
    world.index_file(PATH, CART, None).await;
    let id = cite(&world, vec![span(2, 4)]).await;
    world.index_file(PATH, &CART.replace("price_in_cents", "amount"), None).await;
    // Locks the record as a save does that is about to replace its citations.
    let mut tx = world.store().begin().await.unwrap();
    records::lock(&mut tx, &[id]).await.unwrap();
    let (store, project) = (world.store().clone(), world.project);
    let check =
        tokio::spawn(async move { recheck_files(&store, project, &[PATH.to_owned()]).await });
    // The check has read the drifted citation once it waits for the lock.
    mc_store::testing::until_a_session_waits(world.store()).await.unwrap();
    let mut fresh = citations::of_record_in(&mut tx, id).await.unwrap();
    fresh[0].verdict = CitationVerdict::Fresh;
    citations::replace(&mut tx, world.project, id, &fresh).await.unwrap();
    tx.commit().await.unwrap();
    check.await.unwrap().unwrap();
    assert_eq!(state(&world, id).await, (RecordState::Active, vec![CitationVerdict::Fresh]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn definition_that_reappears_elsewhere_makes_its_record_fresh() {
    let world = World::new().await;
    world.index_file(PATH, CART, Some(("Cart#total", 2, 4))).await;
    let id = cite(&world, vec![symbol("Cart#total")]).await;
    world.delete_file(PATH).await;
    recheck(&world).await;
    assert_eq!(state(&world, id).await, (RecordState::Stale, vec![CitationVerdict::Orphaned]));
    world.index_file("lib/cart.rb", CART, Some(("Cart#total", 2, 4))).await;
    recheck_files(world.store(), world.project, &["lib/cart.rb".to_owned()]).await.unwrap();
    assert_eq!(state(&world, id).await, (RecordState::Active, vec![CitationVerdict::Fresh]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn name_in_many_files_resolves_to_the_cited_file() {
    let world = World::new().await;
    let main = |n: usize| format!("def main\n  run_job({n})\nend");
    for n in 0..120 {
        world.index_file(&format!("a/script_{n}.rb"), &main(n), Some(("main", 1, 3))).await;
    }
    let path = "scripts/close_month.rb";
    world.index_file(path, &main(1_000), Some(("main", 1, 3))).await;
    let id = cite(&world, vec![NewCitation { file: path.into(), ..symbol("main") }]).await;
    assert_eq!(state(&world, id).await, (RecordState::Active, vec![CitationVerdict::Fresh]));

    world.delete_file(path).await;
    world.index_file("scripts/month.rb", &main(1_000), Some(("main", 1, 3))).await;
    recheck_files(world.store(), world.project, &[path.to_owned()]).await.unwrap();
    let cited = citations::of_records(world.store(), &[id]).await.unwrap();
    assert_eq!(
        (cited[0].verdict, cited[0].file_path.as_str()),
        (CitationVerdict::Fresh, "scripts/month.rb")
    );

    world.index_file("scripts/month.rb", &main(2_000), Some(("main", 1, 3))).await;
    recheck_files(world.store(), world.project, &["scripts/month.rb".to_owned()]).await.unwrap();
    assert_eq!(state(&world, id).await, (RecordState::Stale, vec![CitationVerdict::Drifted]));
}
