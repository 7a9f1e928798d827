//! A save reports its text, citations and contradictions that it did not take over.

mod unknown_citations;
mod usage;

use chrono::{TimeDelta, Utc};
use mc_contract::operations::save::Kept;
use mc_domain::{Classified, DocId, ErrorKind, RecordId, RecordKind, Visibility};
use mc_memory::review::{accept, reject};
use mc_memory::uses::{Opened, note_opened};
use mc_memory::{
    Decision, MemoryContext, NewCitation, RecallRequest, SaveOutcome, SaveRequest, export, recall,
    save,
};
use mc_store::records::{self, NO_END};
use mc_store::{docs, testing};
use serde_json::json;

use crate::support::{World, reviewed};
use unknown_citations::{citing, indexed, place};

/// Notes as people write them: the story first, the rule last.
const NOTES: &[&str] = &[
    "The importer was slow on Mondays. We blamed the disk, then the antivirus, then the new \
        indexes; none of it was that. The weekly feed carries every price twice, once per currency \
        table. Ask for `?table=eur` and never merge the two in memory.",
    "Hello World example needs the trailing newline. Thanks to the golden file that is checked. \
        Feel free to delete the cache directory; it is rebuilt. What came of it: run `make golden` \
        before you push",
    "Should a failed webhook be retried by the receiver? No. The sender repeats it 5 times within \
        the hour, and a second retry on our side doubled invoices in May. Answer 202 and leave it",
    "Best practice elsewhere, wrong here: sessions in Redis. Let me check what the auditors said: \
     sessions must survive a flush. Keep them in the table `web_sessions`, whatever the latency \
     says",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn record_contains_every_sentence_of_its_note() {
    let world = World::new().await;
    for note in NOTES {
        let outcome = world.save(&world.note(&format!("Hi team,\n{note}"))).await;
        assert_eq!(outcome.kept, Kept::Whole, "{}", outcome.reason);
        assert_eq!(outcome.left_out, ["Hi team,"]);
        let record = outcome.record.unwrap();
        assert_eq!(record.content, *note);
    }
}

/// A text longer than a record, whose subject is at the end.
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
async fn long_text_is_complete_in_the_document_of_its_record() {
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
    assert_eq!(docs::newest_of_records(world.store(), &[id]).await.unwrap()[&id], behind);

    let exported = export::team_records(world.store(), world.project).await.unwrap();
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
async fn full_text_document_is_found_until_its_record_is_deleted() {
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

/// Counts the documents behind a record with this text.
async fn times_behind(world: &World, id: RecordId, doc: DocId) -> String {
    let sql = format!(
        "select count(*)::text from docs d join docs o on o.content = d.content
         where d.record_id = '{id}' and o.id = '{}'",
        doc.0
    );
    testing::text(world.store(), &sql).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn proposal_has_its_own_full_text_document() {
    let world = World::new().await;
    let text = long_text();
    let first = world.save(&world.note(&text)).await;
    let (id, behind) = (first.decision.record().unwrap(), first.document.unwrap());
    // The record has another text now and is no longer recognized by the previous one.
    let retold = text.replace("The quagga gateway", "Please note that the quagga gateway") + "!";
    assert_eq!(world.save(&world.note(&retold)).await.decision, Decision::Merged(id));
    let proposal = SaveRequest { visibility: Visibility::Proposed, ..world.note(&text) };
    let proposed = async || {
        let outcome = world.save(&proposal).await;
        let Decision::Proposed(proposed) = outcome.decision else { panic!("{outcome:?}") };
        let own = outcome.document.unwrap();
        assert_ne!(own, behind);
        assert_eq!(
            docs::newest_of_records(world.store(), &[proposed]).await.unwrap()[&proposed],
            own
        );
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
    let seen = reviewed(1, Some(target.version));
    accept(&world.ctx, accepted, &seen, "ann").await.unwrap();
    assert_eq!(times_behind(&world, id, behind).await, "1", "the same text stands there once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secret_in_title_of_a_long_text_is_masked_in_its_document() {
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
async fn private_note_that_is_too_long_is_rejected_with_its_length() {
    let world = World::new().await;
    let private = SaveRequest { visibility: Visibility::Private, ..world.note(&long_text()) };
    let error = save(&world.ctx, &private).await.unwrap_err();
    assert_eq!((error.kind(), error.field().as_deref()), (ErrorKind::Invalid, Some("content")));
    let figure = long_text().chars().count().to_string();
    assert!(error.to_string().contains(&figure) && error.to_string().contains("4000"), "{error}");
    assert_eq!(world.live_records().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn given_title_is_unchanged() {
    let world = World::new().await;
    let title = "Why the importer reads each price twice ".repeat(7);
    let request = SaveRequest { title: Some(title.clone()), ..world.note(NOTES[0]) };
    assert_eq!(world.save(&request).await.record.unwrap().title, title.trim());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tags_and_citations_beyond_the_limits_are_reported() {
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn save_reports_the_record_that_it_contradicts() {
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
async fn negation_contradicts_and_a_detail_does_not() {
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
async fn record_without_policy_ttl_ends_only_at_an_explicit_ttl() {
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
async fn undecided_proposal_expires_and_accepted_one_does_not() {
    let world = World::new().await;
    let proposal = SaveRequest {
        kind: RecordKind::Rule,
        visibility: Visibility::Proposed,
        ..world.note("Attributes of params are assigned by the form objects only")
    };
    let record = world.save(&proposal).await.record.unwrap();
    assert!(record.ttl < Utc::now() + TimeDelta::days(181));
    let seen = reviewed(record.version, None);
    let accepted = accept(&world.ctx, record.id, &seen, "ann").await.unwrap();
    assert_eq!(accepted.ttl, NO_END);
}
