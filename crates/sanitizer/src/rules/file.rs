//! The form of a rule file; `config/sanitizer.yaml` explains each key.

use std::collections::HashSet;

use regex::Regex;
use serde::Deserialize;

use super::Rule;
use crate::allowlist::Allowed;
use crate::assignment::{Names, Strength};
use crate::finding::category;
use crate::validators::Check;

/// Why a rule file was refused.
#[derive(Debug, thiserror::Error)]
pub enum RuleError {
    /// It is no YAML of the form that `config/sanitizer.yaml` explains.
    #[error("not a rule file: {0}")]
    Form(#[from] serde_norway::Error),
    /// A field of a rule holds what it cannot.
    #[error("rule {category}, field {field}: {reason}")]
    Field {
        /// The rule's category.
        category: String,
        /// The field.
        field: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A list of patterns holds one that is none.
    #[error("field {field}: {reason}")]
    List {
        /// The list.
        field: &'static str,
        /// What is wrong with the pattern.
        reason: String,
    },
    /// The keywords are too many to look for at once.
    #[error("the keywords of all rules: {0}")]
    Keywords(aho_corasick::BuildError),
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    rules: Vec<RawRule>,
    names: RawNames,
    claimed: Vec<String>,
    stand_ins: Vec<String>,
    allow: RawAllow,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRule {
    category: String,
    keywords: Vec<String>,
    pattern: String,
    #[serde(default)]
    check: Check,
    entropy: Option<f32>,
    before: Option<usize>,
    reach: Option<usize>,
    confidence: Option<f32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawNames {
    chosen: Vec<String>,
    generated: Vec<String>,
    weak: Vec<String>,
    qualifiers: HashSet<String>,
    kinds: HashSet<String>,
    aspects: HashSet<String>,
    denials: HashSet<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawAllow {
    values: HashSet<String>,
    digests: HashSet<String>,
    patterns: Vec<String>,
}

/// One rule file, or several in a row.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    /// Each rule with its keywords.
    pub formats: Vec<(Rule, Vec<String>)>,
    pub words: Vec<(String, Strength)>,
    pub names: Names,
    pub allowed: Allowed,
}

impl Parsed {
    pub(super) fn followed_by(mut self, next: Self) -> Self {
        self.formats.extend(next.formats);
        self.words.extend(next.words);
        self.names.extend(next.names);
        self.allowed.extend(next.allowed);
        self
    }
}

pub(super) fn parse(text: &str) -> Result<Parsed, RuleError> {
    let file: File = serde_norway::from_str(text)?;
    let formats = file.rules.into_iter().map(compile).collect::<Result<_, _>>()?;
    let of = |words: Vec<String>, strength| words.into_iter().map(move |word| (word, strength));
    let words = of(file.names.chosen, Strength::Chosen)
        .chain(of(file.names.generated, Strength::Generated))
        .chain(of(file.names.weak, Strength::Weak));
    Ok(Parsed {
        formats,
        words: words.collect(),
        names: Names {
            qualifiers: file.names.qualifiers,
            kinds: file.names.kinds,
            aspects: file.names.aspects,
            denials: file.names.denials,
            stand_ins: file.stand_ins,
            claimed: patterns(&file.claimed, "claimed")?,
        },
        allowed: allowed(file.allow)?,
    })
}

/// Bits a character, where a rule doesn't say: below, a value repeats itself.
const ENTROPY: f32 = 2.5;

/// Bytes before a keyword, where a rule doesn't say: most formats begin with theirs.
const BEFORE: usize = 4;

/// Bytes behind a keyword, where a rule doesn't say.
const REACH: usize = 256;

fn compile(raw: RawRule) -> Result<(Rule, Vec<String>), RuleError> {
    let fault = |field, reason: &dyn ToString| RuleError::Field {
        category: raw.category.clone(),
        field,
        reason: reason.to_string(),
    };
    let is_name = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if raw.category.is_empty() || !raw.category.bytes().all(is_name) {
        return Err(fault("category", &"lower-case letters, digits and hyphens only"));
    }
    if raw.keywords.is_empty() || raw.keywords.iter().any(String::is_empty) {
        return Err(fault("keywords", &"name at least one, and none that is empty"));
    }
    let confidence = raw.confidence.unwrap_or(raw.check.confidence());
    if !(0.0..=1.0).contains(&confidence) {
        return Err(fault("confidence", &"a number from 0 to 1"));
    }
    let pattern = Regex::new(&raw.pattern).map_err(|error| fault("pattern", &error))?;
    if pattern.is_match("") {
        return Err(fault("pattern", &"it matches the empty text"));
    }
    let names_secret = pattern.capture_names().any(|name| name == Some("s"));
    let pattern = if names_secret { pattern } else { standing_alone(&raw.pattern) };
    let rule = Rule {
        category: category(&raw.category),
        pattern,
        check: raw.check,
        entropy: raw.entropy.unwrap_or(ENTROPY),
        before: raw.before.unwrap_or(BEFORE),
        reach: raw.reach.unwrap_or(REACH),
        confidence,
    };
    Ok((rule, raw.keywords))
}

/// The pattern where neither letter nor digit stands before it. An underscore may: file names are put
/// together with it.
fn standing_alone(pattern: &str) -> Regex {
    Regex::new(&format!("(?:^|[^A-Za-z0-9])(?P<s>{pattern})"))
        .expect("it compiled without the frame")
}

fn allowed(raw: RawAllow) -> Result<Allowed, RuleError> {
    let patterns = patterns(&raw.patterns, "patterns")?;
    Ok(Allowed { values: raw.values, digests: raw.digests, patterns })
}

fn patterns(texts: &[String], field: &'static str) -> Result<Vec<Regex>, RuleError> {
    let compile = |text: &String| {
        Regex::new(text).map_err(|error| RuleError::List { field, reason: error.to_string() })
    };
    texts.iter().map(compile).collect()
}
