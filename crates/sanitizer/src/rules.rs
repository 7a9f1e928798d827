//! The rules, parsed from rule files and compiled.

mod boundary;
mod file;

use std::sync::LazyLock;

use regex::Regex;

use crate::allowlist::Allowlist;
use crate::assignment::{Names, Strength};
use crate::decode::{JOIN_SIGNS, QUOTED_SIGNS, end_of_wrapped_line, reference_signs};
use crate::finding::category;
use crate::keyword_scan::KeywordScan;
use crate::keywords::Keywords;
use crate::validators::Validator;
pub use file::RuleError;

/// The text of the built-in rule file.
const STANDARD: &str = include_str!("../../../config/sanitizer.yaml");

/// The rule for one format of secret.
#[derive(Debug)]
pub(crate) struct Rule {
    pub category: &'static str,
    /// The format; its group `s` is the secret.
    pub regex: Regex,
    pub validator: Validator,
    /// Values of this form are left to this rule, even next to a name.
    pub claims: Option<Regex>,
    /// Minimum Shannon entropy of the secret, in bits per character.
    pub min_entropy: f32,
    /// Maximum distance of the match's start before a keyword.
    pub max_bytes_before: usize,
    /// Distance after a keyword within which the match must be complete.
    pub max_bytes_after: usize,
    pub confidence: f32,
}

/// All rules, with one set of all their keywords.
#[derive(Debug)]
pub(crate) struct Rules {
    /// The formats, in the order of trust. A rank is an index in this list.
    pub formats: Vec<Rule>,
    pub names: Names,
    pub allowed: Allowlist,
    /// Categories whose rules are left out.
    pub excluded: Vec<&'static str>,
    keywords: Keywords,
    /// The meaning of each keyword, by its index in the set.
    meanings: Vec<Meaning>,
}

/// The meaning of a keyword.
#[derive(Debug, Clone, Copy)]
enum Meaning {
    /// Belongs to the format of this rank.
    Format(usize),
    /// Is part of the name of a secret.
    Name(Strength),
    /// May concatenate two parts of a text.
    Join,
    /// May be a character reference of HTML.
    Reference,
    /// May be encoded in quoted-printable.
    Quoted,
    /// May begin a here-document.
    Document,
}

impl Rules {
    /// Returns the built-in rules.
    pub(crate) fn standard() -> &'static Self {
        static RULES: LazyLock<Rules> = LazyLock::new(|| {
            Rules::parse(&[]).unwrap_or_else(|error| panic!("config/sanitizer.yaml: {error}"))
        });
        &RULES
    }

    /// Compiles the rules of `files` (the text of each), followed by the built-in ones. A team
    /// knows its own formats best, so its rules have the lower ranks.
    pub(crate) fn parse(files: &[&str]) -> Result<Self, RuleError> {
        Self::parse_without(files, &[])
    }

    /// [`Self::parse`], without the rules of some categories.
    pub(crate) fn parse_without(files: &[&str], excluded: &[&str]) -> Result<Self, RuleError> {
        let texts = files.iter().copied().chain([STANDARD]);
        let mut merged =
            texts.map(file::parse).try_fold(file::Parsed::default(), |all, next| {
                Ok::<_, RuleError>(all.followed_by(next?))
            })?;
        merged.formats.retain(|(rule, _)| !excluded.contains(&rule.category));
        merged.names.claimed =
            merged.formats.iter().filter_map(|(rule, _)| rule.claims.clone()).collect();
        let formats = merged.formats.iter().map(|(_, keywords)| keywords).enumerate();
        let of_formats = formats.flat_map(|(rank, keywords)| {
            keywords.iter().map(move |word| (word.as_str(), Meaning::Format(rank)))
        });
        let of_names =
            merged.words.iter().map(|(word, strength)| (word.as_str(), Meaning::Name(*strength)));
        let of_joints = JOIN_SIGNS.iter().map(|sign| (*sign, Meaning::Join));
        let of_encodings = (reference_signs().map(|sign| (sign, Meaning::Reference)))
            .chain(QUOTED_SIGNS.iter().map(|sign| (*sign, Meaning::Quoted)))
            .chain([("<<", Meaning::Document)]);
        let all: Vec<(&str, Meaning)> =
            of_formats.chain(of_names).chain(of_joints).chain(of_encodings).collect();
        let keywords = Keywords::new(all.iter().map(|(word, _)| *word));
        let meanings = all.iter().map(|(_, meaning)| *meaning).collect();
        Ok(Self {
            keywords,
            meanings,
            formats: merged.formats.into_iter().map(|(rule, _)| rule).collect(),
            names: merged.names,
            allowed: merged.allowed,
            excluded: excluded.iter().map(|name| category(name)).collect(),
        })
    }

    /// Finds the keywords of all rules in one pass over the text.
    pub(crate) fn scan_keywords<'t>(&self, text: &'t str) -> KeywordScan<'t> {
        let mut scan = KeywordScan::new(text);
        self.keywords.find(text, |index, hit| match self.meanings[index] {
            Meaning::Join => scan.joins.push(hit.start),
            Meaning::Reference => scan.references.push(hit.start),
            Meaning::Quoted => scan.quoted.push(hit.start),
            Meaning::Document => scan.documents.push(hit.start),
            Meaning::Name(strength) => scan.words.push((hit, strength)),
            Meaning::Format(rank) => {
                let rule = &self.formats[rank];
                let start = hit.start.saturating_sub(rule.max_bytes_before);
                let end = (hit.end + rule.max_bytes_after).min(text.len());
                scan.add_window(rank, start..end);
                // Key blocks have several lines anyway.
                let is_token = rule.validator != Validator::Pem;
                if is_token && let Some(end) = end_of_wrapped_line(text, hit.end) {
                    scan.wraps.push((rank, hit.start..end));
                }
            }
        });
        scan
    }
}
