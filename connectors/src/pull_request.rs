//! Pull and merge requests, in one vocabulary for their hosts.

use chrono::{DateTime, Utc};
use mc_domain::{PullRequestReview, PullRequestState};
use serde::{Deserialize, Serialize};

use crate::comment::{Comment, Thread};
use crate::delivery::ParseError;
use crate::event::{self, Event};

/// Reviews that one delivery tells of at most.
const REVIEWS: usize = 32;

/// A pull or merge request as its host has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullRequestEvent {
    /// The host's own id, such as `octocat/hello!12`.
    pub external_id: String,
    /// Title.
    pub title: String,
    /// How far it has come.
    pub state: PullRequestState,
    /// Who wants it.
    pub author: Option<String>,
    /// Its last commit.
    pub head_sha: Option<String>,
    /// The commit that it became part of its base by.
    pub merge_sha: Option<String>,
    /// The branch that it is for.
    pub base_ref: Option<String>,
    /// Where people look at it; may be empty.
    pub url: String,
    /// The tasks that it speaks of, by their trackers' ids.
    pub tasks: Vec<String>,
    /// What reviewers said.
    pub reviews: Vec<Review>,
    /// What was said of it besides.
    pub comment: Option<Comment>,
    /// When the host said so, by its clock.
    pub updated_at: Option<DateTime<Utc>>,
}

/// What a reviewer said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    /// Who, as the host calls them.
    pub reviewer: String,
    /// What; `None` where they took back what they had said.
    pub state: Option<PullRequestReview>,
    /// When.
    pub source_updated_at: Option<DateTime<Utc>>,
}

impl PullRequestEvent {
    /// The event, with every text cut to its size.
    pub(crate) fn bounded(self) -> Result<Event, ParseError> {
        Ok(Event::Change(Self {
            external_id: event::checked_id(self.external_id)?,
            title: event::title(&self.title),
            state: self.state,
            author: event::name(self.author),
            head_sha: event::commit(self.head_sha),
            merge_sha: event::commit(self.merge_sha),
            base_ref: event::name(self.base_ref),
            url: event::page(Some(self.url)),
            tasks: self.tasks,
            reviews: self.reviews.into_iter().take(REVIEWS).filter_map(Review::bounded).collect(),
            comment: self.comment.map(Comment::bounded),
            updated_at: event::bounded_time(self.updated_at),
        }))
    }

    /// What comments on it belong to.
    pub fn thread(&self) -> Thread {
        let Self { external_id, title, url, .. } = self.clone();
        Thread { external_id, title, url }
    }

    pub(crate) fn mask(&mut self, mask: &mut impl FnMut(&str) -> String) {
        let Self {
            external_id, title, author, base_ref: base, url, tasks, reviews, comment, ..
        } = self;
        *external_id = event::path_masked(external_id, &mut *mask);
        // A task's id that is masked is another's.
        tasks.retain(|task| event::path_masked(task, &mut *mask) == *task);
        let reviewers = reviews.iter_mut().map(|review| &mut review.reviewer);
        let texts = [title, url].into_iter().chain(author).chain(base).chain(reviewers);
        texts.for_each(|text| *text = mask(text));
        if let Some(comment) = comment {
            comment.mask(mask);
        }
    }
}

impl Review {
    fn bounded(self) -> Option<Self> {
        let reviewer = event::name(Some(self.reviewer))?;
        Some(Self {
            reviewer,
            state: self.state,
            source_updated_at: event::bounded_time(self.source_updated_at),
        })
    }
}
