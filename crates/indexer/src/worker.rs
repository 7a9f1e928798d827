//! Works off queued runs, one at a time.

use std::time::Duration;

use mc_domain::{Classified, ErrorKind, IngestStatus};
use mc_store::ingests::{self, Ingest};
use tokio_util::sync::CancellationToken;

use crate::Error;
use crate::index::{self, Context};

/// How often the queue is looked at.
const POLL: Duration = Duration::from_millis(500);
/// After this long without a heartbeat (each second) a worker is taken for dead.
const SILENT_SECONDS: f64 = 30.0;
/// The wait before the second attempt; it doubles with each, up to [`MAX_DELAY`].
const FIRST_DELAY: Duration = Duration::from_secs(5);
/// The longest wait between attempts.
const MAX_DELAY: Duration = Duration::from_mins(10);

/// Takes and works off runs until `shutdown`. A run that is under way then goes back to the queue
/// and is taken up again where it was; so is one whose process died, until its attempts are used up.
pub async fn run(ctx: &Context, shutdown: &CancellationToken) {
    given_back(ingests::recover(&ctx.store, &ctx.worker).await);
    while !shutdown.is_cancelled() {
        let worked = match work_one(ctx, shutdown).await {
            Ok(worked) => worked,
            Err(error) => {
                tracing::warn!(%error, "the queue of ingest runs can't be read");
                false
            }
        };
        if !worked {
            tokio::select! {
                () = tokio::time::sleep(POLL) => {}
                () = shutdown.cancelled() => {}
            }
        }
    }
    given_back(ingests::release(&ctx.store, &ctx.worker).await);
}

/// Takes and works off one run, if one is due; answers whether there was one.
pub async fn work_one(
    ctx: &Context,
    shutdown: &CancellationToken,
) -> Result<bool, mc_store::Error> {
    let Some(ingest) = ingests::claim(&ctx.store, &ctx.worker, SILENT_SECONDS).await? else {
        return Ok(false);
    };
    match index::index_repository(ctx, &ingest, shutdown).await {
        Ok(counts) => {
            ingests::succeed(&ctx.store, ingest.id, &ctx.worker).await?;
            tracing::info!(
                ingest.id = %ingest.id,
                files.total = counts.files_total,
                files.changed = counts.files_changed,
                files.deleted = counts.files_deleted,
                chunks.written = counts.chunks_written,
                "repository indexed"
            );
        }
        Err(Error::Cancelled) => {}
        Err(Error::Lost) => {
            tracing::warn!(ingest.id = %ingest.id, "the run was taken by another worker");
        }
        Err(error) => failed(ctx, &ingest, &error).await?,
    }
    Ok(true)
}

async fn failed(ctx: &Context, ingest: &Ingest, error: &Error) -> Result<(), mc_store::Error> {
    let is_final =
        matches!(error.kind(), ErrorKind::Invalid | ErrorKind::NotFound | ErrorKind::TooLarge);
    let retry = (!is_final).then(|| delay(ingest.attempt).as_secs_f64());
    let status =
        ingests::fail(&ctx.store, ingest.id, &ctx.worker, &error.to_string(), retry).await?;
    let will_retry = status == IngestStatus::Queued;
    tracing::warn!(ingest.id = %ingest.id, ingest.attempt, will_retry, ?error, "indexing failed");
    Ok(())
}

/// Doubles with each attempt, with up to a quarter of jitter.
fn delay(attempt: i32) -> Duration {
    let doublings = u32::try_from(attempt.clamp(1, 16) - 1).unwrap_or(0);
    let delay = FIRST_DELAY.saturating_mul(2_u32.saturating_pow(doublings)).min(MAX_DELAY);
    delay.mul_f64(1.0 + rand::random::<f64>() / 4.0)
}

fn given_back(done: Result<u64, mc_store::Error>) {
    if let Err(error) = done {
        // They are taken up all the same once their heartbeat is old.
        tracing::warn!(%error, "runs of this worker could not be given back");
    }
}
