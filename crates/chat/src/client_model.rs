//! The models of MCP clients. The MCP server asks a client by sampling, in its session; the service
//! can't send a request by itself. So this reads answers only.

use crate::{
    Answer, AnswerFormat, ChatModelSettings, ChatRequest, Content, Error, ModelRole, Price,
};

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
        if settings.roles != [ModelRole::Judge] {
            return invalid("roles", "must be [judge]: a client is asked after a save");
        }
        let unused = [
            ("base_url", settings.base_url.is_some()),
            ("api_key_env", settings.api_key_env.is_some()),
            ("api_key_file", settings.api_key_file.is_some()),
            ("structured_output", settings.structured_output.is_some()),
        ];
        match unused.into_iter().find(|(_, is_set)| *is_set) {
            Some((field, _)) => invalid(field, "can't be set: mcp_sampling has no server"),
            None => Ok(Self { name: name.to_owned(), settings: settings.clone() }),
        }
    }

    /// Reads an answer to a request: its text is masked and has the requested form.
    pub fn read(&self, answer: &Answer, format: &AnswerFormat) -> Result<Content, Error> {
        let max_bytes = self.settings.max_completion_bytes;
        if answer.text.len() > max_bytes {
            return Err(Error::AnswerTooLarge { max_bytes });
        }
        Content::read(answer, format, &self.name, &self.settings)
    }

    /// Returns the error for an answer with a defect, which quotes nothing of it.
    pub fn bad_answer(&self, defect: &str) -> Error {
        Error::BadAnswer { model: self.name.clone(), defect: defect.to_owned() }
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

    /// Returns the time limit of one answer, in seconds.
    pub fn timeout_seconds(&self) -> u64 {
        self.settings.timeout_seconds
    }

    /// Returns the maximum size of an answer, in bytes.
    pub fn max_completion_bytes(&self) -> usize {
        self.settings.max_completion_bytes
    }

    /// Returns the maximum number of tokens of an answer.
    pub fn max_completion_tokens(&self) -> u32 {
        self.settings.max_completion_tokens
    }

    /// Returns the most tokens that a request may use. Fails if its prompt is too large.
    pub fn max_tokens(&self, request: &ChatRequest) -> Result<u64, Error> {
        self.settings.check_prompt(request)?;
        Ok(self.settings.max_tokens(request))
    }
}
