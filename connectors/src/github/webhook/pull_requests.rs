//! Pull requests, their reviews, and comments on their lines.

use mc_domain::{PullRequestReview, PullRequestState};
use serde::Deserialize;

use super::{CommentFields, Repository, User};
use crate::closing_keywords;
use crate::delivery::{ParseError, required, required_text};
use crate::event::{Comment, Event, LINE, PullRequestEvent, REVIEW, Review, field};

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Body {
    action: Option<String>,
    pull_request: PullRequestFields,
    review: Option<ReviewFields>,
    comment: Option<CommentFields>,
    repository: Repository,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PullRequestFields {
    number: Option<u64>,
    title: Option<String>,
    body: Option<String>,
    state: Option<String>,
    merged: Option<bool>,
    merged_at: Option<String>,
    merge_commit_sha: Option<String>,
    user: Option<User>,
    head: Branch,
    base: Branch,
    html_url: Option<String>,
    created_at: Option<String>,
    closed_at: Option<String>,
    updated_at: Option<String>,
}

#[derive(Default, Deserialize)]
struct Branch {
    #[serde(rename = "ref")]
    name: Option<String>,
    sha: Option<String>,
}

#[derive(Default, Deserialize)]
struct ReviewFields {
    id: Option<u64>,
    user: Option<User>,
    body: Option<String>,
    state: Option<String>,
    submitted_at: Option<String>,
    updated_at: Option<String>,
}

pub(super) fn parse(event_type: &str, body: Body) -> Result<Event, ParseError> {
    let Body { action, pull_request: fields, review, comment, repository } = body;
    let external_id = external_id(fields.number, &repository, "pull_request.number")?;
    let home = repository.full_name.unwrap_or_default();
    let state = fields.state();
    let title = required_text(fields.title, "pull_request.title")?;
    let texts = [
        &title,
        fields.body.as_deref().unwrap_or_default(),
        fields.head.name.as_deref().unwrap_or_default(),
    ];
    let comment = match event_type {
        "pull_request_review" => review.as_ref().and_then(ReviewFields::comment),
        _ => comment.unwrap_or_default().comment(Some(LINE), action.as_deref()),
    };
    let pull_request = PullRequestEvent {
        external_id,
        tasks: closing_keywords::find_tasks(&texts, &home),
        title,
        state,
        author: fields.user.and_then(|user| user.login),
        head_sha: fields.head.sha,
        // Before the merge it is a commit that GitHub tests the merge with.
        merge_sha: fields.merge_commit_sha.filter(|_| state == PullRequestState::Merged),
        base_ref: fields.base.name,
        url: field::web_url(fields.html_url),
        reviews: review.and_then(ReviewFields::review).into_iter().collect(),
        comment,
        opened_at: field::optional_time(fields.created_at.as_deref()),
        closed_at: field::optional_time(fields.closed_at.as_deref()),
        merged_at: field::optional_time(fields.merged_at.as_deref()),
        updated_at: field::optional_time(fields.updated_at.as_deref()),
    };
    Ok(Event::PullRequest(pull_request.truncated()?))
}

pub(super) fn external_id(
    number: Option<u64>,
    repository: &Repository,
    field: &'static str,
) -> Result<String, ParseError> {
    let path = required_text(repository.full_name.clone(), "repository.full_name")?;
    Ok(format!("{path}!{}", required(number, field)?))
}

impl PullRequestFields {
    /// The pull request of a review has no `merged`, only the time.
    fn state(&self) -> PullRequestState {
        if self.merged == Some(true) || self.merged_at.is_some() {
            return PullRequestState::Merged;
        }
        if self.state.as_deref() == Some("closed") {
            PullRequestState::Closed
        } else {
            PullRequestState::Open
        }
    }
}

impl ReviewFields {
    /// Returns the decision; a review that only comments has none.
    fn review(self) -> Option<Review> {
        let state = match self.state.as_deref()?.to_ascii_lowercase().as_str() {
            "approved" => Some(PullRequestReview::Approved),
            "changes_requested" => Some(PullRequestReview::ChangesRequested),
            "dismissed" => None,
            _ => return None,
        };
        let source_updated_at =
            field::optional_time(self.updated_at.or(self.submitted_at).as_deref());
        Some(Review { reviewer: self.user?.login?, state, source_updated_at })
    }

    fn comment(&self) -> Option<Comment> {
        let sent_at = field::optional_time(self.submitted_at.clone());
        Some(Comment {
            id: format!("{REVIEW}-{}", self.id?),
            author: self.user.as_ref().and_then(|user| user.login.clone()),
            text: self.body.clone().filter(|text| !text.trim().is_empty())?,
            sent_at,
            updated_at: field::optional_time(self.updated_at.clone()).or(sent_at),
            is_deleted: false,
        })
    }
}

#[cfg(test)]
mod tests;
