//! The outcome of one question.

use mc_chat::Usage;
use serde::Serialize;

use super::figures::{Sides, Stated};
use super::questions::Question;

/// The outcome of a question.
#[derive(Debug)]
pub struct Outcome<'a> {
    /// The question.
    pub question: &'a Question,
    /// Facts that the answers state; they mean nothing for a question that failed.
    pub stated: Sides<Stated>,
    /// The answers so far.
    pub answers: Sides<Option<String>>,
    /// The bundle; `None` if the recall failed.
    pub bundle: Option<Bundle>,
    /// Tokens of the answers.
    pub usage: Sides<Usage>,
    /// Tokens of the model that scored them.
    pub scoring_usage: Usage,
    /// The request that failed, if one did.
    pub failure: Option<Failed>,
}

/// What is known about a bundle.
#[derive(Debug)]
pub struct Bundle {
    /// Whether the memory had nothing for the question.
    pub is_empty: bool,
    /// Whether a step of the recall was skipped.
    pub is_degraded: bool,
    /// For each fact, whether the bundle has one of its phrases; `None` for a fact without phrases.
    pub facts: Vec<Option<bool>>,
}

/// A request that failed.
#[derive(Debug, Serialize)]
pub struct Failed {
    /// The request.
    pub step: Step,
    /// Its error.
    pub error: String,
}

/// A request of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// The recall.
    Recall,
    /// The answer without the bundle.
    AnswerWithout,
    /// The answer with the bundle.
    AnswerWith,
    /// The score of the answer without the bundle.
    ScoreWithout,
    /// The score of the answer with the bundle.
    ScoreWith,
}

impl Step {
    /// Returns a function that makes an error of the request a failure.
    pub fn failed(self) -> impl FnOnce(String) -> Failed {
        move |error| Failed { step: self, error }
    }
}

impl<'a> Outcome<'a> {
    /// Creates the outcome of a question that no request was sent for.
    pub fn new(question: &'a Question) -> Self {
        let none = vec![false; question.expected.len()];
        Self {
            question,
            stated: Sides { without: none.clone(), with: none },
            answers: Sides::default(),
            bundle: None,
            usage: Sides::default(),
            scoring_usage: Usage::default(),
            failure: None,
        }
    }

    /// Records a failure. The question is in no figure: its sides are not comparable.
    pub fn fail(&mut self, failure: Failed) {
        self.failure = Some(failure);
    }

    /// Returns whether the answer without the bundle states a fact that the one with it does not.
    pub fn is_worse(&self) -> bool {
        let facts = self.stated.without.iter().zip(&self.stated.with);
        self.failure.is_none() && facts.into_iter().any(|(without, with)| *without && !with)
    }
}
