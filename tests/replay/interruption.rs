//! Index runs that are interrupted at any point where they wait.

use std::future::poll_fn;
use std::task::Poll;

use futures::FutureExt as _;
use mc_indexer::index::Context;
use mc_indexer::run::{self, RunOutcome};
use mc_store::ingest_runs::{self, IngestRun};
use tokio_util::sync::CancellationToken;

use super::Result;

/// How a run is interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interruption {
    /// Its future is dropped, as if its process died: nothing is stored of the end.
    Drop,
    /// It is cancelled, as when its node stops.
    Cancel,
    /// A user ends it: it has failed, and no run is open.
    Fail,
}

/// Executes a run, and interrupts it when it was polled `polls` times. Returns how often it was
/// polled, and whether it was interrupted before its end.
pub async fn execute(
    context: &Context,
    run: &IngestRun,
    interruption: Interruption,
    polls: usize,
) -> Result<(usize, bool)> {
    let stop = CancellationToken::new();
    let mut running = Box::pin(run::execute(context, run.id, &stop));
    let mut polled = 0;
    let outcome = poll_fn(|cx| {
        if polled == polls {
            return Poll::Ready(None);
        }
        polled += 1;
        running.poll_unpin(cx).map(Some)
    });
    if let Some(outcome) = outcome.await {
        outcome?;
        return Ok((polled, false));
    }
    match interruption {
        Interruption::Drop => Ok((polled, true)),
        Interruption::Fail => {
            drop(running);
            Ok((polled, ingest_runs::cancel(&context.store, run.id, "a user").await?))
        }
        Interruption::Cancel => {
            stop.cancel();
            Ok((polled, running.await? == RunOutcome::Stopped))
        }
    }
}
