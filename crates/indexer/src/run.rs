//! Execution of a run and storage of its outcome.

use mc_domain::{Classified, ErrorKind, IngestRunId, IngestStatus};
use mc_store::ingest_runs::{self, Failure, IngestRun, StartOutcome};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::Error;
use crate::index::{self, Context};

/// Outcome of [`execute`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunOutcome {
    /// Nothing remains to do: the run ended, waits in the queue, or has another worker.
    Done,
    /// The run was cancelled by `stop`, and resumes when it is executed again.
    Stopped,
    /// The attempt failed with this error, and is to be retried.
    Retry(String),
}

/// Executes a run until it ends or `stop` is cancelled. Fails only if its outcome cannot be stored.
pub async fn execute(
    ctx: &Context,
    run: IngestRunId,
    stop: &CancellationToken,
) -> Result<RunOutcome, mc_store::Error> {
    // Unique for each attempt, so that an attempt that was presumed dead cannot store its outcome.
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
        Err(Error::RunTakenOver) => {
            tracing::warn!(ingest.id = %run, "the run was taken over by another worker");
            Ok(RunOutcome::Done)
        }
        Err(error) => store_failure(ctx, &ingest, &worker, &error).await,
    }
}

async fn store_failure(
    ctx: &Context,
    ingest: &IngestRun,
    worker: &str,
    error: &Error,
) -> Result<RunOutcome, mc_store::Error> {
    let is_final =
        matches!(error.kind(), ErrorKind::Invalid | ErrorKind::NotFound | ErrorKind::TooLarge);
    let message = error.to_string();
    let causes = causes(error);
    let failure = Failure { message: &message, causes: &causes, is_final };
    let status = ingest_runs::fail(&ctx.store, ingest.id, worker, failure).await?;
    let will_retry = status == IngestStatus::Queued;
    tracing::warn!(ingest.id = %ingest.id, ingest.attempt, will_retry, ?error, "indexing failed");
    Ok(if will_retry { RunOutcome::Retry(message) } else { RunOutcome::Done })
}

/// Maximum number of causes that are stored.
const MAX_CAUSES: usize = 8;

/// Returns the causes of an error, masked, the nearest one first. A cause whose text is that of the
/// error before it adds nothing.
fn causes(error: &Error) -> Vec<String> {
    let mut last = error.to_string();
    let mut causes = Vec::new();
    let mut next = std::error::Error::source(error);
    while let Some(cause) = next {
        let text = mc_sanitizer::mask(&cause.to_string()).text.into_string();
        if text != last && causes.len() < MAX_CAUSES {
            causes.push(text.clone());
        }
        last = text;
        next = cause.source();
    }
    causes
}
