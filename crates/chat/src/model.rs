//! A model with its limits: the path of a request.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use mc_model_server::{LONGEST_WAIT, next_wait};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::circuit_breaker::CircuitBreaker;
use crate::error::Failure;
use crate::{
    Answer, ChatModelSettings, ChatProvider, ChatRequest, Completion, Content, Error, Price,
    Progress, Usage,
};

/// Retries of a request.
const MAX_RETRIES: usize = 3;
/// Wait before the first retry. It doubles with each one, with jitter.
const FIRST_WAIT: Duration = Duration::from_millis(500);

/// A configured model.
#[derive(Debug)]
pub struct ChatModel {
    name: String,
    settings: ChatModelSettings,
    provider: Arc<dyn ChatProvider>,
    breaker: CircuitBreaker,
    permits: Semaphore,
}

impl ChatModel {
    /// Creates the model.
    pub(crate) fn new(
        name: &str,
        settings: ChatModelSettings,
        provider: Arc<dyn ChatProvider>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            permits: Semaphore::new(settings.max_concurrent),
            settings,
            provider,
            breaker: CircuitBreaker::default(),
        }
    }

    /// Returns the name in the configuration.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name at the provider.
    pub fn model(&self) -> &str {
        &self.settings.model
    }

    /// Returns the price of its tokens.
    pub fn price(&self) -> Price {
        self.settings.price_per_million
    }

    /// Returns the maximum size of a prompt, in bytes.
    pub fn max_prompt_bytes(&self) -> usize {
        self.settings.max_prompt_bytes
    }

    /// Returns whether texts stay on this machine.
    pub fn is_local(&self) -> bool {
        self.settings.is_local()
    }

    /// Returns the most tokens that a request may use: those of its prompt, and of the longest
    /// completion.
    pub fn max_tokens(&self, request: &ChatRequest) -> u64 {
        self.settings.max_tokens(request)
    }

    /// Requests a completion. Dropping the future cancels the request.
    pub async fn complete(&self, request: &ChatRequest) -> Result<Completion, Failure> {
        let used = Used::default();
        let answer = self.answer(request, &used).await;
        let completion = answer
            .and_then(|answer| Content::read(&answer, &request.format, &self.name, &self.settings));
        match completion {
            Ok(content) => Ok(Completion { content, usage: used.total() }),
            Err(error) => Err(Failure { error, usage: used.total() }),
        }
    }

    /// Requests an answer, and retries transient failures.
    async fn answer(&self, request: &ChatRequest, used: &Used) -> Result<Answer, Error> {
        self.settings.check_prompt(request)?;
        // The permit is kept between retries, so that a failing server gets fewer requests.
        let _permit = self.permits.acquire().await.expect("the semaphore is never closed");
        let retries = ExponentialBuilder::default()
            .with_min_delay(FIRST_WAIT)
            .with_max_delay(LONGEST_WAIT)
            .with_max_times(MAX_RETRIES)
            .with_jitter();
        (|| self.attempt(request, used))
            .retry(retries)
            .when(Error::may_pass)
            .adjust(|error: &Error, ours| next_wait(error.retry_after(), ours))
            .notify(|error, wait| {
                tracing::warn!(
                    chat.model = self.name,
                    retry.wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
                    error = %error,
                    "chat request failed, will be sent again"
                );
            })
            .await
    }

    /// Sends the request once, within the time limit.
    async fn attempt(&self, request: &ChatRequest, used: &Used) -> Result<Answer, Error> {
        self.breaker.admit().map_err(|wait| Error::Paused { model: self.name.clone(), wait })?;
        let progress = Progress::new(self.settings.max_completion_bytes);
        let answer = timeout(self.settings.timeout(), self.provider.request(request, &progress));
        let answer = answer.await.unwrap_or_else(|_| {
            let server = self.settings.base_url().map(|url| url.to_string()).unwrap_or_default();
            Err(Error::TimedOut { server, limit: self.settings.timeout() })
        });
        match &answer {
            Ok(answer) => {
                self.breaker.succeeded();
                used.add(answer.usage.unwrap_or_else(|| request.usage(&answer.text)));
            }
            Err(error) if error.is_failure_of_server() => self.breaker.failed(),
            Err(_) => self.breaker.succeeded(),
        }
        // The provider charges for an answer that was broken off.
        if answer.is_err() && progress.received() > 0 {
            used.add(broken_off(request, &progress));
        }
        answer
    }
}

/// Tokens used by the attempts of a request.
#[derive(Debug, Default)]
struct Used {
    prompt: AtomicU64,
    completion: AtomicU64,
}

impl Used {
    fn add(&self, usage: Usage) {
        self.prompt.fetch_add(usage.prompt_tokens, Ordering::Relaxed);
        self.completion.fetch_add(usage.completion_tokens, Ordering::Relaxed);
    }

    fn total(&self) -> Usage {
        Usage {
            prompt_tokens: self.prompt.load(Ordering::Relaxed),
            completion_tokens: self.completion.load(Ordering::Relaxed),
        }
    }
}

/// Returns the tokens of an answer that was broken off, whose text is gone: four bytes a token.
fn broken_off(request: &ChatRequest, progress: &Progress) -> Usage {
    let completion_tokens = progress.received().div_ceil(4) as u64;
    Usage { prompt_tokens: request.tokens(), completion_tokens }
}
