//! Rerank of the best matches by a cross-encoder: a model that reads the question and a passage
//! together, and scores the passage. The service ships none; a server with `/rerank` has it.

use std::sync::Arc;
use std::time::Duration;

use mc_model_server::{Key, endpoint, http_client, reason};
use reqwest::Client;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::Semaphore;
use url::{Position, Url};

use crate::model_rerank::reorder;
use crate::models::{ModelFailure, neutralized};
use crate::snippet::Snippet;

/// Matches that are scored.
const PASSAGES_MAX: usize = 40;
/// Characters of a passage that the model reads.
const PASSAGE_CHARS: usize = 2_000;
/// Requests of all questions at once; more would wait at the server.
const REQUESTS_MAX: usize = 4;
/// Longest time that a question may wait, in milliseconds: a request ends after 30 seconds.
const TIMEOUT_MS_MAX: u64 = 15_000;
/// Longest response, in bytes: some numbers for each passage, and perhaps the passages.
const RESPONSE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The server of a cross-encoder. It speaks the protocol of Cohere and Jina, as vLLM, llama.cpp,
/// Infinity and `LocalAI` do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrossEncoderSettings {
    /// URL to which `/rerank` is appended, such as `http://localhost:8080/v1`.
    pub base_url: Url,
    /// Name of the model.
    pub model: String,
    /// Variable of the environment with the API key; none by default.
    #[serde(default)]
    pub api_key_env: Option<String>,
    /// Milliseconds that a question waits for the scores: 1 to 15,000.
    #[serde(default = "default_timeout")]
    pub timeout_ms: u64,
}

fn default_timeout() -> u64 {
    2_000
}

impl CrossEncoderSettings {
    /// Checks the rules, and returns the URL of the requests. The key is not read: only the service
    /// has it.
    pub(crate) fn check(&self) -> Result<Url, InvalidCrossEncoder> {
        let url = endpoint(&self.base_url, "rerank").ok_or_else(|| {
            InvalidCrossEncoder("`base_url` must be http(s)://host/v1 without a password".into())
        })?;
        if !(1..=TIMEOUT_MS_MAX).contains(&self.timeout_ms) || self.model.is_empty() {
            let rule = format!("set `model`, and `timeout_ms` to 1 to {TIMEOUT_MS_MAX}");
            return Err(InvalidCrossEncoder(rule));
        }
        Ok(url)
    }
}

/// A cross-encoder on a server. Cheap to clone.
#[derive(Debug, Clone)]
pub struct CrossEncoder {
    client: Client,
    url: Url,
    model: String,
    key: Key,
    requests: Arc<Semaphore>,
    timeout: Duration,
}

/// A cross-encoder that can't be used as it is configured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`rag.cross_encoder`: {0}")]
pub struct InvalidCrossEncoder(String);

impl InvalidCrossEncoder {
    /// Returns the rule that a setting breaks.
    pub(crate) fn rule(&self) -> &str {
        &self.0
    }
}

#[derive(Deserialize)]
struct Response {
    results: Vec<Score>,
}

#[derive(Deserialize)]
struct Score {
    index: usize,
    relevance_score: f64,
}

impl CrossEncoder {
    /// Creates the client of a server, without a request.
    pub fn open(settings: &CrossEncoderSettings) -> Result<Self, InvalidCrossEncoder> {
        let invalid = |error: &dyn std::error::Error| InvalidCrossEncoder(error.to_string());
        let url = settings.check()?;
        let timeout = Duration::from_millis(settings.timeout_ms);
        Ok(Self {
            client: http_client(&url, timeout).map_err(|error| invalid(&error))?,
            url,
            model: settings.model.clone(),
            key: Key::read(settings.api_key_env.as_deref(), None)
                .map_err(|error| invalid(&error))?,
            requests: Arc::new(Semaphore::new(REQUESTS_MAX)),
            timeout,
        })
    }

    /// Whether passages leave this machine.
    pub fn is_remote(&self) -> bool {
        !mc_domain::is_loopback(&self.url)
    }

