//! Secrets and personal data in disguise: encoded, or cut into pieces. A view is a text as it is without the disguise;
//! what the rules find in it stands at the place it came from.

mod base64;
mod concatenated;
mod percent;
mod wrapped;

pub(crate) use concatenated::JOINTS;
use std::ops::Range;

use crate::keyword_scan::KeywordScan;
use crate::rules::Rules;
use crate::scan::{self, Personal, Ranked};

/// How often an encoding is taken off: `base64(base64(secret))`.
const DEPTH: usize = 2;

/// Factor on the confidence in what was found in a view.
const DISGUISED: f32 = 0.9;

/// A part of a text without its disguise.
#[derive(Debug)]
struct View {
    text: String,
    origin: Origin,
    kind: Kind,
}

/// Where the text of a view comes from.
#[derive(Debug)]
enum Origin {
    /// From all of this: no part of it makes sense alone.
    Whole(Range<usize>),
    /// Each byte from its own place.
    Bytes(Vec<Range<usize>>),
}

/// What a find in a view must be to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Anything: the text had not been readable.
    Decoded,
    /// Across a joint: all else has been found where it stands.
    Joined,
}

impl View {
    /// Whether a find in the view counts.
    fn shows(&self, ranked: &Ranked) -> bool {
        let span = &ranked.find.span;
        let is_across = || self.origin(span).len() != span.len();
        match self.kind {
            Kind::Decoded => true,
            Kind::Joined => is_across(),
        }
    }

    /// A find in the view, at the place that it has in the disguised text.
    fn undone(&self, mut ranked: Ranked) -> Ranked {
        ranked.find.span = self.origin(&ranked.find.span);
        ranked.find.confidence *= DISGUISED;
        ranked
    }

    /// The place in the disguised text.
    fn origin(&self, span: &Range<usize>) -> Range<usize> {
        match &self.origin {
            Origin::Whole(whole) => whole.clone(),
            Origin::Bytes(places) => places[span.start].start..places[span.end - 1].end,
        }
    }
}

/// What only shows when a disguise is taken off: secrets, and personal data where `personal` wants it.
pub(crate) fn disguised(
    rules: &Rules,
    reading: &KeywordScan<'_>,
    personal: Option<Personal>,
) -> Vec<Ranked> {
    below(rules, reading, personal, DEPTH)
}

fn below(
    rules: &Rules,
    reading: &KeywordScan<'_>,
    personal: Option<Personal>,
    depth: usize,
) -> Vec<Ranked> {
    if depth == 0 {
        return Vec::new();
    }
    let mut found: Vec<Ranked> = wrapped::secrets(rules, reading).collect();
    let encoded = base64::views(reading).chain(percent::views(reading.text));
    for view in encoded.chain(concatenated::views(reading)) {
        let inside = rules.read_text(&view.text);
        let mut inner = scan::secrets(rules, &inside);
        inner.extend(below(rules, &inside, personal, depth - 1));
        // Nobody puts a number together of literals.
        let personal = personal.filter(|_| view.kind == Kind::Decoded);
        inner.extend(personal.into_iter().flat_map(|wanted| wanted.find(rules, &view.text)));
        let all = inner.into_iter().filter(|ranked| view.shows(ranked));
        found.extend(all.map(|ranked| view.undone(ranked)));
    }
    found
}
