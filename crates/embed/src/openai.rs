//! Servers that speak `OpenAI`'s `/v1/embeddings`.

mod batch;
mod call;
mod key;

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use futures::future::{BoxFuture, try_join_all};
use tokio::sync::Semaphore;
use url::Url;

use self::call::Call;
pub(crate) use self::key::Key;
use crate::pipeline::EmbeddingBackend;
use crate::{Error, Purpose, RuntimeSettings};

/// Requests with passages that run at once; more wait here and not in the server's queue, where
/// they would stand before the queries.
const PASSAGE_REQUESTS: usize = 2;
/// Requests with what is saved that run at once, beside those with passages.
const SAVE_REQUESTS: usize = 4;
/// Requests with queries that run at once.
const QUERY_REQUESTS: usize = 16;
/// The longest wait between two tries, whoever proposes it. A server that asks for more is told of
/// as being away.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// A server and the bounds of what it is asked at once.
pub(crate) struct OpenAi {
    call: Call,
    max_batch: usize,
    retries: ExponentialBuilder,
    queries: Semaphore,
    saves: Semaphore,
    passages: Semaphore,
}

impl OpenAi {
    /// `dimensions` is sent along only where it is set: many servers don't know the parameter.
    pub(crate) fn new(
        base_url: &Url,
        model: &str,
        key: Key,
        dimensions: Option<usize>,
        runtime: &RuntimeSettings,
    ) -> Result<Self, Error> {
        let retries = ExponentialBuilder::default()
            .with_min_delay(runtime.retry_delay)
            .with_max_delay(LONGEST_WAIT)
            .with_max_times(runtime.max_retries)
            .with_jitter();
        Ok(Self {
            call: Call::new(base_url, model, key, dimensions, runtime.request_timeout)?,
            max_batch: runtime.max_batch.max(1),
            retries,
            queries: Semaphore::new(QUERY_REQUESTS),
            saves: Semaphore::new(SAVE_REQUESTS),
            passages: Semaphore::new(PASSAGE_REQUESTS),
        })
    }

    /// The vectors of one batch, tried again where that may help.
    async fn batch(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Vec<f32>>, Error> {
        let lane = match purpose {
            Purpose::Query(_) => &self.queries,
            Purpose::Save => &self.saves,
            Purpose::Passage => &self.passages,
        };
        // The place is kept while waiting for a retry: a server in trouble gets fewer requests.
        let _place =
            lane.acquire().await.map_err(|e| self.call.unavailable(e.to_string(), None))?;
        (|| self.call.send(texts))
            .retry(self.retries)
            .when(Error::may_pass)
            .adjust(next_wait)
            .notify(|error, wait| {
                tracing::warn!(
                    embedding.server = self.call.server(),
                    embedding.texts = texts.len(),
                    retry.wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
                    error = %error,
                    "embedding request failed, will be sent again"
                );
            })
            .await
    }
}

impl EmbeddingBackend for OpenAi {
    fn vectors(
        &self,
        texts: Vec<String>,
        purpose: Purpose,
    ) -> BoxFuture<'_, Result<Vec<Vec<f32>>, Error>> {
        Box::pin(async move {
            let batches = batch::by_length(&texts, self.max_batch);
            let answers = batches.iter().map(async |batch| {
                let batch_texts: Vec<&str> = batch.iter().map(|&i| texts[i].as_str()).collect();
                self.batch(&batch_texts, purpose).await
            });
            let answers = try_join_all(answers).await?;
            Ok(batch::in_order(texts.len(), &batches, answers))
        })
    }
}

/// The wait before the next try: the server's wish where it is longer than ours, and no further try
/// when either has had enough.
fn next_wait(error: &Error, ours: Option<Duration>) -> Option<Duration> {
    let ours = ours?;
    let wait = error.retry_after().map_or(ours, |theirs| theirs.max(ours));
    (wait <= LONGEST_WAIT.max(ours)).then_some(wait)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited(retry_after: Option<u64>) -> Error {
        let retry_after = retry_after.map(Duration::from_secs);
        Error::RateLimited { server: "s".into(), retry_after }
    }

    #[test]
    fn the_longer_wait_counts_within_reason() {
        let second = Some(Duration::from_secs(1));
        assert_eq!(next_wait(&limited(None), second), second);
        assert_eq!(next_wait(&limited(Some(7)), second), Some(Duration::from_secs(7)));
        assert_eq!(next_wait(&limited(Some(0)), second), second);
        assert_eq!(next_wait(&limited(Some(3600)), second), None);
        assert_eq!(next_wait(&limited(Some(1)), None), None);
    }
}