    /// Returns the positions of the documents, best first; those without a score are left out.
    async fn ranked(&self, query: &str, documents: &[String]) -> Result<Vec<usize>, ModelFailure> {
        let failed = |what: String| {
            ModelFailure::Failed(format!("the cross-encoder at {} {what}", self.server()))
        };
        let request = json!({
            "model": self.model, "query": query, "documents": documents,
            "top_n": documents.len(), "return_documents": false,
        });
        let send = async {
            let _permit = self.requests.acquire().await.ok();
            let mut builder = self.client.post(self.url.clone()).json(&request);
            if let Some(key) = self.key.value() {
                builder = builder.bearer_auth(key);
            }
            let mut response = builder.send().await?;
            let (status, mut body) = (response.status(), Vec::new());
            while let Some(chunk) = response.chunk().await? {
                if body.len() + chunk.len() > RESPONSE_BYTES_MAX {
                    break;
                }
                body.extend_from_slice(&chunk);
            }
            Ok::<_, reqwest::Error>((status, body))
        };
        let (status, body) = match tokio::time::timeout(self.timeout, send).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) if !error.is_timeout() => {
                tracing::warn!(error = ?error.without_url(), "a rerank request was lost");
                return Err(failed("can't be reached".into()));
            }
            Ok(Err(_)) | Err(_) => return Err(failed("did not answer in time".into())),
        };
        if matches!(status.as_u16(), 401 | 403) {
            return Err(failed(format!("rejects the key: {}", self.key.remedy())));
        }
        if !status.is_success() {
            return Err(failed(format!("answered {status}: {}", reason(&body))));
        }
        let Ok(Response { mut results }) = serde_json::from_slice(&body) else {
            return Err(failed("sent no scores".into()));
        };
        results.retain(|score| score.index < documents.len() && score.relevance_score.is_finite());
        results.sort_by(|a, b| b.relevance_score.total_cmp(&a.relevance_score));
        Ok(results.into_iter().map(|score| score.index).collect())
    }

    fn server(&self) -> &str {
        &self.url[Position::BeforeHost..Position::AfterPort]
    }
}

/// Orders the best snippets by a cross-encoder. Untrusted ones are not sent to it, and keep their
/// places. Returns whether the order changed.
pub(crate) async fn rerank(
    encoder: &CrossEncoder,
    query: &str,
    snippets: &mut [Snippet],
) -> Result<bool, ModelFailure> {
    let trusted = snippets.iter().enumerate().filter(|(_, snippet)| snippet.is_trusted());
    let places: Vec<usize> = trusted.map(|(place, _)| place).take(PASSAGES_MAX).collect();
    let document = |place: &usize| {
        let snippet = &snippets[*place];
        let text: String = snippet.text.chars().take(PASSAGE_CHARS).collect();
        neutralized(&format!("{}\n{text}", snippet.place()))
    };
    let documents: Vec<String> = places.iter().map(document).collect();
    if documents.len() < 2 {
        return Ok(false);
    }
    let ranked = encoder.ranked(&neutralized(query), &documents).await?;
    Ok(reorder(snippets, &places, ranked))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(base_url: &str) -> CrossEncoderSettings {
        serde_json::from_value(json!({"base_url": base_url, "model": "small"})).expect("settings")
    }

    #[test]
    fn server_is_local_or_remote_by_its_host() {
        for (url, is_remote) in [
            ("http://localhost:8080/v1", false),
            ("http://127.0.0.1:8080", false),
            ("http://[::1]/v1/", false),
            ("https://rerank.example.org/v1", true),
        ] {
            let encoder = CrossEncoder::open(&settings(url)).expect("a client");
            assert_eq!(encoder.is_remote(), is_remote, "{url}");
            assert!(encoder.url.path().ends_with("/rerank"), "{}", encoder.url);
        }
    }

    #[test]
    fn settings_are_checked_without_the_key() {
        let api_key_env = Some("MEMORY_COPILOT_TEST_NO_SUCH_KEY".to_owned());
        let settings = CrossEncoderSettings { api_key_env, ..settings("http://localhost/v1") };
        settings.check().expect("commands of users have no key");
        let error = CrossEncoder::open(&settings).expect_err("no key").to_string();
        assert!(error.contains("MEMORY_COPILOT_TEST_NO_SUCH_KEY"), "{error}");
    }

    #[test]
    fn settings_that_break_a_rule_are_named() {
        for (base_url, model, timeout_ms) in [
            ("ftp://localhost/v1", "small", 1),
            ("http://user:pass@localhost/v1", "small", 1),
            ("http://localhost/v1", "", 1),
            ("http://localhost/v1", "small", 0),
            ("http://localhost/v1", "small", 15_001),
        ] {
            let settings =
                CrossEncoderSettings { model: model.to_owned(), timeout_ms, ..settings(base_url) };
            let error = CrossEncoder::open(&settings).expect_err("an error").to_string();
            assert!(error.starts_with("`rag.cross_encoder`: "), "{error}");
        }
    }
}
