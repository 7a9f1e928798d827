//! From what was said to what is worth keeping: all of it without greetings and markup, or where
//! that is too much for one record, its statement; a title, and the scope and tags that the text
//! gives away. No model.

mod markdown;
mod scope;
mod select;
mod tags;

use markdown::Reading;
use mc_domain::RecordKind;

pub use scope::{of_path as scope_of_path, of_symbol as scope_of_symbol};

use crate::text::{cut, sentences};

/// Longest text that a record holds as it was said, in characters: half of a usual bundle.
pub const WHOLE_MAX_CHARS: usize = 4_000;
/// Longest statement of a text that is longer than that, in characters (seed 001, section 6).
pub const MAX_CHARS: usize = 2_000;
/// Longest title, in characters: as long as one that is sent may be, and so never cut.
pub const TITLE_MAX_CHARS: usize = 300;
/// Longest title that is taken from the text, in characters.
const DERIVED_TITLE_MAX_CHARS: usize = 80;
/// Most scopes that are read out of a text; those that the caller gives are kept besides.
const DERIVED_SCOPES_MAX: usize = 6;
/// Most tags that are read out of a text.
const DERIVED_TAGS_MAX: usize = 4;

/// What came in.
#[derive(Debug, Clone, Copy)]
pub struct Raw<'a> {
    /// What sort of knowledge it is.
    pub kind: RecordKind,
    /// The text, sanitized.
    pub content: &'a str,
    /// Title, if the caller gave one.
    pub title: Option<&'a str>,
    /// Scopes that the caller gave.
    pub scope: &'a [String],
    /// Tags that the caller gave.
    pub tags: &'a [String],
    /// Files that the note cites.
    pub files: &'a [&'a str],
    /// Symbols that the note cites.
    pub symbols: &'a [&'a str],
}

/// What is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Distilled {
    /// At most [`TITLE_MAX_CHARS`] characters, one line.
    pub title: String,
    /// All that was said in at most [`WHOLE_MAX_CHARS`] characters, else what tells most of it in
    /// at most [`MAX_CHARS`]; may be empty.
    pub content: String,
    /// Whether the content is all that was said.
    pub is_whole: bool,
    /// Greetings, thanks, words that only lead up to a sentence, and comments that nobody is shown:
    /// in neither.
    pub left_out: Vec<String>,
    /// The caller's scopes first, then those found.
    pub scope: Vec<String>,
    /// The caller's tags first, then those found.
    pub tags: Vec<String>,
}

/// Distills a note.
pub fn distill(raw: &Raw<'_>) -> Distilled {
    let Reading { units, left_out } = markdown::read(raw.content);
    let whole = select::join(&units);
    let is_whole = whole.chars().count() <= WHOLE_MAX_CHARS;
    let content = if is_whole { whole } else { select::within(&units, MAX_CHARS) };
    let title = match raw.title.map(str::trim).filter(|title| !title.is_empty()) {
        Some(title) => cut(&one_line(title), TITLE_MAX_CHARS),
        None => first_sentence(&content),
    };
    Distilled {
        scope: union(raw.scope, scope::derive(raw, &content), DERIVED_SCOPES_MAX),
        tags: union(raw.tags, tags::derive(raw.kind, raw.content), DERIVED_TAGS_MAX),
        title,
        content,
        is_whole,
        left_out,
    }
}

/// `text` without chatter and markup noise, in at most `max` characters: when it is longer, the
/// sentences that tell most, in their order.
pub fn condense(text: &str, max: usize) -> String {
    select::within(&markdown::read(text).units, max)
}

fn first_sentence(content: &str) -> String {
    let line =
        content.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with("```"));
    let sentence = line.and_then(|line| sentences(line).first().copied()).unwrap_or_default();
    let bare = sentence.trim_start_matches(['-', '*', '#', ' ']).trim_end_matches(['.', ':', ';']);
    cut(&one_line(bare), DERIVED_TITLE_MAX_CHARS)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `given` and at most `max` of `found`, trimmed, without doubles (case does not count).
fn union(given: &[String], found: Vec<String>, max: usize) -> Vec<String> {
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
    for item in found {
        if added < max && push(&item) {
            added += 1;
        }
    }
    all
}

#[cfg(test)]
mod tests;
