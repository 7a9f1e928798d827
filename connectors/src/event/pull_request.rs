//! Pull and merge requests.

use chrono::{DateTime, Utc};
use mc_domain::{PullRequestReview, PullRequestState};
use serde::{Deserialize, Serialize};

use super::field;
use super::{Comment, Thread};
use crate::delivery::ParseError;

const MAX_REVIEWS_PER_EVENT: usize = 32;

/// A pull or merge request as its host has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullRequestEvent {
    /// Our id: the path of the repository, `!` and the number, such as `octocat/hello!12`.
    pub external_id: String,
    /// Title; truncated to one line before storage.
    pub title: String,
    /// Open, merged or closed.
    pub state: PullRequestState,
    /// Name of the author, if the provider sends it.
    pub author: Option<String>,
    /// The last commit.
    pub head_sha: Option<String>,
    /// The commit that merged it into its base.
    pub merge_sha: Option<String>,
    /// The branch that it is to be merged into.
    pub base_ref: Option<String>,
    /// Where people read it; may be empty.
    pub url: String,
    /// The tasks that it names, by their trackers' ids.
    pub tasks: Vec<String>,
    /// The decisions of reviewers.
    pub reviews: Vec<Review>,
    /// A comment, or the text of a review.
    pub comment: Option<Comment>,
    /// When it was opened, by the host's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened_at: Option<DateTime<Utc>>,
    /// When it was closed or merged, if the host sends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<DateTime<Utc>>,
    /// When it was merged, if the host sends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged_at: Option<DateTime<Utc>>,
    /// When it last changed, by the host's clock.
    pub updated_at: Option<DateTime<Utc>>,
}

/// The decision of a reviewer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    /// The reviewer's name at the host.
    pub reviewer: String,
    /// The decision; `None` if the reviewer withdrew it.
    pub state: Option<PullRequestReview>,
    /// When the review last changed, by the host's clock.
    pub source_updated_at: Option<DateTime<Utc>>,
}

impl PullRequestEvent {
    /// Returns the thread of the pull request's comments.
    pub fn thread(&self) -> Thread {
        let Self { external_id, title, url, .. } = self.clone();
        Thread { external_id, title, url }
    }

    pub(crate) fn truncated(self) -> Result<Self, ParseError> {
        let reviews = self.reviews.into_iter().filter_map(Review::truncated);
        Ok(Self {
            external_id: field::checked_id(self.external_id)?,
            title: field::title(&self.title),
            state: self.state,
            author: field::name(self.author),
            head_sha: field::commit(self.head_sha),
            merge_sha: field::commit(self.merge_sha),
            base_ref: field::name(self.base_ref),
            url: field::web_url(Some(self.url)),
            tasks: self.tasks,
            reviews: reviews.take(MAX_REVIEWS_PER_EVENT).collect(),
            comment: self.comment.map(Comment::truncated),
            opened_at: field::checked_time(self.opened_at),
            closed_at: field::checked_time(self.closed_at),
            merged_at: field::checked_time(self.merged_at),
            updated_at: field::checked_time(self.updated_at),
        })
    }

    pub(super) fn mask(&mut self, mask: &mut impl FnMut(&str) -> String) {
        let Self {
            external_id, title, author, base_ref: base, url, tasks, reviews, comment, ..
        } = self;
        *external_id = field::path_masked(external_id, &mut *mask);
        // A masked id names no task, so it is dropped.
        tasks.retain(|task| field::path_masked(task, &mut *mask) == *task);
        let reviewers = reviews.iter_mut().map(|review| &mut review.reviewer);
        let texts = [title, url].into_iter().chain(author).chain(base).chain(reviewers);
        texts.for_each(|text| *text = mask(text));
        if let Some(comment) = comment {
            comment.mask(mask);
        }
    }
}

impl Review {
    fn truncated(self) -> Option<Self> {
        Some(Self {
            reviewer: field::name(Some(self.reviewer))?,
            state: self.state,
            source_updated_at: field::checked_time(self.source_updated_at),
        })
    }
}
