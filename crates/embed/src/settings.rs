//! What is configured about embeddings.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::QueryCache;

/// Where vectors come from. Kept with the model in the database, so it holds no secret: a key is
/// named by the environment variable or the file it is read from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "provider", rename_all = "snake_case", deny_unknown_fields)]
pub enum ProviderSettings {
    /// A folder with `model.onnx`, `tokenizer.json` and the tokenizer's three small JSON files.
    Folder {
        /// The folder.
        dir: PathBuf,
        /// The model's name; the folder's by default.
        #[serde(default)]
        name: Option<String>,
    },
    /// A model of the Hugging Face hub (or of the mirror that `HF_ENDPOINT` names).
    Hub {
        /// Repository (`intfloat/multilingual-e5-small`) or fastembed's name (`MultilingualE5Small`).
        model: String,
        /// Where downloads are kept.
        cache_dir: PathBuf,
    },
    /// A server that speaks `OpenAI`'s `/v1/embeddings`: `OpenAI`, Ollama, LM Studio, TEI, vLLM.
    #[serde(rename = "openai")]
    OpenAi {
        /// The address up to and with `/v1`.
        base_url: url::Url,
        /// The model as the server names it.
        model: String,
        /// The environment variable that holds the key, where one is needed.
        #[serde(default)]
        api_key_env: Option<String>,
        /// The file that holds the key, where one is needed; read when the variable is not named.
        #[serde(default)]
        api_key_file: Option<PathBuf>,
        /// Asks the server for vectors of this size. Without it, the size is the model's own and is
        /// learnt by embedding one word.
        #[serde(default)]
        dimensions: Option<usize>,
    },
}

impl ProviderSettings {
    /// Whether texts leave this machine for its vectors.
    pub fn is_remote(&self) -> bool {
        let Self::OpenAi { base_url, .. } = self else { return false };
        match base_url.host() {
            Some(url::Host::Ipv4(address)) => !address.is_loopback(),
            Some(url::Host::Ipv6(address)) => !address.is_loopback(),
            Some(url::Host::Domain(name)) => name != "localhost",
            None => true,
        }
    }
}

/// How the work is done; the same for every provider.
#[derive(Debug, Clone)]
pub struct RuntimeSettings {
    /// The ONNX runtime's shared library; looked for where the system keeps libraries by default.
    pub onnx_library: Option<PathBuf>,
    /// Threads for local models; as many as there are processors by default.
    pub threads: Option<usize>,
    /// Most texts in one request to a server.
    pub max_batch: usize,
    /// Queries whose vectors are remembered; 0 for none.
    pub query_cache: u64,
    /// Where those are looked for that this process does not remember.
    pub shared_queries: Option<Arc<dyn QueryCache>>,
    /// How long one request to a server may take.
    pub request_timeout: Duration,
    /// How often a failed request is sent again.
    pub max_retries: usize,
    /// The wait before the first retry; each further one is twice as long, up to 30 s, with jitter.
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
    fn only_a_server_on_this_machine_keeps_texts_on_it() {
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
