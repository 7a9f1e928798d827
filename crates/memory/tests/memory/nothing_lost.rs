//! Nothing of a save goes without a word: what it says, what it cites, and what it contradicts.

use chrono::{TimeDelta, Utc};
use mc_domain::{Classified, DocId, ErrorKind, RecordId, RecordKind, Visibility};
use mc_memory::review::{Edit, ReviewedVersions, accept, reject};
use mc_memory::uses::{Opened, note_opened};
use mc_memory::{
    Decision, Kept, MemoryContext, NewCitation, RecallRequest, SaveOutcome, SaveRequest, export,
    recall, save,
};
use mc_store::records::{self, NO_END};
use mc_store::{docs, testing};
use serde_json::json;

use crate::support::World;

/// Notes as people write them: what happened first, the rule last.
const NOTES: &[&str] = &[
    "The importer was slow on Mondays. We blamed the disk, then the antivirus, then the new \
        indexes; \
     none of it was that. The weekly feed carries every price twice, once per currency table. Ask for \
     `?table=eur` and never merge the two in memory.",
    "Hello World example needs the trailing newline. Thanks to the golden file that is checked. \
        Feel free \
     to delete the cache directory; it is rebuilt. What came of it: run `make golden` before you push",
    "Should a failed webhook be retried by the receiver? No. The sender repeats it 5 times \
        within the \
     hour, and a second retry on our side doubled invoices in May. Answer 202 and leave it",
    "Best practice elsewhere, wrong here: sessions in Redis. Let me check what the auditors said: \
     sessions must survive a flush. Keep them in the table `web_sessions`, whatever the latency says",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_sentence_of_a_note_is_in_its_record_above_all_the_last() {
    let world = World::new().await;
    for note in NOTES {
        let outcome = world.save(&world.note(&format!("Hi team,\n{note}"))).await;
        assert_eq!(outcome.kept, Kept::Whole, "{}", outcome.reason);
        assert_eq!(outcome.left_out, ["Hi team,"]);
        let record = outcome.record.unwrap();
        assert_eq!(record.content, *note);
    }
}

/// More than a record holds; what it is about stands at the end.
fn long_text() -> String {
    let day = |n: usize| {
        format!(
            "On day {n} the cluster of region {n} was moved, and its certificate number {n} was \
                kept. "
        )
    };
    let days: String = (0..80).map(day).collect();
    format!("# The move\n\n{days}\n\nThe quagga gateway has to be moved last.")
}

async fn document(world: &World, id: DocId) -> String {
    docs::by_id(world.store(), world.project, id).await.unwrap().unwrap().content
}

async fn is_found(world: &World, query: &str) -> bool {
    let bundle = world.recall(&world.question(query)).await;
    bundle.links.iter().any(|link| link.title.contains("move"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_text_that_is_too_long_for_a_record_stands_whole_in_a_document_behind_it() {
    let world = World::new().await;
    let text = long_text();
    let outcome = world.save(&world.note(&text)).await;
    assert_eq!(outcome.kept, Kept::Document);
    let (id, behind) = (outcome.decision.record().unwrap(), outcome.document.unwrap());
    let figure = text.chars().count().to_string();
    assert!(
        outcome.notes[0].contains(&figure) && outcome.notes[0].contains("4000"),
        "{:?}",
        outcome.notes
    );
    let record = outcome.record.unwrap();
    assert!(record.content.chars().count() <= 2_000);
    assert!(
        record.content.ends_with("The quagga gateway has to be moved last."),
        "{}",
        record.content
    );
    assert_eq!(document(&world, behind).await, text);
    assert_eq!(docs::behind(world.store(), &[id]).await.unwrap()[&id], behind);

    let exported = export::of_team(world.store(), world.project).await.unwrap();
    assert_eq!(exported[0]["content"], text, "an export has all of it");

    let again = world.save(&world.note(&text)).await;
    assert_eq!((again.decision, again.document), (Decision::Merged(id), Some(behind)));
    let longer = format!("{text}\n\nAnd the okapi gateway before it.");
    let other = world.save(&world.note(&longer)).await;
    assert_ne!(other.document, Some(behind));
    assert_eq!(
        document(&world, other.document.unwrap()).await,
        longer,
        "nothing of a retelling is lost"
    );
    assert_eq!(document(&world, behind).await, text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_document_behind_a_record_is_found_while_the_record_is() {
    let world = World::new().await;
    let outcome = world.save(&world.note(&long_text())).await;
    let query = "in the docs: certificate number 41 of the cluster of region 41";
    assert!(is_found(&world, query).await);
    let mut tx = world.store().begin().await.unwrap();
    assert!(records::delete(&mut tx, outcome.decision.record().unwrap()).await.unwrap());
    tx.commit().await.unwrap();
    assert!(!is_found(&world, query).await);
    assert!(docs::list(world.store(), world.project, None, 10).await.unwrap().is_empty());
}

/// Of the texts behind a record, how many are this one.
async fn times_behind(world: &World, id: RecordId, doc: DocId) -> String {
    let sql = format!(
        "select count(*)::text from docs d join docs o on o.content = d.content
         where d.record_id = '{id}' and o.id = '{}'",
        doc.0
    );
    testing::text(world.store(), &sql).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proposal_has_a_document_of_its_own_and_leaves_the_team_its() {
    let world = World::new().await;
    let text = long_text();
    let first = world.save(&world.note(&text)).await;
    let (id, behind) = (first.decision.record().unwrap(), first.document.unwrap());
    // What the record says now is another text: that of before is no longer what it is known by.
    let retold = text.replace("The quagga gateway", "Please note that the quagga gateway") + "!";
    assert_eq!(world.save(&world.note(&retold)).await.decision, Decision::Merged(id));
    let proposal = SaveRequest { visibility: Visibility::Proposed, ..world.note(&text) };
    let proposed = async || {
        let outcome = world.save(&proposal).await;
        let Decision::Proposed(proposed) = outcome.decision else { panic!("{outcome:?}") };
        let own = outcome.document.unwrap();
        assert_ne!(own, behind);
        assert_eq!(docs::behind(world.store(), &[proposed]).await.unwrap()[&proposed], own);
        assert_eq!(document(&world, own).await, text);
        assert_eq!(times_behind(&world, id, behind).await, "1");
        (proposed, own)
    };
    let (turned_down, _) = proposed().await;
    reject(&world.ctx, turned_down, "no").await.unwrap();
    let gone = format!("delete from memory_records where id = '{turned_down}'");
    testing::execute(world.url(), &gone).await.unwrap();
    assert_eq!(document(&world, behind).await, text);
    assert!(
        is_found(&world, "in the docs: certificate number 41 of the cluster of region 41").await
    );

    let (accepted, _) = proposed().await;
    let target = records::find(world.store(), id).await.unwrap().unwrap();
    let seen = ReviewedVersions { version: 1, amends_version: Some(target.version) };
    accept(&world.ctx, accepted, seen, &Edit::default(), "ann").await.unwrap();
    assert_eq!(times_behind(&world, id, behind).await, "1", "the same text stands there once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_that_the_title_of_a_long_text_lays_open_is_masked_in_its_document_too() {
    let world = World::new().await;
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let title = format!("Use gh**{}** for CI.", &token[2..]);
    let text = long_text().replace("# The move", &title);
    let outcome = world.save(&world.note(&text)).await;
    assert_eq!(outcome.kept, Kept::Document);
    for (table, most) in [("passages", "> 1"), ("docs", "= 1")] {
        let sql = format!(
            "select (count(*) {most})::text || ' ' || bool_or(position('{token}' in title) > 0)
                 || ' ' || bool_and(starts_with(title, 'Use')) from {table}"
        );
        assert_eq!(testing::text(world.store(), &sql).await.unwrap(), "true false true", "{table}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_private_note_that_does_not_fit_is_refused_with_the_figures() {
    let world = World::new().await;
    let private = SaveRequest { visibility: Visibility::Private, ..world.note(&long_text()) };
    let error = save(&world.ctx, &private).await.unwrap_err();
    assert_eq!((error.kind(), error.field().as_deref()), (ErrorKind::Invalid, Some("content")));
    let figure = long_text().chars().count().to_string();
    assert!(error.to_string().contains(&figure) && error.to_string().contains("4000"), "{error}");
    assert_eq!(world.live_records().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_title_is_kept_as_it_was_given() {
    let world = World::new().await;
    let title = "Why the importer reads each price twice ".repeat(7);
    let request = SaveRequest { title: Some(title.clone()), ..world.note(NOTES[0]) };
    assert_eq!(world.save(&request).await.record.unwrap().title, title.trim());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tags_and_citations_that_a_record_has_no_room_for_are_told() {
    let world = World::new().await;
    let words = |prefix: &str| (0..60).map(|n| format!("{prefix}{n}")).collect::<Vec<_>>();
    let cited = |prefix: &str| (0..20).map(|n| place(&format!("{prefix}{n}.rb"), None)).collect();
    let first = SaveRequest { tags: words("a"), citations: cited("a"), ..world.note(NOTES[0]) };
    world.created(&first).await;
    let second = SaveRequest { tags: words("b"), citations: cited("b"), ..world.note(NOTES[0]) };
    let outcome = world.save(&second).await;
    assert_eq!(outcome.kept, Kept::Existing);
    let notes = outcome.notes.join("\n");
    assert!(
        notes.contains("tags left out") && notes.contains("8 of the oldest citations"),
        "{notes}"
    );
}

fn place(file: &str, symbol: Option<&str>) -> NewCitation {
    NewCitation {
        file: file.into(),
        symbol: symbol.map(str::to_owned),
        lines: None,
        commit: None,
        content_hash: None,
    }
}

const CART: &str = "class Cart\n  def total\n    items.sum(&:price_in_cents)\n  end\nend";

async fn citing(world: &World, citations: Vec<NewCitation>) -> SaveOutcome {
    let note = "The total of a cart is summed in cents, never in floats";
    world.save(&SaveRequest { citations, ..world.note(note) }).await
}

async fn indexed() -> World {
    let world = World::new().await;
    world.index_file("app/models/cart.rb", CART, Some(("Cart#total", 2, 4))).await;
    testing::execute(world.url(), "update repositories set indexed_at = now()").await.unwrap();
    world
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_in_no_indexed_repository_is_left_out_with_what_may_be_meant() {
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
                "the file is not indexed (absent, generated, or too large): cite one of `near`, \
                    or save again once \
                 it is indexed",
                vec!["app/models/cart.rb"]
            ),
            (
                "the file does not have these lines as it is indexed: cite lines that it has, or \
                    save again once \
                 it is indexed anew",
                vec![]
            ),
        ]
    );
    let id = outcome.decision.record().unwrap();
    let kept = mc_store::citations::of_records(world.store(), &[id]).await.unwrap();
    assert_eq!(kept.len(), 1, "the note is not lost, and nothing stays to be blamed later");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_plainly_meant_is_cited() {
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

/// What is kept of one citation: path and name.
async fn cited(world: &World, citation: NewCitation) -> Option<(String, Option<String>)> {
    let outcome = citing(world, vec![citation]).await;
    let id = outcome.decision.record().unwrap();
    let sql = format!("delete from memory_records where id = '{id}'");
    testing::execute(world.url(), &sql).await.unwrap();
    outcome.citations.into_iter().next().map(|one| (one.file_path, one.symbol))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_several_files_define_is_not_taken_to_be_in_the_first_of_them() {
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
async fn of_too_many_alike_none_is_taken_to_be_the_only_one() {
    let world = indexed().await;
    let elsewhere = place("app/cart.rb", Some("Cart.total"));
    let [name, path] = [elsewhere, place("models/cart.rb", None)];
    for one in [&name, &path] {
        assert!(cited(&world, one.clone()).await.is_some(), "the only one");
    }
    world.index_file("lib/totals.rb", CART, Some(("Totals", 1, 5))).await;
    for more in [
        "insert into code_symbols (file_id, project_id, name, kind, line_start, line_end, span_hash)
         select id, project_id, 'Row' || n || '#total', 'method', 1, 1, '' from files, generate_series(1, 200) n
         where path = 'lib/totals.rb'",
        "insert into files (id, repository_id, project_id, path, content_hash, size_bytes, \
            language, line_count, chunker_version)
         select gen_random_uuid(), repository_id, project_id, 'lib/cart' || n || '.rb', '', 0, 'ruby', 0, 1
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
async fn without_an_index_a_citation_is_kept_as_nobody_has_checked_it() {
    let world = World::new().await;
    let outcome = citing(&world, vec![place("app/models/cart.rb", Some("Cart#total"))]).await;
    assert!(outcome.unknown_citations.is_empty());
    assert_eq!(outcome.citations.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_save_names_the_record_that_it_seems_to_contradict() {
    let world = World::new().await;
    let old = world
        .created(&world.note("The export of the shop times out after 30 seconds at the proxy"))
        .await;
    let outcome = world
        .save(&world.note("The export of the shop times out after 90 seconds at the proxy"))
        .await;
    let contradicted = outcome.contradicts.expect("a number in the place of another");
    assert_eq!(contradicted.id, old);
    assert!(contradicted.text.contains("30 seconds") && !contradicted.difference.is_empty());
    assert!(matches!(outcome.decision, Decision::Created(_)), "it replaces nothing by itself");

    let by = outcome.decision.record().unwrap();
    let replacing = SaveRequest {
        supersedes: Some(old),
        ..world.note("The export of the shop times out after 90 seconds at the proxy")
    };
    let settled = world.save(&replacing).await;
    assert_eq!(settled.decision, Decision::Superseded { by, replaced: vec![old] });
    assert_eq!(settled.contradicts, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_denial_contradicts_and_a_detail_does_not() {
    let world = World::new().await;
    let first = "The nightly export of the shop is retried by the queue";
    let old = world.created(&world.note(first)).await;
    let denied =
        world.save(&world.note("The nightly export of the shop is not retried by the queue")).await;
    assert_eq!(denied.contradicts.unwrap().id, old);
    let detail = world.save(&world.note("The weekly report of the shop is kept for 3 days")).await;
    assert_eq!(detail.contradicts, None);
}

async fn end(world: &World, kind: RecordKind, content: &str) -> (RecordId, i64) {
    let id = world.created(&SaveRequest { kind, ..world.note(content) }).await;
    let record = records::find(world.store(), id).await.unwrap().unwrap();
    let days = if record.ttl == NO_END { i64::MAX } else { (record.ttl - Utc::now()).num_days() };
    (id, days)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_age_has_no_end_unless_somebody_names_one() {
    let world = World::new().await;
    for (kind, content) in [
        (RecordKind::Rule, "Attributes of params are assigned by the form objects only"),
        (RecordKind::Gotcha, "The staging mailer delivers to real customers on Sundays"),
        (RecordKind::Pattern, "Every importer streams rows and commits per thousand"),
        (RecordKind::AdrLink, "Decision 12 chose queues over cron for exports"),
    ] {
        assert_eq!(end(&world, kind, content).await.1, i64::MAX, "{kind}");
    }
    assert_eq!(end(&world, RecordKind::Fact, "The proxy of the shop listens on 8081").await.1, 179);
    let named = SaveRequest {
        kind: RecordKind::Rule,
        ttl: Some(Utc::now() + TimeDelta::days(3)),
        ..world.note("Until the release freeze nobody merges migrations into main")
    };
    let record = world.save(&named).await.record.unwrap();
    assert!(record.is_ttl_explicit && record.ttl < Utc::now() + TimeDelta::days(4));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proposal_that_nobody_decides_about_ends_and_what_is_accepted_does_not() {
    let world = World::new().await;
    let proposal = SaveRequest {
        kind: RecordKind::Rule,
        visibility: Visibility::Proposed,
        ..world.note("Attributes of params are assigned by the form objects only")
    };
    let record = world.save(&proposal).await.record.unwrap();
    assert!(record.ttl < Utc::now() + TimeDelta::days(181));
    let seen =
        mc_memory::review::ReviewedVersions { version: record.version, amends_version: None };
    let edit = mc_memory::review::Edit::default();
    let accepted =
        mc_memory::review::accept(&world.ctx, record.id, seen, &edit, "ann").await.unwrap();
    assert_eq!(accepted.ttl, NO_END);
}

async fn counts(world: &World, id: RecordId) -> String {
    world.ctx.finish().await;
    let sql = format!(
        "select concat_ws(' ', open_count, cite_count, pull_request_count, skip_count) from \
            memory_records where id = '{id}'"
    );
    testing::text(world.store(), &sql).await.unwrap()
}

/// Has somebody ask about carts, in the name of somebody else.
async fn requested_by(world: &World, who: &MemoryContext, name: &str) {
    let question = world.question("total of a cart in cents, coupons and taxes of a cart");
    recall(who, &RecallRequest { principal: name.to_owned(), ..question }).await.unwrap();
}

/// A record that cites the total of a cart, and one that cites nothing.
async fn of_carts(world: &World) -> [RecordId; 2] {
    let cited = citing(world, vec![place("app/models/cart.rb", Some("Cart#total"))]).await;
    let named = world.note("Coupons are applied to a cart before its taxes");
    [cited.decision.record().unwrap(), world.created(&named).await]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_opened_or_cited_after_a_recall_was_of_use_once_for_each_bundle() {
    let world = indexed().await;
    let [cited, named] = of_carts(&world).await;
    let (bob, eve) = (world.member().await, world.member().await);
    // Whose a bundle is nobody says of themselves.
    requested_by(&world, &bob, "eve").await;
    for _ in 0..2 {
        note_opened(&bob, world.project, Opened::Record(named));
    }
    note_opened(&eve, world.project, Opened::Record(cited));
    let next = SaveRequest {
        principal: "eve".into(),
        meta: json!({ "based_on": named }).as_object().cloned().unwrap(),
        citations: vec![place("app/models/cart.rb", Some("Cart#total"))],
        ..world.note("Shipping costs join the sum after every coupon of the order")
    };
    save(&eve, &next).await.unwrap();
    assert_eq!(counts(&world, named).await, "1 0 0 0");
    assert_eq!(counts(&world, cited).await, "0 0 0 0", "eve recalled nothing");
    let next = SaveRequest {
        principal: "bob".into(),
        content: "Gift cards are taken off at the end, after shipping".into(),
        ..next
    };
    save(&bob, &next).await.unwrap();
    assert_eq!(counts(&world, named).await, "1 1 0 0");
    assert_eq!(counts(&world, cited).await, "0 1 0 0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_that_a_save_replaces_was_of_no_use_to_it() {
    let world = indexed().await;
    let [cited, named] = of_carts(&world).await;
    let bob = world.member().await;
    requested_by(&world, &bob, "bob").await;
    let better = SaveRequest {
        supersedes: Some(cited),
        meta: json!({ "instead_of": cited, "beside": named }).as_object().cloned().unwrap(),
        citations: vec![place("app/models/cart.rb", Some("Cart#total"))],
        ..world.note("Cart totals add up integer cents of the price column, rounded once per line")
    };
    let outcome = save(&bob, &better).await.unwrap();
    assert_eq!(outcome.decision.replaced(), [cited]);
    assert_eq!(counts(&world, named).await, "0 1 0 0");
    assert_eq!(counts(&world, cited).await, "0 0 0 0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recall_without_a_word_about_it_counts_neither_way() {
    let world = World::new().await;
    let note = |n: usize| format!("Coupons of sort {n} are applied to a cart before its taxes");
    let [used, other] =
        [world.created(&world.note(&note(1))).await, world.created(&world.note(&note(2))).await];
    let question = world.question("when are coupons applied to a cart?");
    for _ in 0..5 {
        world.recall(&question).await;
    }
    assert_eq!(counts(&world, other).await, "0 0 0 0");
    let bundle = world.recall(&question).await;
    mc_memory::feedback(&world.ctx, bundle.id, &[used.0]).await.unwrap();
    assert_eq!(counts(&world, other).await, "0 0 0 1");
    mc_memory::feedback(&world.ctx, bundle.id, &[other.0]).await.unwrap();
    assert_eq!(counts(&world, other).await, "0 0 0 0", "somebody has said otherwise since");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_merged_change_that_touches_what_a_recalled_record_cites_was_its_use() {
    let world = indexed().await;
    world.index_file("app/models/order.rb", "class Order\nend", None).await;
    let id =
        citing(&world, vec![place("app/models/cart.rb", None)]).await.decision.record().unwrap();
    world.recall(&world.question("total of a cart in cents")).await;
    world.ctx.finish().await;
    let sha = "d".repeat(40);
    // The commit by which it was merged touched the cart alone.
    let read = format!(
        "update code_chunks set source_ref = '{sha}' from files f where f.id = file_id and \
            f.path like '%cart.rb'"
    );
    testing::execute(world.url(), &read).await.unwrap();
    let change = |state| mc_store::pull_requests::NewPullRequest {
        external_id: "acme/shop!7".into(),
        title: mc_sanitizer::mask("Sum in cents").text,
        state,
        author: None,
        head_sha: None,
        merge_sha: Some(sha.clone()),
        base_ref: None,
        url: String::new(),
        tasks: Vec::new(),
        source_updated_at: Utc::now(),
    };
    for (state, expected) in [
        (mc_domain::PullRequestState::Open, "0 0 0 0"),
        (mc_domain::PullRequestState::Merged, "0 0 1 0"),
        (mc_domain::PullRequestState::Merged, "0 0 1 0"),
    ] {
        let mut tx = world.store().begin().await.unwrap();
        mc_store::pull_requests::upsert(&mut tx, world.project, &change(state)).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(counts(&world, id).await, expected, "{state}");
    }
}
