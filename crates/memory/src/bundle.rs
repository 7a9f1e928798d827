//! The bundle: the response to a recall, small enough for a prompt.

mod handles;
mod pack;
mod render;
mod trust;

use chrono::{DateTime, Utc};
use mc_contract::operations::recall::TaskSummary;
use mc_domain::{
    BundleId, CiVerdict, CitationVerdict, DialogId, DocId, PassageId, RecordId, RecordKind,
    RecordState, Trust,
};

use crate::citations::has_changed;

pub use handles::{Handles, handles};
pub use pack::pack;
pub use render::{response, rounded};
pub use trust::{admits, sort_by_trust, trust};

/// Longest statement if the token limit is too small for all of it, and longest dialog excerpt, in
/// characters (seed 001, section 6).
pub const STATEMENT_MAX_CHARS: usize = 300;
/// Most worked examples in a bundle (seed 001, section 6).
pub const FEW_SHOTS_MAX: usize = 3;
/// Most statements of fact.
pub const FACTS_MAX: usize = 12;
/// Most rules and warnings.
pub const GOTCHAS_MAX: usize = 6;
/// Most links.
pub const LINKS_MAX: usize = 5;
/// Most dialogs.
pub const DIALOGS_MAX: usize = 2;
/// Most places in the code.
pub const CODE_MAX: usize = 5;
/// Longest source of a record, in characters; most page URLs are shorter.
pub const SOURCE_MAX_CHARS: usize = 120;

/// A bundle of recalled knowledge.
#[derive(Debug, Clone, PartialEq)]
pub struct Bundle {
    /// Id of the bundle, which feedback refers to.
    pub id: BundleId,
    /// Rules and warnings, which come first.
    pub gotchas: Vec<Statement>,
    /// Statements, best first.
    pub facts: Vec<Statement>,
    /// Worked examples.
    pub few_shots: Vec<FewShot>,
    /// Decisions and documents.
    pub links: Vec<Link>,
    /// Excerpts of dialogs without a record, best first.
    pub dialogs: Vec<DialogExcerpt>,
    /// Excerpts of code, best first.
    pub code: Vec<CodePlace>,
    /// Confidence that the bundle helps, 0 to 1.
    pub confidence: f32,
    /// Size of the bundle as JSON, in tokens.
    pub token_count: usize,
    /// Number of good items that had no room.
    pub omitted: usize,
    /// Parts of the search that were late or unavailable.
    pub degraded: Vec<String>,
    /// Reason for an empty bundle.
    pub reason: Option<String>,
    /// Task of the request, as far as it is known.
    pub task: Option<TaskSummary>,
    /// Version of the system prompt that the caller has; `None` if the project has only the
    /// built-in one.
    pub prompt_version: Option<i32>,
}

impl Bundle {
    /// Creates a bundle without items.
    pub fn empty(id: BundleId) -> Self {
        Self {
            id,
            gotchas: Vec::new(),
            facts: Vec::new(),
            few_shots: Vec::new(),
            links: Vec::new(),
            dialogs: Vec::new(),
            code: Vec::new(),
            confidence: 0.0,
            token_count: 0,
            omitted: 0,
            degraded: Vec::new(),
            reason: None,
            task: None,
            prompt_version: None,
        }
    }

    /// Whether the bundle has no items.
    pub fn is_empty(&self) -> bool {
        self.gotchas.is_empty()
            && self.facts.is_empty()
            && self.few_shots.is_empty()
            && self.links.is_empty()
            && self.dialogs.is_empty()
            && self.code.is_empty()
    }
}

/// A record that states something.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// Id of the record.
    pub id: RecordId,
    /// Passage through which it was found.
    pub passage: PassageId,
    /// The whole text, or its most telling sentences.
    pub text: String,
    /// Length of the whole text in characters, if `text` is shortened.
    pub full_chars: Option<usize>,
    /// Kind of knowledge, such as a fact or a rule.
    pub kind: RecordKind,
    /// Parts of the system that it is about.
    pub scope: Vec<String>,
    /// Free labels.
    pub tags: Vec<String>,
    /// Trust level.
    pub trust: Trust,
    /// Source, in at most [`SOURCE_MAX_CHARS`] characters; `None` for a note without one.
    pub source: Option<String>,
    /// CI result of its patch.
    pub ci_status: Option<CiVerdict>,
    /// Rank score, 0 to 1.
    pub score: f32,
    /// Active or stale.
    pub state: RecordState,
    /// Cited places in the code.
    pub citations: Vec<CitedPlace>,
    /// Warning about the record.
    pub warning: Option<String>,
    /// Last change.
    pub updated_at: DateTime<Utc>,
}

