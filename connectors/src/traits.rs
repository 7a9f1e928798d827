//! The operations that all providers of a kind have in common: trackers, wikis and git hosts.

mod pull_requests;

use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use mc_domain::FileChange;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::confluence::PageBody;
use crate::error::Error;
use crate::event::{Comment, Issue};

pub use pull_requests::{
    Approval, CommitCheck, CredentialAccess, Merge, MergeMethod, MergeRequest, NewPullRequest,
    NewStatus, PullRequest, PullRequestHost, PullRequestSide, RequiredCheck, RequiredChecks,
    StatusState,
};

/// The position of a sync. Callers store it after each page, so that the next sync, or one after a
/// crash, resumes there. Only the connector that returned it can read it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cursor(pub Value);

/// Boxed future of a provider's response.
pub type ResponseFuture<'a, T> = BoxFuture<'a, Result<T, Error>>;

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The items, the oldest change first. A page may be empty without being the last.
    pub items: Vec<T>,
    /// Where the next page begins.
    pub next: Cursor,
    /// Whether the list ends here for now. The next sync begins at `next`.
    pub is_last: bool,
}

/// An issue of a listing, with its public comments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueWithComments {
    /// The issue, complete.
    pub issue: Issue,
    /// The public comments, oldest first, after the issue's own description, whose id is
    /// `description`. The other ids are those of webhooks. Empty unless comments were requested.
    pub comments: Vec<Comment>,
    /// Whether `comments` has every public comment. The number of comments read of one issue is
    /// limited; beyond the limit these are the newest.
    pub has_all_comments: bool,
}

/// A resource that lists the ids of all its items.
pub trait ListIds: Send + Sync {
    /// Lists the ids of all public items, some twice. A known item that is not listed was deleted.
    fn list_ids<'a>(&'a self, from: &'a Cursor) -> ResponseFuture<'a, Page<String>>;
}

/// The issues of a tracker's project or of a repository.
pub trait Tracker: ListIds {
    /// Lists the issues that changed since the cursor (by default all), the oldest change first.
    fn list_changed<'a>(
        &'a self,
        since: &'a Cursor,
        with_comments: bool,
    ) -> ResponseFuture<'a, Page<IssueWithComments>>;

    /// Updates the comment `earlier`, or creates one, and returns its id.
    ///
    /// A person has approved the text for this resource: nothing is posted to an issue that was
    /// moved to another project ([`Error::ResourceMoved`]). A request that fails may have been
    /// carried out, so it is not retried here: call [`Tracker::list_own_comments`] first.
    fn upsert_comment<'a>(
        &'a self,
        external_id: &'a str,
        earlier: Option<&'a str>,
        text: &'a str,
    ) -> ResponseFuture<'a, String>;

    /// Lists the comments on an issue that the credential's user wrote, public or not, in any
    /// order. Of an issue that was moved to another project nothing is read
    /// ([`Error::ResourceMoved`]).
    fn list_own_comments<'a>(&'a self, external_id: &'a str) -> ResponseFuture<'a, Vec<Comment>>;
}

/// A page of a wiki.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WikiPage {
    /// The wiki's id. It survives a rename or a move if the wiki has such ids.
    pub id: String,
    /// Title, without the titles of the pages above.
    pub title: String,
    /// Where people read the page.
    pub url: String,
    /// Content, not yet converted: conversion blocks a thread.
    pub body: PageBody,
    /// Names of the labels.
    pub labels: Vec<String>,
    /// Titles of the ancestors, the topmost first.
    pub path: Vec<String>,
    /// Names of the attached files.
    pub attachments: Vec<String>,
    /// When the page last changed.
    pub updated_at: Option<DateTime<Utc>>,
}

/// The pages of a wiki's space.
pub trait Wiki: ListIds {
    /// Lists the pages that changed since the cursor (by default all), the oldest change first.
    fn list_changed<'a>(&'a self, since: &'a Cursor) -> ResponseFuture<'a, Page<WikiPage>>;
}

/// Most files of a pull request that are read.
pub const MAX_FILES: usize = 300;
/// Bytes of the longest diff of a file that is returned.
pub const MAX_DIFF_BYTES: usize = 64 * 1024;
/// Bytes of all diffs of a pull request that are returned.
pub const MAX_DIFFS_BYTES: usize = 1024 * 1024;

/// The files that a pull or merge request changes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChangedFiles {
    /// The files, as many as [`MAX_FILES`].
    pub files: Vec<ChangedFile>,
    /// Whether these are all.
    pub is_complete: bool,
}

/// A file that a pull or merge request changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// Path in the repository; of a removed file, the former one.
    pub path: String,
    /// The path before a rename.
    pub previous_path: Option<String>,
    /// The kind of change.
    pub change: FileChange,
    /// Added lines, if the provider sends their number or the diff.
    pub additions: Option<u32>,
    /// Deleted lines.
    pub deletions: Option<u32>,
    /// The unified diff, whole; `None` for a binary file and for a diff that is too long.
    pub diff: Option<String>,
}

/// The refs and pull requests of a repository.
pub trait GitHost: Send + Sync {
    /// Returns the object that a ref, or the default branch, points to; `None` if the ref does not
    /// exist. A repeated request is conditional (`ETag`), so an unchanged ref costs little.
    fn resolve_ref<'a>(&'a self, reference: Option<&'a str>) -> ResponseFuture<'a, Option<String>>;

    /// Lists the files that a pull request of this repository changes, by its external id, such as
    /// `octocat/hello!12`.
    fn list_changed_files<'a>(&'a self, external_id: &'a str) -> ResponseFuture<'a, ChangedFiles>;
}
