//! Events: the content of deliveries in one vocabulary for all providers, limited in size.

mod ci_run;
mod comment;
pub(crate) mod field;
mod issue;
mod pull_request;
mod push;
mod stored;

use serde::{Deserialize, Serialize};

pub use ci_run::CiRun;
pub(crate) use ci_run::qualified_name;
pub use comment::{Comment, Release, Thread};
pub(crate) use comment::{DESCRIPTION, LINE, REVIEW};
pub use issue::{Issue, Link};
pub use pull_request::{PullRequestEvent, Review};
pub use push::{Push, WikiPush, contains_repository};
pub use stored::StoredEventError;

use crate::delivery::ParseError;

/// A change at a provider. [`Event::encode`] returns the form for storage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Event {
    /// A branch or tag was created, moved or deleted.
    Push(Push),
    /// An issue was created or changed.
    Issue(Issue),
    /// An issue was deleted, or is no longer public.
    IssueDeleted {
        /// The tracker's own id.
        external_id: String,
    },
    /// A pull or merge request was created or changed.
    PullRequest(PullRequestEvent),
    /// A CI run started or ended.
    CiRun(CiRun),
    /// A comment on an issue or pull request that did not change itself.
    Comment {
        /// The issue or pull request.
        thread: Thread,
        /// The comment that was created, changed or deleted.
        comment: Comment,
    },
    /// A release was published, changed or withdrawn.
    Release(Release),
    /// Pages of a repository's wiki changed. The wiki is a repository of its own.
    WikiPush(WikiPush),
    /// A page was created or changed. The event has no content: a sync reads the page.
    PageChanged {
        /// The wiki's own id.
        id: String,
    },
    /// A page was deleted.
    PageDeleted {
        /// The wiki's own id.
        id: String,
    },
    /// The delivery has no effect.
    Ignored {
        /// The reason, for people.
        reason: String,
    },
}

impl Event {
    /// Masks each text of the provider. In paths, each segment is masked by itself as well, because
    /// `mask` takes a number between slashes for a part of an address otherwise.
    pub fn masked(mut self, mut mask: impl FnMut(&str) -> String) -> Self {
        match &mut self {
            Self::Push(push) => push.mask(&mut mask),
            Self::WikiPush(push) => push.mask(&mut mask),
            Self::PullRequest(pull_request) => pull_request.mask(&mut mask),
            Self::CiRun(run) => run.mask(&mut mask),
            Self::Comment { thread, comment } => {
                thread.mask(&mut mask);
                comment.mask(&mut mask);
            }
            Self::Release(release) => release.mask(&mut mask),
            Self::PageChanged { id } | Self::PageDeleted { id } if field::is_number(id) => {}
            Self::PageChanged { id } | Self::PageDeleted { id } => *id = mask(id),
            Self::Issue(issue) => issue.mask(&mut mask),
            Self::IssueDeleted { external_id } => {
                *external_id = field::path_masked(external_id, &mut mask);
            }
            Self::Ignored { reason } => *reason = mask(reason),
        }
        self
    }

    /// Removes comments, if the policy does not import them. Deletions of comments stay.
    pub fn without_comments(mut self) -> Self {
        match &mut self {
            Self::Issue(issue) => {
                issue.comment = issue.comment.take().filter(|comment| comment.is_deleted);
            }
            Self::PullRequest(pull_request) => {
                let comment = pull_request.comment.take();
                pull_request.comment = comment.filter(|comment| comment.is_deleted);
            }
            Self::Comment { comment, .. } if !comment.is_deleted => {
                return Self::ignored(
                    "the project's policy imports no comments (trackers.import_comments)",
                );
            }
            _ => {}
        }
        self
    }

    /// Returns the id of the issue, pull request, release, page or repository that the event is
    /// about. If masking changes it, the event would be about another one.
    pub fn subject(&self) -> Option<&str> {
        match self {
            Self::Issue(Issue { external_id, .. })
            | Self::IssueDeleted { external_id }
            | Self::PullRequest(PullRequestEvent { external_id, .. })
            | Self::Comment { thread: Thread { external_id, .. }, .. } => Some(external_id),
            Self::CiRun(run) => Some(&run.repository),
            Self::Release(release) => Some(&release.path),
            Self::PageChanged { id } | Self::PageDeleted { id } => Some(id),
            Self::Push(_) | Self::WikiPush(_) | Self::Ignored { .. } => None,
        }
    }

    pub(crate) fn ignored(reason: impl Into<String>) -> Self {
        Self::Ignored { reason: reason.into() }
    }

    pub(crate) fn issue_deleted(external_id: String) -> Result<Self, ParseError> {
        Ok(Self::IssueDeleted { external_id: field::checked_id(external_id)? })
    }
}

#[cfg(test)]
mod tests;
