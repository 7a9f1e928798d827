//! The rules, read from rule files and compiled.

mod file;

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex::Regex;

use crate::allowlist::Allowed;
use crate::assignment::{Names, Strength};
use crate::decode::JOINTS;
use crate::keyword_scan::KeywordScan;
use crate::validators::Check;
pub use file::RuleError;

/// The rules that are part of the program.
const STANDARD: &str = include_str!("../../../config/sanitizer.yaml");

/// A format of secret.
#[derive(Debug)]
pub(crate) struct Rule {
    pub category: &'static str,
    /// Its group `s` is the secret.
    pub pattern: Regex,
    pub check: Check,
    /// Least bits a character.
    pub entropy: f32,
    /// Bytes before a keyword in which a match may begin.
    pub before: usize,
    /// Bytes behind it in which a match must show.
    pub reach: usize,
    pub confidence: f32,
}

/// All that is looked for in one pass, and what to do where it stands.
#[derive(Debug)]
pub(crate) struct Rules {
    /// In the order of trust.
    pub formats: Vec<Rule>,
    pub names: Names,
    pub allowed: Allowed,
    keywords: AhoCorasick,
    /// What each keyword stands for.
    meanings: Vec<Meaning>,
}

/// What a keyword in a text calls for.
#[derive(Debug, Clone, Copy)]
enum Meaning {
    /// Trying the format of this rank near it.
    Format(usize),
    /// Reading the name that it is part of.
    Name(Strength),
    /// Looking whether two pieces of one text are put together here.
    Joint,
}

impl Rules {
    /// The rules that are part of the program.
    pub(crate) fn standard() -> &'static Self {
        static RULES: LazyLock<Rules> = LazyLock::new(|| {
            Rules::read(&[]).unwrap_or_else(|fault| panic!("config/sanitizer.yaml: {fault}"))
        });
        &RULES
    }

    /// The standard rules, behind those of `files` (the text of each): a team knows its own formats
    /// best, so they name what both find.
    pub(crate) fn read(files: &[&str]) -> Result<Self, RuleError> {
        let texts = files.iter().copied().chain([STANDARD]);
        let merged = texts.map(file::parse).try_fold(file::Parsed::default(), |all, next| {
            Ok::<_, RuleError>(all.followed_by(next?))
        })?;
        let formats = merged.formats.iter().map(|(_, keywords)| keywords).enumerate();
        let of_formats = formats.flat_map(|(rank, keywords)| {
            keywords.iter().map(move |word| (word.as_str(), Meaning::Format(rank)))
        });
        let of_names =
            merged.words.iter().map(|(word, strength)| (word.as_str(), Meaning::Name(*strength)));
        let of_joints = JOINTS.iter().map(|sign| (*sign, Meaning::Joint));
        let all: Vec<(&str, Meaning)> = of_formats.chain(of_names).chain(of_joints).collect();
        let keywords = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::DFA))
            .build(all.iter().map(|(word, _)| word))
            .map_err(RuleError::Keywords)?;
        let meanings = all.iter().map(|(_, meaning)| *meaning).collect();
        Ok(Self {
            keywords,
            meanings,
            formats: merged.formats.into_iter().map(|(rule, _)| rule).collect(),
            names: merged.names,
            allowed: merged.allowed,
        })
    }

    /// Reads the text once, for all keywords of all rules.
    pub(crate) fn read_text<'t>(&self, text: &'t str) -> KeywordScan<'t> {
        let mut reading = KeywordScan::of(text);
        for hit in self.keywords.find_overlapping_iter(text) {
            match self.meanings[hit.pattern().as_usize()] {
                Meaning::Joint => reading.joints.push(hit.start()),
                Meaning::Name(strength) => reading.words.push((hit.range(), strength)),
                Meaning::Format(rank) => {
                    let rule = &self.formats[rank];
                    let to = (hit.end() + rule.reach).min(text.len());
                    reading.open_window(rank, hit.start().saturating_sub(rule.before)..to);
                    // A block has lines of its own.
                    let is_token = rule.check != Check::Pem;
                    if is_token && let Some(end) = wrapped(text, hit.end()) {
                        reading.wraps.push((rank, hit.start()..end));
                    }
                }
            }
        }
        reading
    }
}

/// The end of the line, if what begins with the keyword lasts until there: the rest may stand on the
/// next line.
fn wrapped(text: &str, behind: usize) -> Option<usize> {
    let rest = &text.as_bytes()[behind..];
    let is_token = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-.=+/".contains(*byte);
    let length = rest.iter().take(LONGEST_LINE).take_while(is_token).count();
    matches!(rest.get(length), Some(b'\n' | b'\r')).then_some(behind + length)
}

/// Bytes of the longest line that a token is wrapped at.
const LONGEST_LINE: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_rule_matches_nothing_or_never_runs() {
        for rule in &Rules::standard().formats {
            assert!(!rule.pattern.is_match(""), "{} matches the empty text", rule.category);
        }
    }
}
