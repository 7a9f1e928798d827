//! The change feed, with concurrent transactions, and the writes that it lists.
#![allow(missing_docs, clippy::unwrap_used)]

use std::collections::HashSet;

use mc_domain::DocId;
use mc_sanitizer::mask;
use mc_store::change_feed::{self, FeedCursor};
use mc_store::docs;
use mc_store::passages::{self, NewPassage, PassageSource};
use mc_store::testing::text;
use mc_store::{Store, Tx};
use mc_testkit::{TestDatabase, document};

fn passage(text: &str) -> NewPassage {
    NewPassage { text: mask(text).text, ..NewPassage::default() }
}

async fn write(tx: &mut Tx, project: mc_domain::ProjectId, doc_id: &str, texts: &[&str]) -> DocId {
    let doc = document(doc_id, &texts.join("\n"));
    let passages: Vec<_> = texts.iter().map(|t| passage(t)).collect();
    docs::upsert(tx, project, &doc, &passages).await.unwrap().0
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

#[tokio::test]
async fn of_many_passages_only_the_changed_one_is_replaced() {
    let db = TestDatabase::create().await;
    let store = db.store();
    let project = db.project("many").await.id;
    let mut tx = store.begin().await.unwrap();
    let source = PassageSource::Doc(write(&mut tx, project, "many", &[]).await);
    // A hundred texts are there twice.
    let mut new: Vec<_> = (0..600).map(|n| passage(&format!("text {}", n % 500))).collect();
    let (first, kept) = passages::replace(&mut tx, project, source, &new).await.unwrap();
    assert_eq!(kept, 0);
    assert_eq!(first.iter().collect::<HashSet<_>>().len(), 600);
    new[507] = passage("changed");
    let (second, kept) = passages::replace(&mut tx, project, source, &new).await.unwrap();
    assert_eq!(kept, 599);
    let changed: Vec<_> = (0..600_usize).filter(|n| first[*n] != second[*n]).collect();
    assert_eq!(changed, [507]);
    tx.commit().await.unwrap();
    let counts = "select count(*) || ' ' || count(distinct ordinal) from passages";
    assert_eq!(text(store, counts).await.unwrap(), "600 600");
}

#[tokio::test]
async fn passage_with_other_names_keeps_its_id() {
    let db = TestDatabase::create().await;
    let project = db.project("names").await.id;
    let mut tx = db.store().begin().await.unwrap();
    let source = PassageSource::Doc(write(&mut tx, project, "names", &[]).await);
    let mut new = vec![passage("one"), passage("two")];
    let (first, _) = passages::replace(&mut tx, project, source, &new).await.unwrap();
    new[1].tags = vec!["test".into()];
    let (second, kept) = passages::replace(&mut tx, project, source, &new).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!((&first, kept), (&second, 2));
    let tags = "select string_agg(tags::text, ' ' order by ordinal) from passages";
    assert_eq!(text(db.store(), tags).await.unwrap(), "{} {test}");
}

#[tokio::test]
async fn a_passage_of_a_document_is_stored_with_all_its_fields() {
    let db = TestDatabase::create().await;
    let store = db.store();
    let project = db.project("fields").await.id;
    let mut tx = store.begin().await.unwrap();
    let doc = write(&mut tx, project, "fields", &[]).await;
    let new = NewPassage {
        title: mask("A \"title\"").text,
        location: mask("docs/a.md").text,
        symbols: vec!["Cart::Item#total".into()],
        scope: vec!["x, y".into(), "{z}".into()],
        tags: vec!["a\\b".into()],
        language: "markdown".into(),
        author: mask("Ann").text,
        context: mask("before").text,
        text: mask("one\n\\two\t'three'").text,
        lines: Some((3, 4)),
        ..NewPassage::default()
    };
    let source = PassageSource::Doc(doc);
    let one = std::slice::from_ref(&new);
    let (ids, _) = passages::replace(&mut tx, project, source, one).await.unwrap();
    tx.commit().await.unwrap();
    let stored = passages::indexed(store, &ids).await.unwrap().remove(0);
    assert_eq!((stored.id, stored.project, stored.private_to), (ids[0], project, None));
    assert_eq!(stored.title, new.title.as_str());
    assert_eq!(stored.location, new.location.as_str());
    assert_eq!((&stored.symbols, &stored.scope), (&new.symbols, &new.scope));
    assert_eq!((&stored.tags, &stored.language), (&new.tags, &new.language));
    assert_eq!(stored.author, new.author.as_str());
    assert_eq!(stored.context, new.context.as_str());
    assert_eq!(stored.text, new.text.as_str());
    let lines = "select line_start || '-' || line_end from passages";
    assert_eq!(text(store, lines).await.unwrap(), "3-4");
    // The vector's text has the same hash, so it counts as current.
    let hash = "select encode(content_hash, 'hex') from passages";
    let expected: String =
        passages::content_hash(&new).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(text(store, hash).await.unwrap(), expected);
}
