//! The form of a rule file; `config/sanitizer.yaml` explains each key.

use std::collections::HashSet;

use regex::Regex;
use serde::Deserialize;

use super::Rule;
use super::boundary::delimited;
use crate::allowlist::Allowlist;
use crate::assignment::{Names, Strength};
use crate::finding::category;
use crate::validators::Validator;

/// The error of an invalid rule file.
#[derive(Debug, thiserror::Error)]
pub enum RuleError {
    /// The text is not YAML of the form that `config/sanitizer.yaml` documents.
    #[error("not a rule file: {0}")]
    Form(#[from] serde_norway::Error),
    /// A field of a rule has an invalid value.
    #[error("rule {category}, field {field}: {reason}")]
    Field {
        /// The rule's category.
        category: String,
        /// Name of the invalid field.
        field: &'static str,
        /// The violated rule, or the error of the regex.
        reason: String,
    },
    /// A list contains an empty word or an invalid regex.
    #[error("field {field}: {reason}")]
    List {
        /// The list.
        field: &'static str,
        /// The violated rule, or the error of the regex.
        reason: String,
    },
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    rules: Vec<RuleEntry>,
    names: NamesEntry,
    stand_ins: Vec<String>,
    allow: AllowEntry,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleEntry {
    category: String,
    keywords: Vec<String>,
    regex: String,
    #[serde(default)]
    validator: Validator,
    claims: Option<String>,
    min_entropy: Option<f32>,
    max_bytes_before: Option<usize>,
    max_bytes_after: Option<usize>,
    confidence: Option<f32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct NamesEntry {
    human_chosen: Vec<String>,
    random: Vec<String>,
    weak: Vec<String>,
    qualifiers: HashSet<String>,
    kinds: HashSet<String>,
    aspects: HashSet<String>,
    denials: HashSet<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct AllowEntry {
    values: HashSet<String>,
    digests: HashSet<String>,
    regexes: Vec<String>,
}

/// The contents of one or several rule files.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    /// Each rule with its keywords.
    pub formats: Vec<(Rule, Vec<String>)>,
    pub words: Vec<(String, Strength)>,
    pub names: Names,
    pub allowed: Allowlist,
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
    let mut words = Vec::new();
    for (field, list, strength) in [
        ("human_chosen", file.names.human_chosen, Strength::HumanChosen),
        ("random", file.names.random, Strength::Random),
        ("weak", file.names.weak, Strength::Weak),
    ] {
        if list.iter().any(String::is_empty) {
            return Err(RuleError::List { field, reason: "must have no empty word".to_owned() });
        }
        words.extend(list.into_iter().map(|word| (word, strength)));
    }
    Ok(Parsed {
        formats,
        words,
        names: Names {
            qualifiers: file.names.qualifiers,
            kinds: file.names.kinds,
            aspects: file.names.aspects,
            denials: file.names.denials,
            stand_ins: file.stand_ins,
            claimed: Vec::new(),
        },
        allowed: Allowlist {
            values: file.allow.values,
            digests: file.allow.digests,
            regexes: regexes(&file.allow.regexes, "regexes")?,
        },
    })
}

/// Default of `min_entropy`, in bits per character: below, a value repeats itself.
const MIN_ENTROPY: f32 = 2.5;

/// Default of `max_bytes_before`: most formats begin with their keyword.
const MAX_BYTES_BEFORE: usize = 4;

/// Default of `max_bytes_after`.
const MAX_BYTES_AFTER: usize = 256;

fn compile(entry: RuleEntry) -> Result<(Rule, Vec<String>), RuleError> {
    let error = |field, reason: &dyn ToString| RuleError::Field {
        category: entry.category.clone(),
        field,
        reason: reason.to_string(),
    };
    let is_name = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if entry.category.is_empty() || !entry.category.bytes().all(is_name) {
        return Err(error("category", &"must be lower-case letters, digits and hyphens"));
    }
    if entry.keywords.is_empty() || entry.keywords.iter().any(String::is_empty) {
        return Err(error("keywords", &"must have at least one keyword, and no empty one"));
    }
    let confidence = entry.confidence.unwrap_or(entry.validator.confidence());
    if !(0.0..=1.0).contains(&confidence) {
        return Err(error("confidence", &"must be from 0 to 1"));
    }
    let regex = Regex::new(&entry.regex).map_err(|invalid| error("regex", &invalid))?;
    if regex.is_match("") {
        return Err(error("regex", &"must not match the empty text"));
    }
    let has_secret_group = regex.capture_names().any(|name| name == Some("s"));
    let delimited = || delimited(&entry.regex).map_err(|invalid| error("regex", &invalid));
    let regex = if has_secret_group { regex } else { delimited()? };
    let claims = entry.claims.as_deref().map(Regex::new).transpose();
    let claims = claims.map_err(|invalid| error("claims", &invalid))?;
    let rule = Rule {
        category: category(&entry.category),
        regex,
        validator: entry.validator,
        claims,
        min_entropy: entry.min_entropy.unwrap_or(MIN_ENTROPY),
        max_bytes_before: entry.max_bytes_before.unwrap_or(MAX_BYTES_BEFORE),
        max_bytes_after: entry.max_bytes_after.unwrap_or(MAX_BYTES_AFTER),
        confidence,
    };
    Ok((rule, entry.keywords))
}

fn regexes(texts: &[String], field: &'static str) -> Result<Vec<Regex>, RuleError> {
    let compile = |text: &String| {
        Regex::new(text).map_err(|error| RuleError::List { field, reason: error.to_string() })
    };
    texts.iter().map(compile).collect()
}
