//! What is no secret although it looks like one: listed values, and lines whose comment says so.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use regex::Regex;
use sha2::{Digest as _, Sha256};

use crate::{Class, Finding};

/// Values that are known to be no secrets.
#[derive(Debug, Clone, Default)]
pub(crate) struct Allowed {
    pub values: HashSet<String>,
    /// SHA-256 in lower-case hexadecimal, for values that a list should not spread.
    pub digests: HashSet<String>,
    pub patterns: Vec<Regex>,
}

impl Allowed {
    pub(crate) fn holds(&self, value: &str) -> bool {
        self.values.contains(value)
            || self.patterns.iter().any(|pattern| pattern.is_match(value))
            || !self.digests.is_empty()
                && self.digests.contains(&hex::encode(Sha256::digest(value)))
    }

    pub(crate) fn extend(&mut self, other: Self) {
        self.values.extend(other.values);
        self.digests.extend(other.digests);
        self.patterns.extend(other.patterns);
    }
}

/// The comments by which scanners are told that a line's secret is none: our own, and those of
/// gitleaks, detect-secrets, trufflehog, gosec and bandit.
const COMMENTS: &[&str] = &[
    "memory-copilot:allow",
    "gitleaks:allow",
    "pragma: allowlist secret",
    "pragma: whitelist secret",
    "trufflehog:ignore",
    "#nosec",
    "# nosec",
    "//nosec",
    "// nosec",
];

/// The lines of a text that carry such a comment.
#[derive(Debug)]
pub(crate) struct Lines(Vec<Range<usize>>);

impl Lines {
    pub(crate) fn with_comment(text: &str) -> Self {
        static SIGNS: LazyLock<AhoCorasick> = LazyLock::new(|| {
            AhoCorasick::builder()
                .ascii_case_insensitive(true)
                .build(COMMENTS)
                .expect("a handful of comments")
        });
        let mut lines: Vec<Range<usize>> = Vec::new();
        for hit in SIGNS.find_iter(text) {
            if lines.last().is_some_and(|last| hit.start() < last.end) {
                continue;
            }
            let start = text[..hit.start()].rfind('\n').map_or(0, |at| at + 1);
            let end = text[hit.end()..].find('\n').map_or(text.len(), |at| hit.end() + at);
            lines.push(start..end);
        }
        Self(lines)
    }

    /// Whether the comment spares this find: a secret that lies on its line whole. A key block has
    /// lines of its own, and nobody can allow what is another person's.
    pub(crate) fn spare(&self, find: &Finding) -> bool {
        let next = self.0.partition_point(|line| line.end < find.span.end);
        let inside = self.0.get(next).is_some_and(|line| line.start <= find.span.start);
        inside && find.class == Class::Secret && find.category != "private-key"
    }
}
