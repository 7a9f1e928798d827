use mc_domain::ProjectId;
use mc_sanitizer::mask;
use mc_store::docs;
use mc_store::passages::NewPassage;
use mc_testkit::{TestDatabase, document};
use tempfile::TempDir;

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
async fn searches_know_the_end_of_a_long_pass_until_it_has_ended() {
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
        let mut pass_end = shared.pass_end.subscribe();
        // The value is locked until it is dropped.
        let known = async { pass_end.wait_for(Option::is_some).await.map(drop) };
        let (outcome, known) = tokio::join!(passes.pass(), known);
        outcome.expect("a pass");
        known.expect("an expected end");
        assert_eq!(*shared.pass_end.borrow(), None);
    }
    let mut pass = RunningPass::start();
    let [short, long] = [(); 2].map(|()| {
        pass.add(1_000);
        passes.times.expected_end(&pass).expect("the end of a long pass")
    });
    assert!(long > short, "it has learnt from both");
}
