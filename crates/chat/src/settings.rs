//! Settings of chat models.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use url::Url;

use crate::{ChatRequest, Error, Usage};

/// What a model is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelRole {
    /// Judges saves: novelty, usefulness, contradiction.
    Judge,
    /// Distills saves, and answers the questions of an evaluation.
    Writer,
    /// Rewrites system prompts for the optimizer.
    Rewrite,
    /// Proposes patches. Without a model of this role, that of the writer does.
    Coder,
}

impl ModelRole {
    /// All roles.
    pub const ALL: [Self; 4] = [Self::Judge, Self::Writer, Self::Rewrite, Self::Coder];

    /// Returns the name in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Judge => "judge",
            Self::Writer => "writer",
            Self::Rewrite => "rewrite",
            Self::Coder => "coder",
        }
    }
}

impl fmt::Display for ModelRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The provider of a model, which decides its protocol, its URL and the variable of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatProviderName {
    /// `OpenAI`.
    #[serde(rename = "openai")]
    OpenAi,
    /// Anthropic.
    Anthropic,
    /// Ollama, by its own protocol.
    Ollama,
    /// LM Studio.
    LmStudio,
    /// Zhipu (GLM).
    Zhipu,
    /// Any server with `/v1/chat/completions`, such as vLLM; needs a `base_url`.
    #[serde(rename = "openai_compatible")]
    OpenAiCompatible,
    /// The client of an MCP session, which asks its own model by sampling. It has no server.
    McpSampling,
}

/// The protocol of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    OpenAi,
    Anthropic,
    Ollama,
}

impl ChatProviderName {
    /// Returns the protocol of the provider's server, if it has one.
    pub(crate) fn protocol(self) -> Option<Protocol> {
        match self {
            Self::Anthropic => Some(Protocol::Anthropic),
            Self::Ollama => Some(Protocol::Ollama),
            Self::OpenAi | Self::LmStudio | Self::Zhipu | Self::OpenAiCompatible => {
                Some(Protocol::OpenAi)
            }
            Self::McpSampling => None,
        }
    }

    /// Returns the URL to which the protocol's paths are appended.
    pub(crate) fn default_base_url(self) -> Option<&'static str> {
        match self {
            Self::OpenAi => Some("https://api.openai.com/v1"),
            Self::Anthropic => Some("https://api.anthropic.com/v1"),
            Self::Ollama => Some("http://localhost:11434"),
            Self::LmStudio => Some("http://localhost:1234/v1"),
            Self::Zhipu => Some("https://open.bigmodel.cn/api/paas/v4"),
            Self::OpenAiCompatible | Self::McpSampling => None,
        }
    }

    /// Returns the variable of the key that the provider's own tools read.
    pub(crate) fn default_key_variable(self) -> Option<&'static str> {
        match self {
            Self::OpenAi => Some("OPENAI_API_KEY"),
            Self::Anthropic => Some("ANTHROPIC_API_KEY"),
            Self::Zhipu => Some("ZHIPU_API_KEY"),
            Self::Ollama | Self::LmStudio | Self::OpenAiCompatible | Self::McpSampling => None,
        }
    }

    /// Returns how the provider's server is made to answer in JSON.
    pub(crate) fn structured_output(self) -> StructuredOutput {
        match self {
            Self::OpenAi | Self::Anthropic | Self::LmStudio | Self::OpenAiCompatible => {
                StructuredOutput::Schema
            }
            // Zhipu has no schema; the protocol of Ollama has one, which the client lacks.
            Self::Ollama | Self::Zhipu => StructuredOutput::Json,
            Self::McpSampling => StructuredOutput::Prompt,
        }
    }
}

/// How a server is made to answer in JSON. Every answer is checked by its schema all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StructuredOutput {
    /// The server enforces the schema.
    Schema,
    /// The server enforces JSON, and the prompt has the schema.
    Json,
    /// The prompt has the schema.
    Prompt,
}

/// Price of a million tokens, in any one currency.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Price {
    /// Of the prompt.
    pub prompt: f64,
    /// Of the completion.
    pub completion: f64,
}

impl Price {
    /// Returns the cost of tokens.
    pub fn of(self, usage: Usage) -> f64 {
        const MILLION: f64 = 1_000_000.0;
        #[expect(clippy::cast_precision_loss, reason = "tokens are far fewer than 2^53")]
        let cost = |tokens: u64, price: f64| tokens as f64 * price / MILLION;
        cost(usage.prompt_tokens, self.prompt) + cost(usage.completion_tokens, self.completion)
    }
}

