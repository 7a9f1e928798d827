//! Works off a run.

use mc_domain::{Classified, ErrorKind, IngestRunId, IngestStatus};
use mc_store::ingest_runs::{self, IngestRun, StartOutcome};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::Error;
use crate::index::{self, Context};

/// What became of a run that was to be worked off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunOutcome {
    /// There is nothing more to do for now: it has ended, well or not, or waits for its turn, or
    /// another has it.
    Done,
    /// `stop` came first: it goes on where it was when somebody takes it up again.
    Stopped,
    /// The attempt failed, and another may not.
    Again(String),
}

/// Works off a run until it has ended, or until `stop`. Fails only where the database can't be
/// told.
pub async fn work(
    ctx: &Context,
    run: IngestRunId,
    stop: &CancellationToken,
) -> Result<RunOutcome, mc_store::Error> {
    // One that was taken for dead, and is not, must not be able to report.
    let worker = format!("{} {}", ctx.worker, Uuid::now_v7());
    let ingest = match ingest_runs::begin(&ctx.store, run, &worker).await? {
        StartOutcome::Started(ingest) => ingest,
        StartOutcome::Waiting | StartOutcome::Ended => return Ok(RunOutcome::Done),
    };
    match index::index_repository(ctx, &ingest, &worker, stop).await {
        Ok(counts) => {
            ingest_runs::succeed(&ctx.store, run, &worker).await?;
            tracing::info!(
                ingest.id = %run,
                files.total = counts.files_total,
                files.changed = counts.files_changed,
                files.deleted = counts.files_deleted,
                chunks.written = counts.chunks_written,
                "repository indexed"
            );
            Ok(RunOutcome::Done)
        }
        Err(Error::Cancelled) => {
            ingest_runs::release(&ctx.store, run, &worker).await?;
            Ok(RunOutcome::Stopped)
        }
        Err(Error::Lost) => {
            tracing::warn!(ingest.id = %run, "the run was taken by another worker");
            Ok(RunOutcome::Done)
        }
        Err(error) => failed(ctx, &ingest, &worker, &error).await,
    }
}

async fn failed(
    ctx: &Context,
    ingest: &IngestRun,
    worker: &str,
    error: &Error,
) -> Result<RunOutcome, mc_store::Error> {
    let is_final =
        matches!(error.kind(), ErrorKind::Invalid | ErrorKind::NotFound | ErrorKind::TooLarge);
    let message = error.to_string();
    let status = ingest_runs::fail(&ctx.store, ingest.id, worker, &message, is_final).await?;
    let will_retry = status == IngestStatus::Queued;
    tracing::warn!(ingest.id = %ingest.id, ingest.attempt, will_retry, ?error, "indexing failed");
    Ok(if will_retry { RunOutcome::Again(message) } else { RunOutcome::Done })
}
