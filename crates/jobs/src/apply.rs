//! Storage of what providers report, by webhook or by sync: tasks, pull requests and documents.

pub mod doc_parts;

use chrono::{DateTime, Utc};
use mc_connectors::{CiRun, Issue, PullRequestEvent};
use mc_domain::{Policy, ProjectId};
use mc_memory::content_filter::{filter_field, filter_field_text};
use mc_store::ci_results::{self, CiResult};
use mc_store::pull_requests::{self, NewPullRequest, NewReview};
use mc_store::tasks::{NewTask, TaskLink};
use mc_store::{Error, Tx};

/// Returns the time of a reported state: the provider's, or the time of receipt if that is missing
/// or earlier. The time of a provider whose clock is ahead would suppress later updates.
pub(crate) fn source_time(
    reported: Option<DateTime<Utc>>,
    received_at: DateTime<Utc>,
) -> DateTime<Utc> {
    until_receipt(reported, received_at).unwrap_or(received_at)
}

/// Returns a reported time, or the time of receipt if that is earlier.
fn until_receipt(
    reported: Option<DateTime<Utc>>,
    received_at: DateTime<Utc>,
) -> Option<DateTime<Utc>> {
    reported.map(|reported| reported.min(received_at))
}

/// Returns the task of an issue, filtered by the project's policy.
pub(crate) fn task_from_issue(
    policy: &Policy,
    received_at: DateTime<Utc>,
    issue: Issue,
) -> NewTask {
    // The issue was masked on receipt; the policy may have changed since.
    let filtered = |text: &str| filter_field_text(policy, text);
    let links = issue.links.into_iter();
    NewTask {
        title: filter_field(policy, &issue.title),
        status: issue.status.as_deref().map(filtered),
        assignee: issue.assignee.as_deref().map(filtered),
        labels: issue.labels.iter().map(|label| filtered(label)).collect(),
        links: links
            .map(|link| TaskLink { title: filtered(&link.title), url: filtered(&link.url) })
            .collect(),
        opened_at: until_receipt(issue.opened_at, received_at),
        closed_at: until_receipt(issue.closed_at, received_at),
        is_whole: issue.is_whole,
        source_updated_at: Some(source_time(issue.updated_at, received_at)),
        external_id: issue.external_id,
    }
}

/// Stores a pull request and its reviews; returns whether any of them changed.
pub(crate) async fn apply_pull_request(
    tx: &mut Tx,
    project: ProjectId,
    policy: &Policy,
    event: &PullRequestEvent,
    received_at: DateTime<Utc>,
) -> Result<bool, Error> {
    let filtered = |text: &str| filter_field_text(policy, text);
    let pull_request = NewPullRequest {
        external_id: event.external_id.clone(),
        title: filter_field(policy, &event.title),
        state: event.state,
        author: event.author.as_deref().map(filtered),
        head_sha: event.head_sha.clone(),
        merge_sha: event.merge_sha.clone(),
        base_ref: event.base_ref.as_deref().map(filtered),
        url: filtered(&event.url),
        opened_at: until_receipt(event.opened_at, received_at),
        closed_at: until_receipt(event.closed_at, received_at),
        merged_at: until_receipt(event.merged_at, received_at),
        tasks: event.tasks.clone(),
        source_updated_at: source_time(event.updated_at, received_at),
    };
    let mut has_changed = pull_requests::upsert(tx, project, &pull_request).await?;
    for review in &event.reviews {
        let review = NewReview {
            reviewer: filtered(&review.reviewer),
            state: review.state,
            source_updated_at: source_time(review.source_updated_at, received_at),
        };
        has_changed |=
            pull_requests::upsert_review(tx, project, &event.external_id, &review).await?;
    }
    Ok(has_changed)
}

/// Stores the result of a CI run; returns whether it changed.
pub(crate) async fn apply_ci_run(
    tx: &mut Tx,
    project: ProjectId,
    policy: &Policy,
    run: CiRun,
    received_at: DateTime<Utc>,
) -> Result<bool, Error> {
    let result = CiResult {
        name: filter_field_text(policy, &run.name),
        url: filter_field_text(policy, &run.url),
        repository: run.repository,
        sha: run.sha,
        conclusion: run.conclusion,
        completed_at: run.completed_at,
        source_updated_at: source_time(run.updated_at, received_at),
    };
    ci_results::put(tx, project, &result).await
}
