use mc_domain::ProjectId;
use mc_sanitizer::mask;
use mc_store::docs;
use mc_store::passages::NewPassage;
use mc_testkit::{TestDatabase, document};
use tempfile::TempDir;

use super::super::pass_time::ExpectedPass;
use super::*;

/// Writes a document with so many passages that the pass is long.
async fn write(store: &Store, project: ProjectId, doc_id: &str) {
    let doc = document(doc_id, doc_id);
    let passage = NewPassage { text: mask(doc_id).text, ..NewPassage::default() };
    let passages = vec![passage; 150];
    let mut tx = store.begin().await.expect("a transaction");
    docs::upsert(&mut tx, project, &doc, &passages).await.expect("a document");
    tx.commit().await.expect("a commit");
}

#[tokio::test(flavor = "multi_thread")]
async fn searches_know_after_two_long_passes_how_long_the_third_one_will_take() {
    let database = TestDatabase::create().await;
    let (store, project) = (database.store(), database.project("shop").await.id);
    let directory = TempDir::new().expect("a directory");
    let generation = Generation::create(directory.path(), "database").expect("an index");
    let (refreshes, _requests) = mpsc::unbounded_channel();
    let shared = Shared::new(refreshes);
    let generation = Arc::new(Mutex::new(generation));
    let mut passes = Passes::new(store, &shared, generation, FeedCursor::default());

    for doc_id in ["first", "second"] {
        write(store, project, doc_id).await;
        passes.pass().await.expect("a pass");
    }
    write(store, project, "third").await;
    let mut pass = shared.pass.subscribe();
    let is_known = |pass: &Option<ExpectedPass>| pass.is_some_and(|pass| !pass.next.is_zero());
    // The value is locked until it is dropped.
    let known = async { pass.wait_for(is_known).await.map(|pass| *pass) };
    let known = tokio::time::timeout(Duration::from_secs(30), known);
    let (outcome, known) = tokio::join!(passes.pass(), known);
    outcome.expect("a pass");
    let known = known.expect("an expected pass").expect("a sender").expect("a running pass");
    assert!(!known.duration.is_zero());
    assert_eq!(*shared.pass.borrow(), None);
}
