//! What a sweep deletes, and what it must not.

#![allow(clippy::unwrap_used, reason = "tests")]

use mc_sanitizer::mask;
use mc_store::docs::{self, NewDoc};
use mc_store::passages::NewPassage;
use mc_store::upkeep::{self, Swept};
use mc_store::{feed, testing};
use mc_testkit::TestDatabase;

async fn write(db: &TestDatabase, project: mc_domain::ProjectId, text: &str) {
    let passage = NewPassage {
        place: "a.md".into(),
        symbols: Vec::new(),
        scope: Vec::new(),
        tags: Vec::new(),
        text: mask(text).text,
        ..NewPassage::default()
    };
    let doc = NewDoc {
        file: None,
        saved_by: None,
        trust: mc_domain::Trust::Imported,
        source: "test".into(),
        doc_id: "a".into(),
        title: mask("a").text,
        url: String::new(),
        content: mask(text).text,
        scope: Vec::new(),
        tags: Vec::new(),
    };
    let mut tx = db.store().begin().await.unwrap();
    docs::upsert(&mut tx, project, &doc, &[passage]).await.unwrap();
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn the_feed_keeps_its_newest_transaction_and_says_up_to_where_it_was_shortened() {
    let db = TestDatabase::create().await;
    let project = db.project("shop").await.id;
    let before = feed::start(db.store()).await.unwrap();
    write(&db, project, "one").await;
    write(&db, project, "two").await;
    assert_eq!(upkeep::sweep(db.store()).await.unwrap(), Swept::default(), "nothing is old");
    assert!(feed::pruned(db.store()).await.unwrap() < before.txid);

    let all = feed::since(db.store(), before, 100).await.unwrap().entries;
    let newest = all.last().unwrap().txid;
    testing::execute(db.url(), "update feed set noted_at = now() - interval '8 days'")
        .await
        .unwrap();
    let swept = upkeep::sweep(db.store()).await.unwrap();
    let left = feed::since(db.store(), before, 100).await.unwrap().entries;
    assert!(!left.is_empty() && left.iter().all(|entry| entry.txid == newest));
    assert_eq!(usize::try_from(swept.feed).unwrap(), all.len() - left.len());
    let pruned = feed::pruned(db.store()).await.unwrap();
    assert!(before.txid <= pruned && pruned < newest, "{before:?} {pruned} {newest}");
}
