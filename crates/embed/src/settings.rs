//! Settings of embedding providers.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::QueryCache;

/// Embedding provider. Stored with the model in the database, so it contains no secret: an API key
/// is referenced by its environment variable or file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "provider", rename_all = "snake_case", deny_unknown_fields)]
pub enum ProviderSettings {
    /// A directory with `model.onnx`, `tokenizer.json` and the tokenizer's three small JSON files.
    Folder {
        /// Path of the directory.
        dir: PathBuf,
        /// Name of the model; the directory's by default.
        #[serde(default)]
        name: Option<String>,
    },
    /// A model of the Hugging Face hub (or of the mirror that `HF_ENDPOINT` names).
    Hub {
        /// Repository (`intfloat/multilingual-e5-small`) or fastembed's name for it.
        model: String,
        /// Directory of downloads.
        cache_dir: PathBuf,
    },
    /// A server that speaks `OpenAI`'s `/v1/embeddings`: `OpenAI`, Ollama, LM Studio, TEI, vLLM.
    #[serde(rename = "openai")]
    OpenAi {
        /// Base URL, up to and including `/v1`.
        base_url: url::Url,
        /// Name of the model at the server.
        model: String,
        /// Environment variable of the API key, if the server requires one.
        #[serde(default)]
        api_key_env: Option<String>,
        /// File of the API key, read if `api_key_env` is absent.
        #[serde(default)]
        api_key_file: Option<PathBuf>,
        /// Requested dimensions. By default the model's own, measured by embedding one word.
        #[serde(default)]
        dimensions: Option<usize>,
    },
}

impl ProviderSettings {
    /// Returns the settings without the source of a key, for comparisons.
    #[must_use]
    pub fn without_key(mut self) -> Self {
        if let Self::OpenAi { api_key_env, api_key_file, .. } = &mut self {
            (*api_key_env, *api_key_file) = (None, None);
        }
        self
    }

    /// Returns whether texts leave this machine.
    pub fn is_remote(&self) -> bool {
        matches!(self, Self::OpenAi { base_url, .. } if !mc_domain::is_loopback(base_url))
    }
}

/// Settings that all providers share.
#[derive(Debug, Clone)]
pub struct RuntimeSettings {
    /// Shared library of the ONNX runtime; by default searched in the system's library path.
    pub onnx_library: Option<PathBuf>,
    /// Threads for local models; by default the number of processors.
    pub threads: Option<usize>,
    /// Maximum number of texts in one request.
    pub max_batch: usize,
    /// Capacity of the query cache; 0 disables it.
    pub query_cache: u64,
    /// Cache shared with other nodes, consulted after the local one.
    pub shared_queries: Option<Arc<dyn QueryCache>>,
    /// Time limit of one request.
    pub request_timeout: Duration,
    /// Maximum number of retries of a request.
    pub max_retries: usize,
    /// Delay before the first retry. It doubles with each retry, up to 30 s, with jitter.
    pub retry_delay: Duration,
}

impl Default for RuntimeSettings {
    fn default() -> Self {
        Self {
            onnx_library: None,
            threads: None,
            max_batch: 32,
            query_cache: 10_000,
            shared_queries: None,
            request_timeout: Duration::from_mins(1),
            max_retries: 4,
            retry_delay: Duration::from_millis(250),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_servers_are_local() {
        let remote = |base_url: &str| {
            let settings =
                serde_json::json!({"provider": "openai", "base_url": base_url, "model": "m"});
            serde_json::from_value::<ProviderSettings>(settings).expect("settings").is_remote()
        };
        for here in ["http://127.0.0.1:11434/v1", "http://[::1]/v1", "http://localhost:1234/v1"] {
            assert!(!remote(here), "{here}");
        }
        for away in
            ["https://api.example.com/v1", "http://10.0.0.7/v1", "http://localhost.example/v1"]
        {
            assert!(remote(away), "{away}");
        }
    }
}
