//! What a model is asked.

use std::sync::Arc;

use mc_sanitizer::Sanitized;

use crate::{JsonAnswer, Usage};

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Instructions of the service.
    System,
    /// The question, with its data.
    User,
    /// An earlier answer of the model.
    Assistant,
}

/// A message of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its author.
    pub role: Role,
    /// Its text.
    pub text: Sanitized,
}

/// The form of the answer.
#[derive(Debug, Clone, Default)]
pub enum AnswerFormat {
    /// Text of any form.
    #[default]
    Text,
    /// JSON that a schema describes.
    Json(Arc<JsonAnswer>),
}

/// A request for one completion.
#[derive(Debug, Clone, Default)]
pub struct ChatRequest {
    /// The conversation; the last message is the user's.
    pub messages: Vec<Message>,
    /// The form of the answer.
    pub format: AnswerFormat,
    /// Randomness of the answer, from 0 to 2; by default the model's own.
    pub temperature: Option<f64>,
    /// Seed of the randomness, for models that support one.
    pub seed: Option<u64>,
}

impl ChatRequest {
    /// Returns a request with instructions and a question.
    pub fn new(instructions: Sanitized, question: Sanitized) -> Self {
        let message = |role, text| Message { role, text };
        let messages = vec![message(Role::System, instructions), message(Role::User, question)];
        Self { messages, ..Self::default() }
    }

    /// Requests the most likely answer: greedy decoding, at temperature 0.
    #[must_use]
    pub fn greedy(self) -> Self {
        Self { temperature: Some(0.0), ..self }
    }

    /// Requests JSON.
    #[must_use]
    pub fn with_json(self, answer: Arc<JsonAnswer>) -> Self {
        Self { format: AnswerFormat::Json(answer), ..self }
    }

    /// Returns the size of all messages, in bytes.
    pub fn bytes(&self) -> usize {
        self.messages.iter().map(|message| message.text.as_str().len()).sum()
    }

    /// Returns the tokens of the request with an answer that the provider did not count, estimated.
    pub fn usage(&self, answer: &str) -> Usage {
        Usage { prompt_tokens: self.tokens(), completion_tokens: mc_tokens::count(answer) as u64 }
    }

    /// Returns the number of tokens of all messages, estimated.
    pub(crate) fn tokens(&self) -> u64 {
        let count = |message: &Message| mc_tokens::count(message.text.as_str()) as u64;
        self.messages.iter().map(count).sum()
    }
}
