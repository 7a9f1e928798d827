//! What the service asks of other systems, in one vocabulary: trackers, wikis and hosts of git.

use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::client::Error;
use crate::comment::Comment;
use crate::event::Issue;

/// Where a sync stands: written after each page, so that the next one, or one after a crash, goes on from there. Only
/// the system that made it can read it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cursor(pub Value);

/// A part of an answer that comes in several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// What is in it, what changed first before what changed later. There may be nothing in one that is not the last.
    pub items: Vec<T>,
    /// Where the next one begins.
    pub next: Cursor,
    /// Whether there is nothing more for now. The next sync begins at `next`.
    pub is_last: bool,
}

/// An issue with what was said about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueWithComments {
    /// The issue; always whole.
    pub issue: Issue,
    /// Oldest first, and before them what the issue says itself, with the id `description`; the others have the ids
    /// that webhooks tell. Empty where they were not asked for.
    pub comments: Vec<Comment>,
    /// Whether nothing else is said for everybody to see. There may be more than is asked for of one issue:
    /// then these are the newest.
    pub has_all_comments: bool,
}

/// A tracker's project, or a repository's issues.
pub trait Tracker: Send + Sync {
    /// The issues that changed since, oldest change first; all from the beginning for the default cursor.
    fn list_changed<'a>(
        &'a self,
        since: &'a Cursor,
        with_comments: bool,
    ) -> BoxFuture<'a, Result<Page<IssueWithComments>, Error>>;

    /// The ids (`Issue::external_id`) of all that everybody there may see, page by page: what is known here and not
    /// there is gone. Some may come twice.
    fn list_ids<'a>(&'a self, from: &'a Cursor) -> BoxFuture<'a, Result<Page<String>, Error>>;

    /// Says something about an issue: in place of what an earlier comment with this id says, else as a new one. Answers
    /// the comment's id. Whoever asks for it has a person's consent to that place, so where the issue was moved to another
    /// project nothing is said ([`Error::Moved`]). What was not answered may have been written all the
    /// same, so it is not tried again here: look for it first ([`Tracker::own_comments`]).
    fn comment<'a>(
        &'a self,
        external_id: &'a str,
        earlier: Option<&'a str>,
        text: &'a str,
    ) -> BoxFuture<'a, Result<String, Error>>;

    /// What the credential's own user has said about an issue, in any order; what only some there may see as well. What
    /// anybody else says is not among it, whatever it says. Of an issue that was moved to another project nothing is
    /// asked ([`Error::Moved`]).
    fn list_own_comments<'a>(
        &'a self,
        external_id: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Comment>, Error>>;
}

/// A page of a wiki.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WikiPage {
    /// The wiki's own id, the same when the page is renamed or moved where the wiki has such ids.
    pub id: String,
    /// Title.
    pub title: String,
    /// Where people read it.
    pub url: String,
    /// Markdown.
    pub markdown: String,
    /// Labels.
    pub labels: Vec<String>,
    /// Titles of the pages above it, the topmost first.
    pub path: Vec<String>,
    /// Names of the files attached to it.
    pub attachments: Vec<String>,
    /// When it was last changed.
    pub updated_at: Option<DateTime<Utc>>,
}

/// A wiki's space.
pub trait Wiki: Send + Sync {
    /// The pages that changed since, oldest change first; all from the beginning for the default cursor.
    fn changed<'a>(&'a self, since: &'a Cursor) -> BoxFuture<'a, Result<Page<WikiPage>, Error>>;

    /// The ids of all that there are, page by page: what is known here and not there is gone.
    fn ids<'a>(&'a self, from: &'a Cursor) -> BoxFuture<'a, Result<Page<String>, Error>>;
}

/// A repository at its host.
pub trait GitHost: Send + Sync {
    /// What a ref, or the default branch, points to; `None` where there is no such ref. Asking again for what has not
    /// changed costs little (`ETag`).
    fn resolve_ref<'a>(
        &'a self,
        reference: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<String>, Error>>;
}

/// Whether a system can be reached, and as whom.
pub trait Health: Send + Sync {
    /// Who the credential is for, as the system says it; fails as a sync would.
    fn check(&self) -> BoxFuture<'_, Result<String, Error>>;
}
