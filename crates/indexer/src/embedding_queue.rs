//! Embeds the passages that have no vector yet.
//!
//! Each model has its own queue. When the configured model changes, `vectors::enqueue_missing`
//! queues every passage for it at startup. Vectors of the previous model stay searchable meanwhile
//! (`mc_search::ActiveModels`).

use std::sync::Arc;
use std::time::Duration;

use futures::future::{join, join_all};
use mc_domain::{Classified, PassageId};
use mc_embed::{Embedder, Purpose};
use mc_store::Store;
use mc_store::vectors::{self, Backlog, Model};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Passages per call. A local model needs seconds for them, so claims do not expire. Two batches
/// run at a time; queries and saves take precedence over both.
const BATCH: i64 = 16;
/// Interval between polls of the queue when no notification arrives.
const POLL: Duration = Duration::from_secs(2);
/// First delay after the provider failed for all passages. It doubles up to [`MAX_DELAY`].
const FIRST_DELAY: Duration = Duration::from_secs(1);
/// Longest delay before the next attempt at a provider.
const MAX_DELAY: Duration = Duration::from_mins(1);

/// Dependencies of the queue's workers.
#[derive(Clone)]
pub struct Context {
    /// The database.
    pub store: Store,
    /// Embedder that computes the vectors.
    pub embedder: Arc<dyn Embedder>,
    /// Model under which the vectors are stored.
    pub model: Model,
    /// Whether the provider is remote; passages of projects that forbid it stay in the queue.
    pub is_remote: bool,
}

/// Outcome of a batch.
#[derive(Debug, PartialEq, Eq)]
pub enum Batch {
    /// Number of vectors stored.
    Stored(usize),
    /// The queue was empty.
    Empty,
    /// The provider refused all of several passages, so its settings are probably wrong. The
    /// passages are back in the queue with the reason.
    Refused,
    /// The provider or the database is unavailable; the batch is back in the queue.
    Unavailable,
}

/// Embeds the passages of the queue until `shutdown`. It runs two batches at a time, so that the
/// model is busy while a batch is read or stored.
pub async fn run(ctx: &Context, shutdown: &CancellationToken) {
    let more = Notify::new();
    let workers = [(); 2].map(|()| Box::pin(work(ctx, &more)));
    let all = join(join_all(workers), listen(ctx, &more));
    shutdown.run_until_cancelled(all).await;
}

async fn work(ctx: &Context, more: &Notify) {
    let mut delay = FIRST_DELAY;
    loop {
        let woken = more.notified();
        let batch = process_batch(ctx).await;
        let Some(wait) = pause(&batch, &mut delay) else { continue };
        let rest = tokio::time::sleep(wait);
        if batch == Batch::Empty {
            tokio::select! {
                () = rest => {}
                () = woken => {}
            }
        } else {
            // New passages cannot help while the provider is unavailable.
            rest.await;
        }
    }
}

/// Wakes the workers when passages arrive. They also poll, in case notifications are lost.
async fn listen(ctx: &Context, more: &Notify) {
    loop {
        if let Ok(mut changes) = vectors::listen(&ctx.store).await {
            more.notify_waiters();
            while changes.wait().await.is_ok() {
                more.notify_waiters();
            }
        }
        tokio::time::sleep(POLL).await;
    }
}

/// Returns the delay before the next batch, if any.
fn pause(batch: &Batch, delay: &mut Duration) -> Option<Duration> {
    match batch {
        // One refused passage says nothing about the provider.
        Batch::Stored(0) => None,
        Batch::Stored(_) => {
            *delay = FIRST_DELAY;
            None
        }
        Batch::Empty => Some(POLL),
        Batch::Refused | Batch::Unavailable => {
            let wait = *delay;
            *delay = (*delay * 2).min(MAX_DELAY);
            Some(wait)
        }
    }
}

/// Embeds and stores one batch.
pub async fn process_batch(ctx: &Context) -> Batch {
    let backlog = match vectors::take_backlog(&ctx.store, &ctx.model, BATCH, ctx.is_remote).await {
        Ok(backlog) if backlog.is_empty() => return Batch::Empty,
        Ok(backlog) => backlog,
        Err(error) => {
            tracing::warn!(%error, "reading the embedding queue failed; will retry");
            return Batch::Unavailable;
        }
    };
    let mut claimed = Claimed::new(ctx, &backlog);
    let is_several = backlog.len() > 1;
    match store_vectors(ctx, backlog, &mut claimed).await {
        Ok(0) if is_several => {
            tracing::warn!("the embedding provider refused all passages of a batch; will retry");
            claimed.done();
            Batch::Refused
        }
        Ok(stored) => {
            claimed.done();
            Batch::Stored(stored)
        }
        Err(reason) => {
            tracing::warn!(reason, "embedding passages failed; they stay in the queue");
            claimed.release().await;
            Batch::Unavailable
        }
    }
}

