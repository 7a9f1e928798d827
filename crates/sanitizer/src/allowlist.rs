//! Exceptions for text that only looks like a secret: listed values, and lines with a comment.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use regex::Regex;
use sha2::{Digest as _, Sha256};

use crate::{Class, Finding};

/// Values that are known not to be secret.
#[derive(Debug, Clone, Default)]
pub(crate) struct Allowlist {
    pub values: HashSet<String>,
    /// SHA-256 in lower-case hexadecimal, for values that a rule file should not repeat.
    pub digests: HashSet<String>,
    pub regexes: Vec<Regex>,
}

impl Allowlist {
    pub(crate) fn contains(&self, value: &str) -> bool {
        self.values.contains(value)
            || self.regexes.iter().any(|regex| regex.is_match(value))
            || !self.digests.is_empty()
                && self.digests.contains(&hex::encode(Sha256::digest(value)))
    }

    pub(crate) fn extend(&mut self, other: Self) {
        self.values.extend(other.values);
        self.digests.extend(other.digests);
        self.regexes.extend(other.regexes);
    }
}

/// The comments that allow the secrets of a line: our own, and those of gitleaks, detect-secrets,
/// trufflehog, gosec and bandit.
#[rustfmt::skip]
const COMMENTS: &[&str] = &[
    "memory-copilot:allow", "gitleaks:allow", "pragma: allowlist secret",
    "pragma: whitelist secret", "trufflehog:ignore", "#nosec", "# nosec", "//nosec", "// nosec",
];

/// The lines of a text with one of the [`COMMENTS`].
#[derive(Debug)]
pub(crate) struct AllowedLines(Vec<Range<usize>>);

impl AllowedLines {
    pub(crate) fn find(text: &str) -> Self {
        static AUTOMATON: LazyLock<AhoCorasick> = LazyLock::new(|| {
            AhoCorasick::builder()
                .ascii_case_insensitive(true)
                .build(COMMENTS)
                .expect("the comments are few and short")
        });
        let mut lines: Vec<Range<usize>> = Vec::new();
        for hit in AUTOMATON.find_iter(text) {
            if lines.last().is_some_and(|last| hit.start() < last.end) {
                continue;
            }
            let start = text[..hit.start()].rfind('\n').map_or(0, |at| at + 1);
            let end = text[hit.end()..].find('\n').map_or(text.len(), |at| hit.end() + at);
            lines.push(start..end);
        }
        Self(lines)
    }

    /// Whether the comment allows the finding: a secret completely on its line. Key blocks have
    /// lines of their own, and a comment cannot allow another person's data.
    pub(crate) fn allow(&self, finding: &Finding) -> bool {
        let next = self.0.partition_point(|line| line.end < finding.span.end);
        let inside = self.0.get(next).is_some_and(|line| line.start <= finding.span.start);
        inside && finding.class == Class::Secret && finding.category != "private-key"
    }
}