/// A cited place in the code with its verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CitedPlace {
    /// Path within the repository.
    pub file: String,
    /// Qualified name.
    pub symbol: Option<String>,
    /// First and last line, from 1, inclusive.
    pub lines: Option<(i32, i32)>,
    /// Commit of the citation.
    pub commit: Option<String>,
    /// State of the code, compared with the citation.
    pub verdict: CitationVerdict,
}

/// A worked example.
#[derive(Debug, Clone, PartialEq)]
pub struct FewShot {
    /// Id of the record.
    pub id: RecordId,
    /// Passage through which it was found.
    pub passage: PassageId,
    /// Title of the record; may be empty.
    pub title: String,
    /// Steps, in order.
    pub steps: Vec<String>,
    /// Patch of the example.
    pub patch_ref: Option<String>,
    /// Description.
    pub text: Option<String>,
    /// Length of the whole text in characters, if `text` is shortened.
    pub full_chars: Option<usize>,
    /// Parts of the system that it is about.
    pub scope: Vec<String>,
    /// Trust level.
    pub trust: Trust,
    /// Source, as in a [`Statement`].
    pub source: Option<String>,
    /// CI result of its patch.
    pub ci_status: Option<CiVerdict>,
    /// Rank score, 0 to 1.
    pub score: f32,
    /// Warning about the record.
    pub warning: Option<String>,
}

/// A link to a decision or document.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// Title of the record or document.
    pub title: String,
    /// URL; for a repository file without one, its path.
    pub url: String,
    /// Text of a decision; `None` for a document.
    pub text: Option<String>,
    /// Length of the whole text in characters, if `text` is shortened.
    pub full_chars: Option<usize>,
    /// Section of a document nearest to the query.
    pub section: Option<String>,
    /// First and last line of the section, from 1, inclusive.
    pub lines: Option<(i32, i32)>,
    /// Record or document that it links to.
    pub target: LinkTarget,
    /// Passage through which it was found.
    pub passage: PassageId,
    /// Trust level.
    pub trust: Trust,
    /// Rank score, 0 to 1.
    pub score: f32,
}

/// A record or a document, by its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkTarget {
    /// A record of kind `adr_link`.
    Record(RecordId),
    /// A document of the project.
    Doc(DocId),
}

/// An excerpt of a dialog that has no record.
#[derive(Debug, Clone, PartialEq)]
pub struct DialogExcerpt {
    /// Id of the dialog.
    pub id: DialogId,
    /// Passage through which it was found.
    pub passage: PassageId,
    /// At most [`STATEMENT_MAX_CHARS`] characters.
    pub text: String,
    /// Trust level.
    pub trust: Trust,
    /// Rank score, 0 to 1.
    pub score: f32,
}

/// An excerpt of code with its location.
#[derive(Debug, Clone, PartialEq)]
pub struct CodePlace {
    /// Id of the passage.
    pub passage: PassageId,
    /// Path within the repository.
    pub location: String,
    /// First line, from 1.
    pub line_start: i32,
    /// Last line, inclusive.
    pub line_end: i32,
    /// Enclosing definition.
    pub symbol: Option<String>,
    /// Excerpt: signature and doc comment.
    pub summary: String,
    /// Trust level of the code.
    pub trust: Trust,
    /// Rank score, 0 to 1.
    pub score: f32,
}

/// Returns a warning if cited code of a record changed or is gone.
pub fn staleness_warning(citations: &[CitedPlace]) -> Option<String> {
    let bad: Vec<_> = citations.iter().filter(|place| has_changed(place.verdict)).collect();
    let first = bad.first()?;
    let what = match first.verdict {
        CitationVerdict::Orphaned => "cited code is gone from",
        _ => "cited code changed in",
    };
    let more = match bad.len() {
        1 => String::new(),
        n => format!(" and {} more", n - 1),
    };
    Some(format!("{what} {}{more} since this was saved; check before you rely on it", first.file))
}

#[cfg(test)]
mod tests;
