//! Merge requests and their reviews.

use chrono::{DateTime, Utc};
use mc_domain::{PullRequestReview, PullRequestState};
use serde::Deserialize;

use super::{Commit, Project, User};
use crate::closing_keywords;
use crate::delivery::{ParseError, required, required_text};
use crate::event::{Event, PullRequestEvent, Review, field};

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Body {
    object_attributes: MergeRequestFields,
    /// The user who caused the delivery.
    user: Option<User>,
    reviewers: Option<Vec<Reviewer>>,
    project: Project,
}

#[derive(Default, Deserialize)]
struct MergeRequestFields {
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
    created_at: Option<String>,
    updated_at: Option<String>,
}

#[derive(Default, Deserialize)]
struct Reviewer {
    username: Option<String>,
    state: Option<String>,
}

pub(super) fn parse(body: Body) -> Result<Event, ParseError> {
    let Body { object_attributes: fields, user, reviewers, project } = body;
    let updated_at = field::optional_time(fields.updated_at.as_deref());
    let actor = user.and_then(|user| user.username.or(user.name));
    // GitLab sends the author as a number. The author's name is known when they open it.
    let author = actor.clone().filter(|_| fields.action.as_deref() == Some("open"));
    let own_review = actor_review(fields.action.as_deref(), actor, updated_at);
    let reviewers = reviewers.unwrap_or_default().into_iter();
    let others = reviewers
        .filter_map(|reviewer| reviewer.review(updated_at))
        .filter(|review| own_review.as_ref().is_none_or(|own| own.reviewer != review.reviewer));
    // The actor's own review is first, where no limit removes it. The list may have their state
    // before it.
    let reviews = own_review.iter().cloned().chain(others);
    let state = state(fields.state.as_deref());
    let home = project.path_with_namespace.clone().unwrap_or_default();
    let title = required_text(fields.title, "object_attributes.title")?;
    let texts = [
        &title,
        fields.description.as_deref().unwrap_or_default(),
        fields.source_branch.as_deref().unwrap_or_default(),
    ];
    // A fast-forward has no merge commit: the base has the last commit itself.
    let merge_sha = fields.merge_commit_sha.or(fields.squash_commit_sha);
    let pull_request = PullRequestEvent {
        external_id: external_id(fields.iid, project, "object_attributes.iid")?,
        tasks: closing_keywords::find_tasks(&texts, &home),
        title,
        state,
        author,
        merge_sha: merge_sha.filter(|_| state == PullRequestState::Merged),
        head_sha: fields.last_commit.and_then(|commit| commit.id),
        base_ref: fields.target_branch,
        url: field::web_url(fields.url),
        reviews: reviews.collect(),
        comment: None,
        opened_at: field::optional_time(fields.created_at),
        // GitLab sends neither time: the event of the closing or the merge has its own.
        closed_at: None,
        merged_at: None,
        updated_at,
    };
    Ok(Event::PullRequest(pull_request.truncated()?))
}

pub(super) fn external_id(
    iid: Option<u64>,
    project: Project,
    field: &'static str,
) -> Result<String, ParseError> {
    let path = required_text(project.path_with_namespace, "project.path_with_namespace")?;
    Ok(format!("{path}!{}", required(iid, field)?))
}

fn state(word: Option<&str>) -> PullRequestState {
    match word {
        Some("merged") => PullRequestState::Merged,
        Some("closed") => PullRequestState::Closed,
        _ => PullRequestState::Open,
    }
}

/// Returns the review of the user who caused the delivery, if the action is one.
fn actor_review(
    action: Option<&str>,
    reviewer: Option<String>,
    source_updated_at: Option<DateTime<Utc>>,
) -> Option<Review> {
    let state = match action? {
        "approved" | "approval" => Some(PullRequestReview::Approved),
        "unapproved" | "unapproval" => None,
        _ => return None,
    };
    Some(Review { reviewer: reviewer?, state, source_updated_at })
}

