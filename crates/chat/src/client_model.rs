//! The own models of MCP clients, which a session asks by MCP sampling. The service can't ask them
//! by itself: only the MCP server has the session.

use std::sync::Arc;

use crate::settings::defaults;
use crate::{
    ChatModel, ChatModelSettings, ChatProvider, ChatProviderName, Error, ModelRole, Price,
};

/// Limits of one answer of a client's model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientModelLimits {
    /// Time limit, in seconds, with that of the person whom the client asks.
    pub timeout_seconds: u64,
    /// Maximum size, in bytes.
    pub max_completion_bytes: usize,
    /// Maximum number of tokens.
    pub max_completion_tokens: u32,
}

/// The configured use of the models of MCP clients.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientModel {
    name: String,
    settings: ChatModelSettings,
}

impl ClientModel {
    /// Reads the settings.
    pub(crate) fn open(name: &str, settings: &ChatModelSettings) -> Result<Self, Error> {
        let invalid = |field, rule: &str| {
            Err(Error::Settings { model: name.to_owned(), field, rule: rule.to_owned() })
        };
        if settings.roles.iter().any(|role| *role != ModelRole::Judge) {
            return invalid("roles", "can only be [judge]: a client is asked while it saves");
        }
        if settings.base_url.is_some() {
            return invalid("base_url", "can't be set: mcp_sampling has no server");
        }
        if settings.api_key_env.is_some() || settings.api_key_file.is_some() {
            return invalid("api_key_env", "can't be set: the client has the key of its model");
        }
        Ok(Self { name: name.to_owned(), settings: settings.clone() })
    }

    /// Creates the use of a client's model by a session. `hint` is the name of the preferred
    /// model; the client chooses.
    pub fn new(name: &str, hint: &str, limits: ClientModelLimits) -> Self {
        let ClientModelLimits { timeout_seconds, max_completion_bytes, max_completion_tokens } =
            limits;
        let settings = ChatModelSettings {
            provider: ChatProviderName::McpSampling,
            model: hint.to_owned(),
            roles: vec![ModelRole::Judge],
            base_url: None,
            api_key_env: None,
            api_key_file: None,
            structured_output: None,
            timeout_seconds,
            max_prompt_bytes: defaults::max_prompt_bytes(),
            max_completion_bytes,
            max_completion_tokens,
            max_concurrent: 1,
            price_per_million: Price::default(),
        };
        Self { name: name.to_owned(), settings }
    }

    /// Returns the model of a session, whose client `provider` asks.
    pub fn of_session(&self, provider: Arc<dyn ChatProvider>) -> ChatModel {
        ChatModel::new(&self.name, self.settings.clone(), provider)
    }

    /// Returns the name in the configuration.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name of the preferred model; empty if any will do.
    pub fn hint(&self) -> &str {
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

    /// Returns the limits of one answer.
    pub fn limits(&self) -> ClientModelLimits {
        ClientModelLimits {
            timeout_seconds: self.settings.timeout_seconds,
            max_completion_bytes: self.settings.max_completion_bytes,
            max_completion_tokens: self.settings.max_completion_tokens,
        }
    }
}
