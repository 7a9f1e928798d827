//! A set of rules, ready to be used.

use std::sync::{Arc, LazyLock};

use crate::finding::{Class, Finding};
use crate::mask::{self, Masked};
use crate::rules::{RuleError, Rules};
use crate::sanitized::Sanitized;
use crate::{Policy, personal_data, scan};

/// Finds and masks by the rules that are part of the program, and perhaps those of a team.
///
/// Compiling takes a moment, cloning doesn't: make one and share it.
#[derive(Debug, Clone)]
pub struct Sanitizer {
    rules: Source,
}

#[derive(Debug, Clone)]
enum Source {
    Standard,
    Extended(Arc<Rules>),
}

impl Default for Sanitizer {
    /// By the rules that are part of the program.
    fn default() -> Self {
        Self { rules: Source::Standard }
    }
}

impl Sanitizer {
    /// By the rules that are part of the program and those of further rule files, given as text in
    /// the form of `config/sanitizer.yaml`. Where two formats match, those of the first file name it.
    pub fn with_rules(files: &[&str]) -> Result<Self, RuleError> {
        Rules::read(files).map(|rules| Self { rules: Source::Extended(Arc::new(rules)) })
    }

    /// What is in `text` that the policy doesn't allow: in its order, not overlapping.
    pub fn find(&self, text: &str, policy: &Policy) -> Vec<Finding> {
        scan::scan(self.rules(), text, policy)
    }

    /// Replaces each find by its placeholder, `[secret:<category>]` or `[personal:<category>]`.
    ///
    /// The answer has as many lines as `text`; masking it again changes nothing.
    pub fn mask(&self, text: &str, policy: &Policy) -> Masked {
        mask::until_stable(text, |text| self.find(text, policy))
    }

    /// The categories of the formats there are rules for, in the order of trust.
    pub fn formats(&self) -> impl Iterator<Item = &'static str> {
        self.rules().formats.iter().map(|rule| rule.category)
    }

    /// Every category that a find may have, and that a policy may have an action for.
    pub fn categories(&self) -> impl Iterator<Item = &'static str> {
        let named = [scan::PASSWORD, scan::VALUE].into_iter().chain(personal_data::CATEGORIES);
        self.formats().chain(named)
    }

    fn rules(&self) -> &Rules {
        match &self.rules {
            Source::Standard => Rules::standard(),
            Source::Extended(rules) => rules,
        }
    }
}

/// [`Sanitizer::find`] by the rules that are part of the program.
pub fn find(text: &str, policy: &Policy) -> Vec<Finding> {
    Sanitizer::default().find(text, policy)
}

/// [`Sanitizer::mask`] by the rules that are part of the program.
pub fn mask_with(text: &str, policy: &Policy) -> Masked {
    Sanitizer::default().mask(text, policy)
}

/// Returns an identifier, such as a path or a qualified name, unchanged if it contains no secret and
/// no email address: masked, it would be another one.
pub fn identifier(text: &str) -> Option<Sanitized> {
    let is_revealing = |find: &Finding| find.class == Class::Secret || find.category == "email";
    if mask(text).finds.iter().any(is_revealing) {
        None
    } else {
        Some(Sanitized::unchanged(text.to_owned()))
    }
}

/// [`mask_with`] the default policy.
pub fn mask(text: &str) -> Masked {
    static POLICY: LazyLock<Policy> = LazyLock::new(Policy::default);
    mask_with(text, &POLICY)
}
