//! Merge requests, and what reviewers say of them.

use chrono::{DateTime, Utc};
use mc_domain::{PullRequestReview, PullRequestState};
use serde::Deserialize;

use super::{Commit, Project, User};
use crate::closing_keywords;
use crate::delivery::{ParseError, needed, text};
use crate::event::{self, Event};
use crate::pull_request::{PullRequestEvent, Review};

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Body {
    object_attributes: Request,
    /// Who did what the delivery tells of.
    user: Option<User>,
    reviewers: Option<Vec<Reviewer>>,
    project: Project,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Request {
    iid: Option<u64>,
    title: Option<String>,
    description: Option<String>,
    state: Option<String>,
    action: Option<String>,
    source_branch: Option<String>,
    target_branch: Option<String>,
    last_commit: Option<Commit>,
    merge_commit_sha: Option<String>,
    squash_commit_sha: Option<String>,
    url: Option<String>,
    updated_at: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Reviewer {
    username: Option<String>,
    state: Option<String>,
}

pub(super) fn read(body: Body) -> Result<Event, ParseError> {
    let Body { object_attributes: merge, user, reviewers, project } = body;
    let updated_at = merge.updated_at.as_deref().and_then(event::time);
    let by = user.and_then(|user| user.username.or(user.name));
    // Who opened it GitLab says by a number alone, but for when they do.
    let author = by.clone().filter(|_| merge.action.as_deref() == Some("open"));
    let own = own_review(merge.action.as_deref(), by, updated_at);
    let others = reviewers.unwrap_or_default().into_iter();
    let others = others.filter_map(|reviewer| {
        reviewer.review().map(|review| Review { source_updated_at: updated_at, ..review })
    });
    let state = state(merge.state.as_deref());
    let home = project.path_with_namespace.clone().unwrap_or_default();
    let head_sha = merge.last_commit.and_then(|commit| commit.id);
    let title = text(merge.title, "object_attributes.title")?;
    let texts = [
        &title,
        merge.description.as_deref().unwrap_or_default(),
        merge.source_branch.as_deref().unwrap_or_default(),
    ];
    PullRequestEvent {
        external_id: external_id(merge.iid, project, "object_attributes.iid")?,
        tasks: closing_keywords::tasks(&texts, &home),
        title,
        state,
        author,
        // Fast-forwarded, the last commit itself is what the base has.
        merge_sha: merge
            .merge_commit_sha
            .or(merge.squash_commit_sha)
            .filter(|_| state == PullRequestState::Merged),
        head_sha,
        base_ref: merge.target_branch,
        url: event::page(merge.url),
        reviews: others.chain(own).collect(),
        comment: None,
        updated_at,
    }
    .bounded()
}

pub(super) fn external_id(
    iid: Option<u64>,
    project: Project,
    field: &'static str,
) -> Result<String, ParseError> {
    let path = text(project.path_with_namespace, "project.path_with_namespace")?;
    Ok(format!("{path}!{}", needed(iid, field)?))
}

fn state(word: Option<&str>) -> PullRequestState {
    match word {
        Some("merged") => PullRequestState::Merged,
        Some("closed") => PullRequestState::Closed,
        _ => PullRequestState::Open,
    }
}

/// What the one who acts says by it, if they say anything of the merge request.
fn own_review(
    action: Option<&str>,
    reviewer: Option<String>,
    said_at: Option<DateTime<Utc>>,
) -> Option<Review> {
    let state = match action? {
        "approved" | "approval" => Some(PullRequestReview::Approved),
        "unapproved" | "unapproval" => None,
        _ => return None,
    };
    Some(Review { reviewer: reviewer?, state, source_updated_at: said_at })
}

impl Reviewer {
    fn review(self) -> Option<Review> {
        let state = match self.state.as_deref()? {
            "approved" => Some(PullRequestReview::Approved),
            "requested_changes" => Some(PullRequestReview::ChangesRequested),
            // They were asked again.
            "unapproved" | "unreviewed" => None,
            _ => return None,
        };
        Some(Review { reviewer: self.username?, state, source_updated_at: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(attributes: &str, rest: &str) -> PullRequestEvent {
        let body = format!(
            r#"{{"object_attributes": {{"iid": 5, "title": "Mend the delay", "description": "Closes #7",
            "source_branch": "CS-214", "target_branch": "main", "last_commit": {{"id": "{}"}},
            "merge_commit_sha": "{}", {attributes} "url": "https://git.example.org/group/x/-/merge_requests/5",
            "updated_at": "2026-01-02 03:04:05 UTC"}}, "user": {{"username": "vera"}}, {rest}
            "project": {{"path_with_namespace": "group/x"}}}}"#,
            "ab".repeat(20),
            "ef".repeat(20)
        );
        match read(serde_json::from_str(&body).expect("JSON")) {
            Ok(Event::Change(change)) => change,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_merge_request_is_told_with_what_it_is_now() {
        let expected = PullRequestEvent {
            external_id: "group/x!5".to_owned(),
            title: "Mend the delay".to_owned(),
            state: PullRequestState::Open,
            author: Some("vera".to_owned()),
            head_sha: Some("ab".repeat(20)),
            merge_sha: None,
            base_ref: Some("main".to_owned()),
            url: "https://git.example.org/group/x/-/merge_requests/5".to_owned(),
            tasks: ["group/x#7", "CS-214"].map(str::to_owned).into(),
            reviews: Vec::new(),
            comment: None,
            updated_at: event::time("2026-01-02T03:04:05Z"),
        };
        assert_eq!(told(r#""state": "opened", "action": "open","#, ""), expected);
    }

    #[test]
    fn one_that_was_merged_has_the_commit_of_that() {
        let merged = told(r#""state": "merged", "action": "merge","#, "");
        assert_eq!(
            (merged.state, merged.merge_sha),
            (PullRequestState::Merged, Some("ef".repeat(20)))
        );
        let closed = told(r#""state": "closed", "action": "close","#, "");
        assert_eq!((closed.state, closed.merge_sha), (PullRequestState::Closed, None));
    }

    #[test]
    fn reviewers_approve_and_take_that_back_and_want_something_else() {
        let by = |action: &str| told(&format!(r#""action": "{action}","#), "").reviews;
        assert_eq!(by("approved")[0].state, Some(PullRequestReview::Approved));
        assert_eq!(by("unapproved")[0].state, None);
        assert_eq!(by("update"), []);
        let reviewers = r#""reviewers": [{"username": "omar", "state": "requested_changes"}],"#;
        let told = told(r#""action": "update","#, reviewers).reviews;
        let state = Some(PullRequestReview::ChangesRequested);
        let source_updated_at = event::time("2026-01-02T03:04:05Z");
        assert_eq!(told, [Review { reviewer: "omar".to_owned(), state, source_updated_at }]);
    }
}