impl Reviewer {
    fn review(self, source_updated_at: Option<DateTime<Utc>>) -> Option<Review> {
        let state = match self.state.as_deref()? {
            "approved" => Some(PullRequestReview::Approved),
            "requested_changes" => Some(PullRequestReview::ChangesRequested),
            // A new review was requested.
            "unapproved" | "unreviewed" => None,
            _ => return None,
        };
        Some(Review { reviewer: self.username?, state, source_updated_at })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(attributes: &str, rest: &str) -> PullRequestEvent {
        let body = format!(
            r#"{{"object_attributes": {{"iid": 5, "title": "Mend the delay",
                "description": "Closes #7",
            "source_branch": "CS-214", "target_branch": "main", "last_commit": {{"id": "{}"}},
            "merge_commit_sha": "{}",
            {attributes} "url": "https://git.example.org/group/x/-/merge_requests/5",
            "created_at": "2026-01-01 00:00:00 UTC", "updated_at": "2026-01-02 03:04:05 UTC"}},
            "user": {{"username": "vera"}}, {rest}
            "project": {{"path_with_namespace": "group/x"}}}}"#,
            "ab".repeat(20),
            "ef".repeat(20)
        );
        match parse(serde_json::from_str(&body).expect("JSON")) {
            Ok(Event::PullRequest(change)) => change,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn merge_request_has_its_present_fields() {
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
            opened_at: field::time("2026-01-01T00:00:00Z"),
            closed_at: None,
            merged_at: None,
            updated_at: field::time("2026-01-02T03:04:05Z"),
        };
        assert_eq!(parsed(r#""state": "opened", "action": "open","#, ""), expected);
    }

    #[test]
    fn only_a_merged_merge_request_has_a_merge_commit() {
        let merged = parsed(r#""state": "merged", "action": "merge","#, "");
        assert_eq!(
            (merged.state, merged.merge_sha),
            (PullRequestState::Merged, Some("ef".repeat(20)))
        );
        let closed = parsed(r#""state": "closed", "action": "close","#, "");
        assert_eq!((closed.state, closed.merge_sha), (PullRequestState::Closed, None));
    }

    #[test]
    fn reviews_are_approvals_withdrawals_and_requested_changes() {
        let by = |action: &str| parsed(&format!(r#""action": "{action}","#), "").reviews;
        assert_eq!(by("approved")[0].state, Some(PullRequestReview::Approved));
        assert_eq!(by("unapproved")[0].state, None);
        assert_eq!(by("update"), []);
        let reviewers = r#""reviewers": [{"username": "omar", "state": "requested_changes"}],"#;
        let reviews = parsed(r#""action": "update","#, reviewers).reviews;
        let state = Some(PullRequestReview::ChangesRequested);
        let source_updated_at = field::time("2026-01-02T03:04:05Z");
        assert_eq!(reviews, [Review { reviewer: "omar".to_owned(), state, source_updated_at }]);
    }

    /// Returns the reviewers of a delivery in which vera approves, among these who requested
    /// changes.
    fn reviewers_with(usernames: &[String]) -> Vec<String> {
        let reviewer =
            |name: &String| format!(r#"{{"username": "{name}", "state": "requested_changes"}}"#);
        let reviewers: Vec<_> = usernames.iter().map(reviewer).collect();
        let reviewers = format!(r#""reviewers": [{}],"#, reviewers.join(", "));
        let reviews = parsed(r#""action": "approved","#, &reviewers).reviews;
        assert_eq!(reviews[0].state, Some(PullRequestReview::Approved));
        reviews.into_iter().map(|review| review.reviewer).collect()
    }

    #[test]
    fn limit_of_reviews_keeps_the_own_review_of_the_actor() {
        let many: Vec<_> = (0..40).map(|number| format!("r{number}")).collect();
        let kept = reviewers_with(&many);
        assert_eq!((kept.len(), kept[0].as_str()), (32, "vera"));
        assert_eq!(reviewers_with(&["omar".to_owned(), "vera".to_owned()]), ["vera", "omar"]);
    }

    #[test]
    fn nameless_reviews_do_not_count_towards_the_limit() {
        let mut usernames = vec![String::new(); 40];
        usernames.push("omar".to_owned());
        assert_eq!(reviewers_with(&usernames), ["vera", "omar"]);
    }
}
