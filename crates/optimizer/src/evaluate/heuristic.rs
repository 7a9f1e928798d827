//! A score without a model.

use std::collections::BTreeSet;

use futures::FutureExt;
use futures::future::{self, BoxFuture};

use super::{Case, Evaluate, Evaluation, EvaluationError};
use crate::material::{CandidateExample, FrequentError, Material};
use crate::prompt::{Item, Limits, Prompt, Section};

/// Hit rate of an example that the material does not know.
const UNKNOWN_HIT_RATE: f64 = 0.3;

/// Share of an error's words that an item must contain to count as a text about it.
const WORDS_IN_COMMON: f64 = 0.5;

/// Words with fewer characters say little about the subject of a text.
const MIN_WORD_CHARS: usize = 4;

/// Weights of coverage, hit rate, redundancy and length.
const WEIGHTS: [f64; 4] = [0.5, 0.2, 0.15, 0.15];

/// Scores a prompt on a case without a model. It knows only what the prompt says, not what a model
/// does with it, so a gain is a reason for a canary and no proof.
pub struct Heuristic<'a> {
    material: &'a Material,
    limits: Limits,
}

/// Parts of a heuristic score, each from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeuristicParts {
    /// Share of the case's errors, or of all frequent errors if it has none, that an item is about.
    pub coverage: f64,
    /// Mean hit rate of the examples: of those against an error of the case, if there are any.
    /// Without examples it is the rate of an unknown example.
    pub hit_rate: f64,
    /// 1 without redundancy: 1 minus the largest share of words that two items have in common.
    pub distinctness: f64,
    /// 1 for an empty prompt, and 0 for one at the limit of tokens.
    pub brevity: f64,
}

impl<'a> Heuristic<'a> {
    /// Creates the score of a project.
    pub fn new(material: &'a Material, limits: Limits) -> Self {
        Self { material, limits }
    }

    /// Returns the parts of a score.
    pub fn parts(&self, prompt: &Prompt, case: &Case) -> HeuristicParts {
        let used = prompt.size().tokens as f64 / self.limits.max_tokens.max(1) as f64;
        HeuristicParts {
            coverage: self.coverage(prompt, case),
            hit_rate: self.hit_rate(prompt, case),
            distinctness: 1.0 - redundancy(prompt),
            brevity: (1.0 - used).max(0.0),
        }
    }

    fn coverage(&self, prompt: &Prompt, case: &Case) -> f64 {
        let all = self.material.errors.iter();
        let own: Vec<_> = all.clone().filter(|error| case.errors.contains(&error.id)).collect();
        let errors = if own.is_empty() { all.collect() } else { own };
        let weight = |error: &&FrequentError| f64::from(error.count.max(1));
        let total: f64 = errors.iter().map(weight).sum();
        let is_covered = |error: &&&FrequentError| {
            prompt.all_items().any(|(section, item)| self.is_about(section, item, error))
        };
        let covered: f64 = errors.iter().filter(is_covered).map(weight).sum();
        if total > 0.0 { covered / total } else { 1.0 }
    }

    fn is_about(&self, section: Section, item: &Item, error: &FrequentError) -> bool {
        if self.material.errors_of(section, &item.id).contains(&error.id) {
            return true;
        }
        let (error_words, item_words) = (words(&error.description), words(&item.text));
        let common = error_words.intersection(&item_words).count() as f64;
        !error_words.is_empty() && common >= WORDS_IN_COMMON * error_words.len() as f64
    }

    fn hit_rate(&self, prompt: &Prompt, case: &Case) -> f64 {
        let rate = |item: &&Item| {
            self.material.example(&item.id).map_or(UNKNOWN_HIT_RATE, CandidateExample::hit_rate)
        };
        let is_relevant = |item: &&&Item| {
            let errors = self.material.errors_of(Section::Examples, &item.id);
            errors.iter().any(|error| case.errors.contains(error))
        };
        let all: Vec<&Item> = prompt.items(Section::Examples).iter().collect();
        let relevant: Vec<&Item> = all.iter().filter(is_relevant).copied().collect();
        let chosen = if relevant.is_empty() { all } else { relevant };
        if chosen.is_empty() {
            return UNKNOWN_HIT_RATE;
        }
        chosen.iter().map(rate).sum::<f64>() / chosen.len() as f64
    }
}

impl HeuristicParts {
    /// Returns the weighted score.
    pub fn score(self) -> f64 {
        let parts = [self.coverage, self.hit_rate, self.distinctness, self.brevity];
        parts.iter().zip(WEIGHTS).map(|(part, weight)| part * weight).sum::<f64>().clamp(0.0, 1.0)
    }
}

impl Evaluate for Heuristic<'_> {
    fn evaluate<'a>(
        &'a self,
        prompt: &'a Prompt,
        case: &'a Case,
    ) -> BoxFuture<'a, Result<Evaluation, EvaluationError>> {
        let score = self.parts(prompt, case).score();
        future::ready(Ok(Evaluation { score, feedback: None })).boxed()
    }
}

/// Returns the largest similarity of two items, by the words that they have in common.
fn redundancy(prompt: &Prompt) -> f64 {
    let words: Vec<_> = prompt.all_items().map(|(_, item)| words(&item.text)).collect();
    let pairs = words.iter().enumerate().flat_map(|(i, a)| words[..i].iter().map(move |b| (a, b)));
    pairs.map(|(a, b)| similarity(a, b)).fold(0.0, f64::max)
}

/// Returns the Jaccard similarity.
fn similarity(a: &BTreeSet<String>, b: &BTreeSet<String>) -> f64 {
    let common = a.intersection(b).count();
    let all = a.len() + b.len() - common;
    if all == 0 { 0.0 } else { common as f64 / all as f64 }
}

fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    words.filter(|word| word.chars().count() >= MIN_WORD_CHARS).collect()
}