/// Embeds and stores the passages, and returns the number of stored vectors.
///
/// A batch that the provider refuses is split in half, down to the single passage at fault, which
/// returns to the queue with the reason. The error says why the provider or the database is
/// unavailable, or that a policy has excluded passages since they were claimed.
async fn store_vectors(
    ctx: &Context,
    backlog: Vec<Backlog>,
    claimed: &mut Claimed<'_>,
) -> Result<usize, String> {
    let mut stored = 0;
    let mut todo = vec![backlog];
    while let Some(mut batch) = todo.pop() {
        let projects: Vec<_> = batch.iter().map(|item| item.project).collect();
        let allowed = vectors::may_embed(&ctx.store, &projects, ctx.is_remote).await;
        if !allowed.map_err(|error| error.to_string())? {
            return Err("the policy of a project has just excluded its texts from the model".into());
        }
        let texts = batch.iter().map(|item| item.text.clone()).collect();
        match ctx.embedder.embed(texts, Purpose::Passage).await {
            Ok(embedded) => {
                stored += embedded.len();
                let batch: Vec<_> = batch.into_iter().zip(embedded).collect();
                let done = vectors::store_batch(&ctx.store, &ctx.model, &batch).await;
                done.map_err(|error| error.to_string())?;
            }
            Err(error) if error.kind().is_transient() => return Err(error.to_string()),
            Err(error) if batch.len() == 1 => {
                let (passage, reason) = (batch[0].passage, error.to_string());
                tracing::warn!(passage.id = %passage, %error, "embedding a passage failed");
                vectors::backlog_failed(&ctx.store, &ctx.model, &[passage], &reason)
                    .await
                    .map_err(|error| error.to_string())?;
                claimed.exclude(passage);
            }
            Err(_) => {
                let half = batch.split_off(batch.len() / 2);
                todo.push(half);
                todo.push(batch);
            }
        }
    }
    Ok(stored)
}

/// Claimed passages. They are released if processing is interrupted.
struct Claimed<'a> {
    context: &'a Context,
    passages: Vec<PassageId>,
}

impl<'a> Claimed<'a> {
    fn new(context: &'a Context, backlog: &[Backlog]) -> Self {
        Self { context, passages: backlog.iter().map(|item| item.passage).collect() }
    }

    /// Excludes a failed passage: its own backoff applies.
    fn exclude(&mut self, passage: PassageId) {
        self.passages.retain(|claimed| *claimed != passage);
    }

    fn done(mut self) {
        self.passages.clear();
    }

    async fn release(mut self) {
        let passages = std::mem::take(&mut self.passages);
        let Context { store, model, .. } = self.context;
        if let Err(error) = vectors::release_backlog(store, model, &passages).await {
            // The claim expires within a minute.
            tracing::warn!(%error, "releasing claimed passages failed");
        }
    }
}

impl Drop for Claimed<'_> {
    /// Releases the passages on shutdown, so that they need not wait until the claim expires.
    fn drop(&mut self) {
        if self.passages.is_empty() {
            return;
        }
        let Context { store, model, .. } = self.context.clone();
        let passages = std::mem::take(&mut self.passages);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let release = async move { vectors::release_backlog(&store, &model, &passages).await };
            runtime.spawn(release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_delay_batches_until_a_vector_is_stored() {
        let mut delay = FIRST_DELAY;
        assert_eq!(pause(&Batch::Refused, &mut delay), Some(FIRST_DELAY));
        assert_eq!(pause(&Batch::Stored(0), &mut delay), None);
        assert_eq!(pause(&Batch::Unavailable, &mut delay), Some(FIRST_DELAY * 2));
        for _ in 0..10 {
            pause(&Batch::Refused, &mut delay);
        }
        assert_eq!(pause(&Batch::Refused, &mut delay), Some(MAX_DELAY));
        assert_eq!(pause(&Batch::Stored(1), &mut delay), None);
        assert_eq!(pause(&Batch::Refused, &mut delay), Some(FIRST_DELAY));
    }
}
