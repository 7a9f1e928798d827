//! Storage of pull requests, their reviews and CI results.

use chrono::{DateTime, Utc};
use mc_connectors::{CiRun, PullRequestEvent};
use mc_domain::{Policy, ProjectId};
use mc_memory::content_filter::{filter_field, filter_field_text};
use mc_store::ci_results::{self, CiResult};
use mc_store::pull_requests::{self, NewPullRequest, NewReview};
use mc_store::{Error, Tx};

use crate::apply::source_time;

/// Stores a pull request and its reviews; returns whether any of them changed.
pub(crate) async fn apply_event(
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
