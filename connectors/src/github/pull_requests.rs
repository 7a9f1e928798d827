//! Pull requests, what reviewers say of them, and what is said at their lines.

use mc_domain::{PullRequestReview, PullRequestState};
use serde::Deserialize;

use super::{Repository, User, Written};
use crate::closing_keywords;
use crate::comment::{Comment, LINE, REVIEW};
use crate::delivery::{ParseError, needed, text};
use crate::event::{self, Event};
use crate::pull_request::{PullRequestEvent, Review};

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Body {
    action: Option<String>,
    pull_request: Pull,
    review: Option<Reviewed>,
    comment: Option<Written>,
    repository: Repository,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Pull {
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
    updated_at: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Branch {
    #[serde(rename = "ref")]
    name: Option<String>,
    sha: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Reviewed {
    id: Option<u64>,
    user: Option<User>,
    body: Option<String>,
    state: Option<String>,
    submitted_at: Option<String>,
    updated_at: Option<String>,
}

pub(super) fn read(kind: &str, body: Body) -> Result<Event, ParseError> {
    let Body { action, pull_request: pull, review, comment, repository } = body;
    let external_id = external_id(pull.number, &repository, "pull_request.number")?;
    let home = repository.full_name.unwrap_or_default();
    let state = pull.state();
    let title = text(pull.title, "pull_request.title")?;
    let texts = [
        &title,
        pull.body.as_deref().unwrap_or_default(),
        pull.head.name.as_deref().unwrap_or_default(),
    ];
    let comment = match kind {
        "pull_request_review" => review.as_ref().and_then(Reviewed::comment),
        // Ids of comments on lines are others than those of the rest.
        _ => comment.unwrap_or_default().told(LINE, action.as_deref()),
    };
    PullRequestEvent {
        external_id,
        tasks: closing_keywords::tasks(&texts, &home),
        title,
        state,
        author: pull.user.and_then(|user| user.login),
        head_sha: pull.head.sha,
        // Before that it is a commit that GitHub tries the merge with.
        merge_sha: pull.merge_commit_sha.filter(|_| state == PullRequestState::Merged),
        base_ref: pull.base.name,
        url: event::page(pull.html_url),
        reviews: review.and_then(Reviewed::review).into_iter().collect(),
        comment,
        updated_at: pull.updated_at.as_deref().and_then(event::time),
    }
    .bounded()
}

pub(super) fn external_id(
    number: Option<u64>,
    repository: &Repository,
    field: &'static str,
) -> Result<String, ParseError> {
    let path = text(repository.full_name.clone(), "repository.full_name")?;
    Ok(format!("{path}!{}", needed(number, field)?))
}

impl Pull {
    fn state(&self) -> PullRequestState {
        // What comes with a review says only when.
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

impl Reviewed {
    /// What the reviewer decided; a mere comment decides nothing.
    fn review(self) -> Option<Review> {
        let state = match self.state.as_deref()?.to_ascii_lowercase().as_str() {
            "approved" => Some(PullRequestReview::Approved),
            "changes_requested" => Some(PullRequestReview::ChangesRequested),
            "dismissed" => None,
            _ => return None,
        };
        let said_at = self.updated_at.or(self.submitted_at);
        let said_at = said_at.as_deref().and_then(event::time);
        Some(Review { reviewer: self.user?.login?, state, source_updated_at: said_at })
    }

    fn comment(&self) -> Option<Comment> {
        let sent_at = self.submitted_at.as_deref().and_then(event::time);
        Some(Comment {
            id: format!("{REVIEW}-{}", self.id?),
            author: self.user.as_ref().and_then(|user| user.login.clone()),
            text: self.body.clone().filter(|text| !text.trim().is_empty())?,
            sent_at,
            updated_at: self.updated_at.as_deref().and_then(event::time).or(sent_at),
            is_deleted: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(kind: &str, action: &str, pull: &str, rest: &str) -> PullRequestEvent {
        let body = format!(
            r#"{{"action": "{action}", {rest} "repository": {{"full_name": "octocat/hello"}},
            "pull_request": {{"number": 12, "title": "Mend the delay", "body": "Fixes #7, for CS-214",
            "user": {{"login": "vera"}}, "head": {{"ref": "ABC-3-delay", "sha": "{}"}},
            "base": {{"ref": "main", "sha": "{}"}}, "merge_commit_sha": "{}", {pull}
            "html_url": "https://git.example.org/octocat/hello/pull/12",
            "updated_at": "2026-01-02T03:04:05Z"}}}}"#,
            "AB".repeat(20),
            "cd".repeat(20),
            "ef".repeat(20)
        );
        match read(kind, serde_json::from_str(&body).expect("JSON")) {
            Ok(Event::Change(change)) => change,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_pull_request_is_told_with_what_it_is_now() {
        let open = told("pull_request", "opened", r#""state": "open", "merged": false,"#, "");
        let expected = PullRequestEvent {
            external_id: "octocat/hello!12".to_owned(),
            title: "Mend the delay".to_owned(),
            state: PullRequestState::Open,
            author: Some("vera".to_owned()),
            head_sha: Some("ab".repeat(20)),
            merge_sha: None,
            base_ref: Some("main".to_owned()),
            url: "https://git.example.org/octocat/hello/pull/12".to_owned(),
            tasks: ["octocat/hello#7", "CS-214", "ABC-3"].map(str::to_owned).into(),
            reviews: Vec::new(),
            comment: None,
            updated_at: event::time("2026-01-02T03:04:05Z"),
        };
        assert_eq!(open, expected);
    }

    #[test]
    fn one_that_was_merged_has_the_commit_of_that_and_one_that_was_given_up_has_none() {
        let merged = told("pull_request", "closed", r#""state": "closed", "merged": true,"#, "");
        assert_eq!(
            (merged.state, merged.merge_sha),
            (PullRequestState::Merged, Some("ef".repeat(20)))
        );
        let at = r#""state": "closed", "merged_at": "2026-01-02T03:04:05Z","#;
        assert_eq!(
            told("pull_request_review", "submitted", at, "").state,
            PullRequestState::Merged
        );
        let closed = told("pull_request", "closed", r#""state": "closed", "merged": false,"#, "");
        assert_eq!((closed.state, closed.merge_sha), (PullRequestState::Closed, None));
    }

    #[test]
    fn a_review_says_who_decided_what() {
        let review = |state: &str, body: &str| {
            let rest = format!(
                r#""review": {{"id": 5, "user": {{"login": "omar"}}, "state": "{state}", "body": {body},
                "submitted_at": "2026-01-02T03:04:00Z"}},"#
            );
            told("pull_request_review", "submitted", r#""state": "open","#, &rest)
        };
        let approved = review("approved", r#""Fine.""#);
        let source_updated_at = event::time("2026-01-02T03:04:00Z");
        let state = Some(PullRequestReview::Approved);
        assert_eq!(
            approved.reviews,
            [Review { reviewer: "omar".to_owned(), state, source_updated_at }]
        );
        let comment = approved.comment.expect("what was written");
        assert_eq!((comment.id.as_str(), comment.text.as_str()), ("review-5", "Fine."));
        assert_eq!(
            review("CHANGES_REQUESTED", "null").reviews[0].state,
            Some(PullRequestReview::ChangesRequested)
        );
        assert_eq!(review("dismissed", "null").reviews[0].state, None);
        let mere = review("commented", "null");
        assert_eq!((mere.reviews, mere.comment), (Vec::new(), None));
    }

    #[test]
    fn a_comment_on_a_line_is_told_apart_from_others() {
        let rest = r#""comment": {"id": 5, "body": "Why?", "updated_at": "2026-01-02T03:04:00Z"},"#;
        let told = |action: &str| {
            let change = told("pull_request_review_comment", action, "", rest);
            change.comment.expect("a comment")
        };
        assert_eq!((told("created").id.as_str(), told("created").is_deleted), ("line-5", false));
        assert!(told("deleted").is_deleted);
    }
}
