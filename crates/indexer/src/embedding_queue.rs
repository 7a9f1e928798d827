//! Embeds the passages that have no vector yet.
//!
//! When the configured model changes, `vectors::enqueue_missing` queues every passage for the new
//! model at startup. Vectors of the previous model stay searchable until the queue is empty
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

/// Passages to a call: seconds of work for a local model, so that a claim never runs out.
/// Two are under way; what is asked or saved meanwhile goes ahead of both.
const BATCH: i64 = 16;
/// Interval between polls of the queue when no notification arrives.
const POLL: Duration = Duration::from_secs(2);
/// The wait after the provider was found away, or refused all that it was given; it doubles up to
/// [`MAX_DELAY`].
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
    /// The provider refused each of several passages: rather its settings are at fault than they.
    /// They are back in the queue with the reason.
    Refused,
    /// The provider or the database is unavailable; the batch is back in the queue.
    Unavailable,
}

/// Embeds what is in the queue, and what comes into it, until `shutdown`: two batches at a time, so
/// that the model has work while a batch is read or stored.
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
    let backlog = match vectors::take_backlog(&ctx.store, BATCH, ctx.is_remote).await {
        Ok(backlog) if backlog.is_empty() => return Batch::Empty,
        Ok(backlog) => backlog,
        Err(error) => {
            tracing::warn!(%error, "the queue of passages can't be read");
            return Batch::Unavailable;
        }
    };
    let mut claimed = Claimed::new(&ctx.store, &backlog);
    let is_several = backlog.len() > 1;
    match store_vectors(ctx, backlog, &mut claimed).await {
        Ok(0) if is_several => {
            tracing::warn!("the provider refuses all passages; the next ones wait");
            claimed.done();
            Batch::Refused
        }
        Ok(stored) => {
            claimed.done();
            Batch::Stored(stored)
        }
        Err(reason) => {
            tracing::warn!(reason, "passages could not be embedded; they stay in the queue");
            claimed.release().await;
            Batch::Unavailable
        }
    }
}

/// Embeds the passages; where the provider refuses a batch, its halves, down to the one passage at
/// fault, which is put back with the reason. Answers how many were stored, or why the provider or
/// the database is away. A policy that came since they were claimed counts: the rest goes back.
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
            return Err("a project keeps its texts from the model since a moment ago".to_owned());
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
                tracing::warn!(passage.id = %batch[0].passage, %error, "a passage can't be \
                    embedded");
                let (passage, reason) = ([batch[0].passage], error.to_string());
                let failed = vectors::backlog_failed(&ctx.store, &passage, &reason);
                failed.await.map_err(|error| error.to_string())?;
                claimed.forget(batch[0].passage);
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

/// Passages that are marked as worked on; given back when the work breaks off.
struct Claimed<'a> {
    store: &'a Store,
    passages: Vec<PassageId>,
}

impl<'a> Claimed<'a> {
    fn new(store: &'a Store, backlog: &[Backlog]) -> Self {
        Self { store, passages: backlog.iter().map(|item| item.passage).collect() }
    }

    /// The passage waits as long as its own failures say.
    fn forget(&mut self, passage: PassageId) {
        self.passages.retain(|claimed| *claimed != passage);
    }

    fn done(mut self) {
        self.passages.clear();
    }

    async fn release(mut self) {
        let passages = std::mem::take(&mut self.passages);
        if let Err(error) = vectors::release_backlog(self.store, &passages).await {
            // The claim runs out by itself within a minute.
            tracing::warn!(%error, "claimed passages could not be given back");
        }
    }
}

impl Drop for Claimed<'_> {
    /// The work was dropped (shutdown): the passages should not wait for the claim to run out.
    fn drop(&mut self) {
        if self.passages.is_empty() {
            return;
        }
        let (store, passages) = (self.store.clone(), std::mem::take(&mut self.passages));
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { vectors::release_backlog(&store, &passages).await });
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
