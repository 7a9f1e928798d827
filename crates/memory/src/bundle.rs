//! The answer to a recall: what the team knows about a place, small enough for a prompt.

mod handles;
mod pack;
mod render;
mod trust;

use chrono::{DateTime, Utc};
use mc_domain::{
    BundleId, CiVerdict, DialogId, DocId, PassageId, RecordId, RecordKind, RecordState, Trust,
    Verdict,
};

pub use handles::{Handles, handles};
pub use pack::{Contents, Envelope, pack};
pub use render::as_json;
pub use trust::{admits, sort_by_trust, trust};

/// Longest statement where the token limit is too small for all of it, and longest quote of a
/// dialog, in characters (seed 001, section 6).
pub const STATEMENT_MAX_CHARS: usize = 300;
/// Most worked examples in a bundle (seed 001, section 6).
pub const FEW_SHOTS_MAX: usize = 3;
/// Most statements of fact.
pub const FACTS_MAX: usize = 12;
/// Most rules and warnings.
pub const GOTCHAS_MAX: usize = 6;
/// Most links.
pub const LINKS_MAX: usize = 5;
/// Most conversations.
pub const DIALOGS_MAX: usize = 2;
/// Most places in the code.
pub const CODE_MAX: usize = 5;
/// Longest name of what a record was taken from, in characters: most addresses of pages are
/// shorter.
pub const SOURCE_MAX_CHARS: usize = 120;

/// What was recalled.
#[derive(Debug, Clone, PartialEq)]
pub struct Bundle {
    /// Names this answer when feedback comes.
    pub id: BundleId,
    /// Rules and warnings about the place; they come first.
    pub gotchas: Vec<Statement>,
    /// Short statements, the best first.
    pub facts: Vec<Statement>,
    /// Worked examples.
    pub few_shots: Vec<FewShot>,
    /// Decisions and documents.
    pub links: Vec<Link>,
    /// What came out of conversations.
    pub dialogs: Vec<DialogExcerpt>,
    /// Places in the code.
    pub code: Vec<CodePlace>,
    /// How sure it is that this helps, 0 to 1.
    pub confidence: f32,
    /// Size of the bundle as JSON, in tokens.
    pub token_count: usize,
    /// How many more things are good enough, and had no room.
    pub omitted: usize,
    /// Parts of the search that were late or away.
    pub degraded: Vec<String>,
    /// Why the bundle is empty.
    pub reason: Option<String>,
    /// The task that was asked about, as far as it is known.
    pub task: Option<TaskSummary>,
}

impl Bundle {
    /// Whether nothing was found that is good enough.
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
    /// The record.
    pub id: RecordId,
    /// The passage it was found through.
    pub passage: PassageId,
    /// The whole text, or the sentences of it that tell most.
    pub text: String,
    /// How many characters the whole text has, where this is not it.
    pub full_chars: Option<usize>,
    /// Kind.
    pub kind: RecordKind,
    /// Parts of the system it is about.
    pub scope: Vec<String>,
    /// Tags.
    pub tags: Vec<String>,
    /// Who vouches for it.
    pub trust: Trust,
    /// What it was taken from, in at most [`SOURCE_MAX_CHARS`] characters; `None` for what somebody
    /// just said.
    pub source: Option<String>,
    /// What CI says of the patch that it is about.
    pub ci_status: Option<CiVerdict>,
    /// Rank score, 0 to 1.
    pub score: f32,
    /// Active or stale.
    pub state: RecordState,
    /// Places in the code that it was true of.
    pub citations: Vec<CitedPlace>,
    /// What to be careful about.
    pub warning: Option<String>,
    /// Last change.
    pub updated_at: DateTime<Utc>,
}

/// A place in the code with what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CitedPlace {
    /// Path within the repository.
    pub file: String,
    /// Qualified name.
    pub symbol: Option<String>,
    /// First and last line, from 1, inclusive.
    pub lines: Option<(i32, i32)>,
    /// Commit at which it was true.
    pub commit: Option<String>,
    /// What the code looks like now, beside what it was.
    pub verdict: Verdict,
}

/// A worked example.
#[derive(Debug, Clone, PartialEq)]
pub struct FewShot {
    /// The record.
    pub id: RecordId,
    /// The passage it was found through.
    pub passage: PassageId,
    /// Title.
    pub title: String,
    /// What was done, in order.
    pub steps: Vec<String>,
    /// The patch that did it.
    pub patch_ref: Option<String>,
    /// What it is about.
    pub text: Option<String>,
    /// How many characters the whole text has, where this is not it.
    pub full_chars: Option<usize>,
    /// Parts of the system it is about.
    pub scope: Vec<String>,
    /// Who vouches for it.
    pub trust: Trust,
    /// What it was taken from, as in a [`Statement`].
    pub source: Option<String>,
    /// What CI says of the patch that it is about.
    pub ci_status: Option<CiVerdict>,
    /// Rank score, 0 to 1.
    pub score: f32,
    /// What to be careful about.
    pub warning: Option<String>,
}

/// A decision or document: where to read on.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// Title.
    pub title: String,
    /// Address; a file of a repository that has none is named by its path.
    pub url: String,
    /// What a decision says; a document is there to be opened.
    pub text: Option<String>,
    /// How many characters the whole text has, where this is not it.
    pub full_chars: Option<usize>,
    /// The section of a document that is nearest to the question.
    pub section: Option<String>,
    /// Its first and last line, from 1, inclusive.
    pub lines: Option<(i32, i32)>,
    /// What it leads to.
    pub target: LinkTarget,
    /// The passage it was found through.
    pub passage: PassageId,
    /// Who vouches for it.
    pub trust: Trust,
    /// Rank score, 0 to 1.
    pub score: f32,
}

/// What a link leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkTarget {
    /// A record of kind `adr_link`.
    Record(RecordId),
    /// A document of the project.
    Doc(DocId),
}

/// What came out of a conversation, that nobody made a record of.
#[derive(Debug, Clone, PartialEq)]
pub struct DialogExcerpt {
    /// The dialog.
    pub id: DialogId,
    /// The passage it was found through.
    pub passage: PassageId,
    /// At most [`STATEMENT_MAX_CHARS`] characters.
    pub text: String,
    /// Who vouches for it.
    pub trust: Trust,
    /// Rank score, 0 to 1.
    pub score: f32,
}

/// A place in the code.
#[derive(Debug, Clone, PartialEq)]
pub struct CodePlace {
    /// The passage.
    pub passage: PassageId,
    /// Path within the repository.
    pub location: String,
    /// First line, from 1.
    pub line_start: i32,
    /// Last line, inclusive.
    pub line_end: i32,
    /// Enclosing definition.
    pub symbol: Option<String>,
    /// The lines that matter: the signature with its doc comment.
    pub summary: String,
    /// Who vouches for the code, and so for its description.
    pub trust: Trust,
    /// Rank score, 0 to 1.
    pub score: f32,
}

/// A task as a bundle shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskSummary {
    /// The tracker's own id.
    pub external_id: String,
    /// Title; empty until the tracker is synced.
    pub title: String,
    /// The tracker's word for the state.
    pub status: String,
}

/// What to be careful about with a record whose cited code is not what it was.
pub fn staleness_warning(citations: &[CitedPlace]) -> Option<String> {
    let bad: Vec<_> = citations
        .iter()
        .filter(|c| matches!(c.verdict, Verdict::Drifted | Verdict::Orphaned))
        .collect();
    let first = bad.first()?;
    let what = match first.verdict {
        Verdict::Orphaned => "cited code is gone from",
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
