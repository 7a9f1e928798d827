//! The change feed, with concurrent transactions.
#![allow(missing_docs, clippy::unwrap_used)]

use mc_sanitizer::{Sanitized, mask};
use mc_store::change_feed::{self, FeedCursor};
use mc_store::docs::{self, NewDoc};
use mc_store::passages::NewPassage;
use mc_store::{Store, Tx};
use mc_testkit::TestDatabase;

fn passage(text: &str) -> NewPassage {
    NewPassage { text: mask(text).text, ..NewPassage::default() }
}

async fn write(tx: &mut Tx, project: mc_domain::ProjectId, doc_id: &str, texts: &[&str]) {
    let doc = NewDoc {
        file: None,
        saved_by: None,
        trust: mc_domain::Trust::Imported,
        source: "test".into(),
        doc_id: doc_id.into(),
        title: mask(doc_id).text,
        url: Sanitized::default(),
        content: mask(&texts.join("\n")).text,
        scope: vec![],
        tags: vec![],
    };
    let passages: Vec<_> = texts.iter().map(|t| passage(t)).collect();
    docs::upsert(tx, project, &doc, &passages).await.unwrap();
}

async fn final_entries(store: &Store, cursor: &mut FeedCursor) -> usize {
    let page = change_feed::read_after(store, *cursor, 1000).await.unwrap();
    let done: Vec<_> = page.entries.iter().filter(|e| e.txid < page.horizon).collect();
    if let Some(last) = done.last() {
        *cursor = FeedCursor { txid: last.txid, seq: last.seq };
    }
    done.len()
}

#[tokio::test]
async fn late_commit_is_not_skipped() {
    let db = TestDatabase::create().await;
    let store = db.store();
    let project = db.project("feed").await.id;
    let cursor = change_feed::safe_position(store).await.unwrap();

    let mut early = store.begin().await.unwrap();
    write(&mut early, project, "early", &["written first, committed last"]).await;
    let mut late = store.begin().await.unwrap();
    write(&mut late, project, "late", &["written last, committed first"]).await;
    late.commit().await.unwrap();

    let page = change_feed::read_after(store, cursor, 10).await.unwrap();
    assert_eq!(page.entries.len(), 1, "a committed change is seen at once");
    let first_txid = page.entries[0].txid;
    assert!(first_txid >= page.horizon, "and is not final while an older one runs");

    early.commit().await.unwrap();
    let page = change_feed::read_after(store, cursor, 10).await.unwrap();
    assert_eq!(page.entries.len(), 2, "the late one is still ahead of the cursor");
    assert!(page.entries[0].txid < first_txid, "in the order in which they began to write");
}

#[tokio::test]
async fn every_kind_of_change_reaches_the_feed() {
    let db = TestDatabase::create().await;
    let store = db.store();
    let changes = db.project("changes").await;
    let project = changes.id;
    let cursor = change_feed::safe_position(store).await.unwrap();
    let seen = async || change_feed::read_after(store, cursor, 100).await.unwrap().entries.len();

    let mut tx = store.begin().await.unwrap();
    write(&mut tx, project, "guide", &["one", "two"]).await;
    tx.commit().await.unwrap();
    assert_eq!(seen().await, 2);

    let mut tx = store.begin().await.unwrap();
    write(&mut tx, project, "guide", &["one", "three"]).await;
    tx.commit().await.unwrap();
    assert_eq!(seen().await, 4, "one added, one deleted, one kept");

    mc_store::projects::delete(store, &changes).await.unwrap();
    assert_eq!(seen().await, 6, "a cascade is a change too");
}

#[tokio::test]
async fn cursor_passes_final_entries_once() {
    let db = TestDatabase::create().await;
    let store = db.store();
    let project = db.project("cursor").await.id;
    let mut cursor = change_feed::safe_position(store).await.unwrap();
    let mut tx = store.begin().await.unwrap();
    write(&mut tx, project, "guide", &["one", "two"]).await;
    tx.commit().await.unwrap();
    // Other tests write to the same server, so the horizon may trail for a moment.
    let mut moved = 0;
    while moved < 2 {
        moved += final_entries(store, &mut cursor).await;
    }
    assert_eq!(final_entries(store, &mut cursor).await, 0, "nothing is seen twice");
}
