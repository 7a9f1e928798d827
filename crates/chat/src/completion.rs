//! What a model answered.

use std::iter::Sum;
use std::ops::Add;

use mc_sanitizer::{Sanitized, mask};
use serde_json::Value;

use crate::{Answer, AnswerEnd, AnswerFormat, ChatModelSettings, Error};

/// Tokens that a request used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt_tokens: u64,
    /// Tokens of the completion, with those of hidden reasoning.
    pub completion_tokens: u64,
}

impl Usage {
    /// Returns all tokens.
    pub fn total(self) -> u64 {
        self.prompt_tokens + self.completion_tokens
    }
}

impl Add for Usage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            prompt_tokens: self.prompt_tokens + other.prompt_tokens,
            completion_tokens: self.completion_tokens + other.completion_tokens,
        }
    }
}

impl Sum for Usage {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Add::add)
    }
}

/// The content of a completion, masked.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Text.
    Text(Sanitized),
    /// JSON of the requested schema, with its texts masked.
    Json(Value),
}

impl Content {
    /// Reads the answer of a model with this name and these settings: masks it, and checks that it
    /// is complete and has the requested form.
    pub(crate) fn read(
        answer: &Answer,
        format: &AnswerFormat,
        model: &str,
        settings: &ChatModelSettings,
    ) -> Result<Self, Error> {
        let model = model.to_owned();
        match answer.end {
            AnswerEnd::Complete => {}
            AnswerEnd::TokenLimit => {
                return Err(Error::TokenLimit {
                    model,
                    max_tokens: settings.max_completion_tokens,
                });
            }
            AnswerEnd::Declined => return Err(Error::Declined { model }),
        }
        if answer.text.trim().is_empty() {
            return Err(Error::BadAnswer { model, defect: "an empty answer".to_owned() });
        }
        match format {
            AnswerFormat::Text => Ok(Self::Text(mask(&answer.text).text)),
            AnswerFormat::Json(json) => {
                let value = json.parse(&answer.text);
                value.map(Self::Json).map_err(|defect| Error::BadAnswer { model, defect })
            }
        }
    }
}

/// A completion of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Completion {
    /// Its content.
    pub content: Content,
    /// The tokens that it used.
    pub usage: Usage,
}
