//! What git hosts tell of pull and merge requests and of CI, as it is kept.

use chrono::{DateTime, Utc};
use mc_connectors::{CiRun, PullRequestEvent};
use mc_domain::{Policy, ProjectId};
use mc_memory::content_filter::{filter_field, filter_field_text};
use mc_store::ci_results::{self, CiResult};
use mc_store::pull_requests::{self, NewPullRequest, NewReview};
use mc_store::{Error, Tx};

/// Takes in what a host says of a change, and what reviewers said of it; answers whether any of it
/// is news.
pub(crate) async fn change(
    tx: &mut Tx,
    project: ProjectId,
    policy: &Policy,
    change: &PullRequestEvent,
    heard_at: DateTime<Utc>,
) -> Result<bool, Error> {
    let plain = |text: &str| filter_field_text(policy, text);
    let new = NewPullRequest {
        external_id: change.external_id.clone(),
        title: filter_field(policy, &change.title),
        state: change.state,
        author: change.author.as_deref().map(plain),
        head_sha: change.head_sha.clone(),
        merge_sha: change.merge_sha.clone(),
        base_ref: change.base_ref.as_deref().map(plain),
        url: plain(&change.url),
        tasks: change.tasks.clone(),
        source_updated_at: at(change.updated_at, heard_at),
    };
    let mut is_news = pull_requests::upsert(tx, project, &new).await?;
    for review in &change.reviews {
        let source_updated_at = at(review.source_updated_at, heard_at);
        let review =
            NewReview { reviewer: plain(&review.reviewer), state: review.state, source_updated_at };
        is_news |= pull_requests::upsert_review(tx, project, &change.external_id, &review).await?;
    }
    Ok(is_news)
}

/// Takes in how a run of CI stands; answers whether that is news.
pub(crate) async fn ci_run(
    tx: &mut Tx,
    project: ProjectId,
    policy: &Policy,
    run: CiRun,
    heard_at: DateTime<Utc>,
) -> Result<bool, Error> {
    let result = CiResult {
        name: filter_field_text(policy, &run.name),
        url: filter_field_text(policy, &run.url),
        repository: run.repository,
        sha: run.sha,
        conclusion: run.conclusion,
        completed_at: run.completed_at,
        source_updated_at: at(run.updated_at, heard_at),
    };
    ci_results::put(tx, project, &result).await
}

/// When something was said. A clock that is ahead would keep out all that comes until then.
pub(crate) fn at(said: Option<DateTime<Utc>>, heard_at: DateTime<Utc>) -> DateTime<Utc> {
    said.map_or(heard_at, |said| said.min(heard_at))
}
