//! The sanitizer: compiled rules and the operations on them.

use std::sync::{Arc, LazyLock};

use crate::finding::{Class, Finding};
use crate::mask::{self, Masked};
use crate::rules::{RuleError, Rules};
use crate::sanitized::Sanitized;
use crate::{Policy, personal_data, scan};

/// A sanitizer with the built-in rules, and perhaps those of a team.
///
/// Rules take a moment to compile. A clone shares them, so create one sanitizer and clone it.
#[derive(Debug, Clone, Default)]
pub struct Sanitizer {
    /// The built-in rules and those of a team; `None` for the built-in rules alone.
    extended: Option<Arc<Rules>>,
}

impl Sanitizer {
    /// Creates a sanitizer with the built-in rules and those of `files`, each the text of a file of
    /// the form of `config/sanitizer.yaml`. If two formats match, that of the earlier file names
    /// the finding; the built-in rules are last.
    pub fn with_rules(files: &[&str]) -> Result<Self, RuleError> {
        Rules::parse(files).map(|rules| Self { extended: Some(Arc::new(rules)) })
    }

    /// Creates a sanitizer with the built-in rules but those of the categories, as if their issuers
    /// were unknown. With it, benchmarks measure what is found of an issuer without rules.
    pub fn without(categories: &[&str]) -> Self {
        let rules = Rules::parse_without(&[], categories).expect("the built-in rules are valid");
        Self { extended: Some(Arc::new(rules)) }
    }

    /// Returns the findings that the policy does not allow, in text order, without overlaps.
    pub fn find(&self, text: &str, policy: &Policy) -> Vec<Finding> {
        scan::scan(self.rules(), text, policy)
    }

    /// Replaces each finding by its placeholder, `[secret:<category>]` or `[personal:<category>]`.
    ///
    /// The result has as many lines as `text`; masking it again changes nothing.
    pub fn mask(&self, text: &str, policy: &Policy) -> Masked {
        mask::until_stable(text, |text| self.find(text, policy))
    }

    /// Returns the categories of the formats, in the order of trust.
    pub fn formats(&self) -> impl Iterator<Item = &'static str> {
        self.rules().formats.iter().map(|rule| rule.category)
    }

    /// Returns all categories, which are those that a policy may have an action for.
    pub fn categories(&self) -> impl Iterator<Item = &'static str> {
        let named = [scan::PASSWORD, scan::VALUE].into_iter().chain(personal_data::categories());
        self.formats().chain(named)
    }

    fn rules(&self) -> &Rules {
        match &self.extended {
            Some(rules) => rules,
            None => Rules::standard(),
        }
    }
}

/// Calls [`Sanitizer::find`] with the built-in rules.
pub fn find(text: &str, policy: &Policy) -> Vec<Finding> {
    Sanitizer::default().find(text, policy)
}

/// Calls [`Sanitizer::mask`] with the built-in rules.
pub fn mask_with(text: &str, policy: &Policy) -> Masked {
    Sanitizer::default().mask(text, policy)
}

/// Returns an identifier, such as a path or a qualified name, unchanged if it contains no secret
/// and no email address: masked, it would be another one.
pub fn identifier(text: &str) -> Option<Sanitized> {
    let is_revealing =
        |finding: &Finding| finding.class == Class::Secret || finding.category == "email";
    let is_harmless = !mask(text).findings.iter().any(is_revealing);
    is_harmless.then(|| Sanitized::masked(text.to_owned()))
}

/// Calls [`mask_with`] with the default policy.
pub fn mask(text: &str) -> Masked {
    static POLICY: LazyLock<Policy> = LazyLock::new(Policy::default);
    mask_with(text, &POLICY)
}