/// Settings of one model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChatModelSettings {
    /// The provider.
    pub provider: ChatProviderName,
    /// Name of the model at the provider; a client of a session may use another one.
    #[serde(default)]
    pub model: String,
    /// What the model is used for.
    pub roles: Vec<ModelRole>,
    /// URL of the server; by default the provider's.
    #[serde(default)]
    pub base_url: Option<Url>,
    /// Environment variable of the API key; by default the provider's.
    #[serde(default)]
    pub api_key_env: Option<String>,
    /// File of the API key, read if `api_key_env` is absent.
    #[serde(default)]
    pub api_key_file: Option<PathBuf>,
    /// How the server is made to answer in JSON; by default as the provider's can.
    #[serde(default)]
    pub structured_output: Option<StructuredOutput>,
    /// Time limit of one answer, in seconds.
    #[serde(default = "defaults::timeout_seconds")]
    pub timeout_seconds: u64,
    /// Maximum size of a prompt, in bytes.
    #[serde(default = "defaults::max_prompt_bytes")]
    pub max_prompt_bytes: usize,
    /// Maximum size of an answer, in bytes.
    #[serde(default = "defaults::max_completion_bytes")]
    pub max_completion_bytes: usize,
    /// Maximum tokens of an answer, with those of hidden reasoning.
    #[serde(default = "defaults::max_completion_tokens")]
    pub max_completion_tokens: u32,
    /// Requests at a time.
    #[serde(default = "defaults::max_concurrent")]
    pub max_concurrent: usize,
    /// Price, for the recorded costs.
    #[serde(default)]
    pub price_per_million: Price,
}

mod defaults {
    pub(super) fn timeout_seconds() -> u64 {
        60
    }

    pub(super) fn max_prompt_bytes() -> usize {
        16 * 1024
    }

    pub(super) fn max_completion_bytes() -> usize {
        12 * 1024
    }

    pub(super) fn max_completion_tokens() -> u32 {
        4096
    }

    pub(super) fn max_concurrent() -> usize {
        4
    }
}

/// Settings of all chat models.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ChatSettings {
    /// The models, by a name of one's own choice.
    pub models: BTreeMap<String, ChatModelSettings>,
}

impl ChatSettings {
    /// Removes passwords from the URLs, so that the settings may be shown.
    pub fn mask_urls(&mut self) {
        for url in self.models.values_mut().filter_map(|model| model.base_url.as_mut()) {
            // A URL without a host can't have a password.
            let _ = url.set_password(None);
        }
    }
}

impl ChatModelSettings {
    /// Returns the URL of the server.
    pub(crate) fn base_url(&self) -> Result<Url, String> {
        let default = self.provider.default_base_url();
        let url = match (&self.base_url, default) {
            (Some(url), _) => url.clone(),
            (None, Some(default)) => Url::parse(default).expect("the URL of a provider"),
            (None, None) if self.provider == ChatProviderName::McpSampling => {
                return Err("is none for mcp_sampling".to_owned());
            }
            (None, None) => return Err("is required for openai_compatible".to_owned()),
        };
        let is_web = matches!(url.scheme(), "http" | "https") && url.password().is_none();
        if is_web {
            Ok(url)
        } else {
            Err("must be http(s)://host/... without a password".to_owned())
        }
    }

    /// Checks the numbers; the error is the field and its rule.
    pub(crate) fn check_limits(&self) -> Result<(), (&'static str, String)> {
        const MAX_BYTES: usize = 1024 * 1024;
        let completion_tokens = usize::try_from(self.max_completion_tokens).unwrap_or(usize::MAX);
        let timeout = usize::try_from(self.timeout_seconds).unwrap_or(usize::MAX);
        for (field, value, max) in [
            ("timeout_seconds", timeout, 600),
            ("max_prompt_bytes", self.max_prompt_bytes, MAX_BYTES),
            ("max_completion_bytes", self.max_completion_bytes, MAX_BYTES),
            ("max_completion_tokens", completion_tokens, 131_072),
            ("max_concurrent", self.max_concurrent, 64),
        ] {
            if !(1..=max).contains(&value) {
                return Err((field, format!("must be from 1 to {max}")));
            }
        }
        Ok(())
    }

    /// Checks the size of a prompt.
    pub(crate) fn check_prompt(&self, request: &ChatRequest) -> Result<(), Error> {
        let (bytes, max_bytes) = (request.bytes(), self.max_prompt_bytes);
        if bytes > max_bytes { Err(Error::PromptTooLarge { bytes, max_bytes }) } else { Ok(()) }
    }

    /// Returns the most tokens that a request may use: those of its prompt, and of the longest
    /// completion.
    pub(crate) fn max_tokens(&self, request: &ChatRequest) -> u64 {
        request.tokens() + u64::from(self.max_completion_tokens)
    }

    /// Returns whether texts stay on this machine. Where a client's own model runs is unknown.
    pub fn is_local(&self) -> bool {
        self.base_url().is_ok_and(|url| mc_domain::is_loopback(&url))
    }

    pub(crate) fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds)
    }
}
