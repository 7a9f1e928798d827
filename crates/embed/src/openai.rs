//! Servers that speak `OpenAI`'s `/v1/embeddings`.

mod batch;
mod call;

use backon::{ExponentialBuilder, Retryable};
use futures::future::{BoxFuture, try_join_all};
use mc_model_server::{Key, LONGEST_WAIT, next_wait};
use tokio::sync::Semaphore;
use url::Url;

use self::call::Call;
use crate::pipeline::EmbeddingBackend;
use crate::{Error, Purpose, RuntimeSettings};

/// Concurrent requests with passages. More would fill the server's queue and delay queries.
const PASSAGE_REQUESTS: usize = 2;
/// Concurrent requests with texts of saves.
const SAVE_REQUESTS: usize = 4;
/// Concurrent requests with queries.
const QUERY_REQUESTS: usize = 16;

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
            .adjust(|error: &Error, ours| next_wait(error.retry_after(), ours))
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
