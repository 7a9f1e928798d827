//! Secrets and personal data that are encoded or split. A view is the decoded or joined text; its
//! findings are mapped back to the original text.

mod base32;
mod base64;
mod concatenated;
mod dump;
mod entities;
mod hex;
mod percent;
mod quoted_printable;
mod regions;
mod shown;
mod wrapped;
mod wrapped_runs;

use std::ops::Range;

pub(crate) use base64::encodes_text;
pub(crate) use concatenated::JOIN_SIGNS;
pub use entities::decode_references;
pub(crate) use entities::reference_signs;
pub(crate) use quoted_printable::QUOTED_SIGNS;
pub(crate) use wrapped::end_of_wrapped_line;

use crate::keyword_scan::KeywordScan;
use crate::rules::Rules;
use crate::scan::{self, Personal, Ranked};

/// Maximum depth of nested encodings: `base64(base64(secret))`.
const MAX_DEPTH: usize = 2;

/// Factor on the confidence in a finding in a view.
const VIEW_CONFIDENCE: f32 = 0.9;

/// A decoded or joined part of a text.
#[derive(Debug)]
struct View {
    text: String,
    origin: Origin,
    kind: ViewKind,
}

/// The origin of a view in the original text.
#[derive(Debug)]
enum Origin {
    /// One range, which cannot be divided.
    Range(Range<usize>),
    /// A range for each byte of the view.
    Bytes(Vec<Range<usize>>),
}

/// The kind of a view, which decides about its findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ViewKind {
    /// Decoded text: every finding counts.
    Decoded,
    /// Concatenated text: only findings across a join count; others are found in the original text.
    Concatenated,
}

impl View {
    fn empty(kind: ViewKind) -> Self {
        Self::with_capacity(kind, 0)
    }

    /// Returns an empty view with space for a number of bytes.
    fn with_capacity(kind: ViewKind, bytes: usize) -> Self {
        let origin = Origin::Bytes(Vec::with_capacity(bytes));
        Self { text: String::with_capacity(bytes), origin, kind }
    }

    /// Returns a view of decoded bytes, each with its origin, if they are text.
    fn of_bytes(bytes: Vec<u8>, origins: Vec<Range<usize>>) -> Option<Self> {
        let text = String::from_utf8(bytes).ok()?;
        Some(Self { text, origin: Origin::Bytes(origins), kind: ViewKind::Decoded })
    }

    /// Returns a view of decoded bytes, each with its origin. Bytes that are no text become U+FFFD:
    /// a text in Latin-1 has some, and an attacker may add one.
    fn of_bytes_lossy(bytes: &[u8], origins: &[Range<usize>]) -> Self {
        let mut view = Self::with_capacity(ViewKind::Decoded, bytes.len());
        let mut at = 0;
        for chunk in bytes.utf8_chunks() {
            for c in chunk.valid().chars() {
                let last = at + c.len_utf8() - 1;
                view.push(c, origins[at].start..origins[last].end);
                at = last + 1;
            }
            if !chunk.invalid().is_empty() {
                view.push(char::REPLACEMENT_CHARACTER, origins[at].clone());
                at += chunk.invalid().len();
            }
        }
        view
    }

    /// Appends a character that stands for the bytes `at` of the original text.
    fn push(&mut self, c: char, at: Range<usize>) {
        self.text.push(c);
        if let Origin::Bytes(origins) = &mut self.origin {
            if c.is_ascii() {
                origins.push(at);
            } else {
                origins.extend(std::iter::repeat_n(at, c.len_utf8()));
            }
        }
    }

    /// Appends a part of the original text that has characters of one byte only.
    fn push_plain(&mut self, text: &str, part: Range<usize>) {
        self.text.push_str(&text[part.clone()]);
        if let Origin::Bytes(origins) = &mut self.origin {
            origins.extend(part.map(|at| at..at + 1));
        }
    }

    /// Whether a finding in the view counts.
    fn accepts(&self, ranked: &Ranked) -> bool {
        let span = &ranked.finding.span;
        match self.kind {
            ViewKind::Decoded => true,
            ViewKind::Concatenated => self.origin(span).len() != span.len(),
        }
    }

    /// Maps a finding in the view to the original text.
    fn map_back(&self, mut ranked: Ranked) -> Ranked {
        ranked.finding.span = self.origin(&ranked.finding.span);
        ranked.finding.confidence *= VIEW_CONFIDENCE;
        ranked
    }

    /// Returns the range in the original text.
    fn origin(&self, span: &Range<usize>) -> Range<usize> {
        match &self.origin {
            Origin::Range(whole) => whole.clone(),
            Origin::Bytes(ranges) => ranges[span.start].start..ranges[span.end - 1].end,
        }
    }
}

/// Returns the secrets in views of the text, and the personal data that `personal` selects.
pub(crate) fn find_in_views(
    rules: &Rules,
    scan: &KeywordScan<'_>,
    personal: Option<Personal>,
) -> Vec<Ranked> {
    scan_views(rules, scan, personal, MAX_DEPTH)
}

fn scan_views(
    rules: &Rules,
    scan: &KeywordScan<'_>,
    personal: Option<Personal>,
    depth: usize,
) -> Vec<Ranked> {
    if depth == 0 {
        return Vec::new();
    }
    let mut found: Vec<Ranked> = wrapped::secrets(rules, scan).collect();
    for view in views(scan) {
        let inner_scan = rules.scan_keywords(&view.text);
        let mut inner = scan::secrets(rules, &inner_scan);
        inner.extend(scan_views(rules, &inner_scan, personal, depth - 1));
        // Code does not concatenate the literals of a personal number.
        let personal = personal.filter(|_| view.kind == ViewKind::Decoded);
        inner.extend(personal.into_iter().flat_map(|wanted| wanted.find(rules, &view.text)));
        let accepted = inner.into_iter().filter(|ranked| view.accepts(ranked));
        found.extend(accepted.map(|ranked| view.map_back(ranked)));
    }
    found
}

/// Returns the views of a text. Each decoder first looks for a sign of its encoding, which most
/// texts do not have.
fn views<'r>(scan: &'r KeywordScan<'_>) -> impl Iterator<Item = View> + 'r {
    let runs = base64::views(scan).chain(base32::views(scan)).chain(hex::views(scan));
    let marked = percent::views(scan.text)
        .chain(entities::views(scan))
        .chain(quoted_printable::views(scan))
        .chain(dump::views(scan.text));
    runs.chain(marked).chain(shown::views(scan.text)).chain(concatenated::views(scan))
}
