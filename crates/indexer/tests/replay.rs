//! A replay of commits: the index after many small runs is the one of a single run, and no
//! interrupted run leaves an index that seems ready.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::future::poll_fn;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use mc_indexer::run::{self, RunOutcome};
use mc_store::ingest_runs::IngestRun;
use mc_store::testing::until_a_session_waits;
use mc_testkit::TestDatabase;
use replay::index::Index;
use replay::source::Source;
use replay::{generated, trial};
use tokio_util::sync::CancellationToken;

#[path = "../../../tests/replay/mod.rs"]
mod replay;

const COMMITS: usize = 20;
const INTERRUPTIONS: usize = 10;
const SEED: u64 = 26;

#[tokio::test(flavor = "multi_thread")]
async fn replayed_index_equals_a_full_one_and_interrupted_runs_are_never_ready() {
    let database = TestDatabase::create().await;
    let folder = tempfile::tempdir().unwrap();
    let source = generated_source(folder.path());
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

#[tokio::test(flavor = "multi_thread")]
async fn attempt_that_was_presumed_dead_writes_no_file() {
    let database = TestDatabase::create().await;
    let folder = tempfile::tempdir().unwrap();
    let (source, store) = (generated_source(folder.path()), database.store());
    let index = Index::new(store, folder.path().join("one"), "one", &source).await.unwrap();
    // Another node, whose copies of the repository are not locked.
    let mut other = Index::new(store, folder.path().join("two"), "two", &source).await.unwrap();
    other.repository = index.repository.clone();
    let (stale, newest) = (&source.commits[COMMITS], &source.commits[0]);
    source.move_to(newest).unwrap();
    index.update().await.unwrap();
    let right = index.files().await.unwrap();
    let mut compared = 0;
    for polls in (4..60).step_by(5) {
        source.move_to(stale).unwrap();
        let run = index.enqueue().await.unwrap();
        let Some(paused) = paused(&index, &run, polls).await else { break };
        let mut updated = pin!(async {
            other.finish(&run).await?;
            source.move_to(newest)?;
            other.update().await
        });
        // An attempt that is paused within a transaction keeps its locks.
        let outcome = tokio::select! {
            updated = &mut updated => {
                updated.unwrap();
                compared += 1;
                paused.await
            }
            waits = until_a_session_waits(store) => {
                waits.unwrap();
                let (outcome, updated) = tokio::join!(paused, updated);
                updated.unwrap();
                outcome
            }
        };
        assert_eq!(outcome, Ok(RunOutcome::Done), "{polls}");
        let seen = index.searchable().await.unwrap();
        assert!(seen.is_ready() && seen.source_ref == *newest, "{polls}: {seen:?}");
        let differences = index.files().await.unwrap().differences(&right);
        assert!(differences.is_empty(), "{polls}: {differences:?}");
    }
    assert!(compared > 3, "{compared}");
}

/// Starts a run, and leaves it after some polls. Returns the rest of it; `None` if it has ended.
async fn paused(
    index: &Index,
    run: &IngestRun,
    polls: usize,
) -> Option<BoxFuture<'static, Result<RunOutcome, String>>> {
    let (context, id) = (index.context.clone(), run.id);
    let mut running = async move {
        let outcome = run::execute(&context, id, &CancellationToken::new()).await;
        outcome.map_err(|error| error.to_string())
    }
    .boxed();
    let mut polled = 0;
    let ended = poll_fn(|cx| {
        if polled == polls {
            return Poll::Ready(false);
        }
        polled += 1;
        running.poll_unpin(cx).map(|_| true)
    });
    (!ended.await).then_some(running)
}

fn generated_source(folder: &Path) -> Source {
    let repository = folder.join("repository");
    generated::create(&repository, COMMITS, SEED).unwrap();
    Source::of(&repository, "main", COMMITS, &folder.join("bare")).unwrap()
}
