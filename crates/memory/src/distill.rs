//! Distilling a text for a record: all of it without greetings and markup, or its most telling
//! sentences if it is too long; a title; and the scope and tags that it implies. Rules do this; a
//! chat model may select other sentences of a long text ([`model`]).

mod markdown;
pub mod model;
mod scope;
mod select;
mod tags;

use markdown::SplitText;
use mc_domain::RecordKind;
use model::Selection;

pub use scope::{of_path as scope_of_path, of_symbol as scope_of_symbol};

use crate::text::{cut, sentences};

/// Longest text that a record holds whole, in characters: half of a usual bundle.
pub const WHOLE_MAX_CHARS: usize = 4_000;
/// Longest statement of a longer text, in characters (seed 001, section 6).
pub const MAX_CHARS: usize = 2_000;
/// Longest title, in characters; a request's title is never longer.
pub const TITLE_MAX_CHARS: usize = 300;
const DERIVED_TITLE_MAX_CHARS: usize = 80;
const DERIVED_SCOPES_MAX: usize = 6;
const DERIVED_TAGS_MAX: usize = 4;

/// A note before distilling.
#[derive(Debug, Clone, Copy)]
pub struct Raw<'a> {
    /// Kind of knowledge.
    pub kind: RecordKind,
    /// The text, sanitized.
    pub content: &'a str,
    /// Title, if the caller named one.
    pub title: Option<&'a str>,
    /// Scopes of the caller.
    pub scope: &'a [String],
    /// Tags of the caller.
    pub tags: &'a [String],
    /// Files that the note cites.
    pub files: &'a [&'a str],
    /// Symbols that the note cites.
    pub symbols: &'a [&'a str],
}

impl<'a> Raw<'a> {
    /// Returns a note of a text alone, without title, scope, tags and citations.
    pub fn of_text(kind: RecordKind, content: &'a str) -> Self {
        Self { kind, content, title: None, scope: &[], tags: &[], files: &[], symbols: &[] }
    }
}

/// A distilled note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Distilled {
    /// At most [`TITLE_MAX_CHARS`] characters, one line.
    pub title: String,
    /// The whole text if it has at most [`WHOLE_MAX_CHARS`] characters, else its most telling
    /// sentences in at most [`MAX_CHARS`]; may be empty.
    pub content: String,
    /// Whether the content is the whole text.
    pub is_whole: bool,
    /// Text in neither title nor content: greetings, thanks, hidden comments.
    pub left_out: Vec<String>,
    /// The caller's scopes, then derived ones.
    pub scope: Vec<String>,
    /// The caller's tags, then derived ones.
    pub tags: Vec<String>,
}

/// Distills a note by the rules.
pub fn distill(raw: &Raw<'_>) -> Distilled {
    let SplitText { units, left_out } = markdown::read(raw.content);
    let whole = select::join(&units);
    let is_whole = whole.chars().count() <= WHOLE_MAX_CHARS;
    let content = if is_whole { whole } else { select::within(&units, MAX_CHARS) };
    Distilled { is_whole, left_out, ..of_content(raw, content, None) }
}

/// Distills a long note to the statements that a model selected of [`model::statements`]. `None`
/// if none of them fits.
pub fn distill_selected(raw: &Raw<'_>, selection: &Selection) -> Option<Distilled> {
    let SplitText { units, left_out } = markdown::read(raw.content);
    let kept = select::chosen(&units, &selection.positions, MAX_CHARS)?;
    let content = select::join(select::at(&units, &kept));
    // A later save recognizes a derived title by being a part of the content.
    let titling = selection.title.filter(|position| kept.contains(position));
    let title = titling.and_then(|position| units.get(position)).map(|unit| unit.text.as_str());
    Some(Distilled { left_out, ..of_content(raw, content, title) })
}

/// Returns a part of a note with its labels, and a title: the caller's, or the first sentence of
/// `titling` or else of the content.
fn of_content(raw: &Raw<'_>, content: String, titling: Option<&str>) -> Distilled {
    let title = match raw.title.map(str::trim).filter(|title| !title.is_empty()) {
        Some(title) => cut(&one_line(title), TITLE_MAX_CHARS),
        None => titling
            .map(first_sentence)
            .filter(|title| !title.is_empty())
            .unwrap_or_else(|| first_sentence(&content)),
    };
    Distilled {
        scope: union(raw.scope, scope::derive(raw, &content), DERIVED_SCOPES_MAX),
        tags: union(raw.tags, tags::derive(raw.kind, raw.content), DERIVED_TAGS_MAX),
        title,
        content,
        is_whole: false,
        left_out: Vec::new(),
    }
}

/// Condenses a text to at most `max` characters: without chatter and markup, and if it is longer,
/// to its most telling sentences, in order.
pub fn condense(text: &str, max: usize) -> String {
    select::within(&markdown::read(text).units, max)
}

fn first_sentence(content: &str) -> String {
    let line =
        content.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with("```"));
    let sentence = line.and_then(|line| sentences(line).next()).unwrap_or_default();
    let bare = sentence.trim_start_matches(['-', '*', '#', ' ']).trim_end_matches(['.', ':', ';']);
    cut(&one_line(bare), DERIVED_TITLE_MAX_CHARS)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Unites `given` and at most `max` of `derived`, trimmed, without duplicates (ignoring case).
fn union(given: &[String], derived: Vec<String>, max: usize) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut push = |item: &str| {
        let item = item.trim();
        let is_new =
            !item.is_empty() && !all.iter().any(|have| have.to_lowercase() == item.to_lowercase());
        if is_new {
            all.push(item.to_owned());
        }
        is_new
    };
    for item in given {
        push(item);
    }
    let mut added = 0;
    for item in derived {
        if added < max && push(&item) {
            added += 1;
        }
    }
    all
}

#[cfg(test)]
mod tests;
