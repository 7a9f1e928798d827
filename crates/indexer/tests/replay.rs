//! A replay of commits: the index after many small runs is the one of a single run, and no
//! interrupted run leaves an index that seems ready.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;

use mc_testkit::TestDatabase;
use replay::source::Source;
use replay::{generated, trial};

#[path = "../../../tests/replay/mod.rs"]
mod replay;

const COMMITS: usize = 20;
const INTERRUPTIONS: usize = 10;
const SEED: u64 = 26;

#[tokio::test(flavor = "multi_thread")]
async fn replayed_index_equals_a_full_one_and_interrupted_runs_are_never_ready() {
    let database = TestDatabase::create().await;
    let folder = tempfile::tempdir().unwrap();
    let repository = folder.path().join("repository");
    generated::create(&repository, COMMITS, SEED).unwrap();
    let source = Source::of(&repository, "main", COMMITS, &folder.path().join("bare")).unwrap();
    let store = database.store();
    let (replayed, states) = trial::replay(store, &source, folder.path()).await.unwrap();
    assert_eq!((replayed.commits, replayed.comparisons), (COMMITS, 11), "{replayed:?}");
    assert!(replayed.differences.is_empty(), "{:#?}", replayed.differences);
    assert!(replayed.history_differences.is_empty(), "{:#?}", replayed.history_differences);
    assert!(replayed.reuse_in_changed_files.share() >= 0.99, "{replayed:?}");

    let states = Arc::new(states);
    let folder = folder.path();
    let found = trial::interrupt(store, &source, folder, &states, INTERRUPTIONS, SEED).await;
    let found = found.unwrap();
    assert_eq!(found.count(), INTERRUPTIONS);
    assert!(found.ready_observations > 0, "{found:?}");
    assert!(found.false_ready.is_empty(), "{:#?}", found.false_ready);
    assert!(found.wrong_results.is_empty(), "{:#?}", found.wrong_results);
    assert!(found.history_differences.is_empty(), "{:#?}", found.history_differences);
}
