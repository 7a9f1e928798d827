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

/// Concurrent requests with passages. More would fill the server's queue and delay queries.
const PASSAGE_REQUESTS: usize = 2;
/// Concurrent requests with texts of saves.
const SAVE_REQUESTS: usize = 4;
/// Concurrent requests with queries.
const QUERY_REQUESTS: usize = 16;
/// Longest wait between two attempts. A server that requests a longer one counts as unavailable.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Server with limits of concurrent requests.
pub(crate) struct OpenAi {
    call: Call,
    max_batch: usize,
    retries: ExponentialBuilder,
    queries: Semaphore,
    saves: Semaphore,
    passages: Semaphore,
}

impl OpenAi {
    /// Creates the client. `dimensions` is sent only if it is set: many servers do not support it.
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

    /// Requests the vectors of one batch, and retries transient failures.
    async fn batch(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Vec<f32>>, Error> {
        let lane = match purpose {
            Purpose::Query(_) => &self.queries,
            Purpose::Save => &self.saves,
            Purpose::Passage => &self.passages,
        };
        // The permit is kept between retries, so that a failing server gets fewer requests.
        let _permit =
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

/// Returns the wait before the next attempt, the longer of both; `None` to give up.
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
    fn retry_waits_for_the_longer_of_backoff_and_retry_after() {
        let second = Some(Duration::from_secs(1));
        assert_eq!(next_wait(&limited(None), second), second);
        assert_eq!(next_wait(&limited(Some(7)), second), Some(Duration::from_secs(7)));
        assert_eq!(next_wait(&limited(Some(0)), second), second);
        assert_eq!(next_wait(&limited(Some(3600)), second), None);
        assert_eq!(next_wait(&limited(Some(1)), None), None);
    }
}
