//! What git hosts tell of pull and merge requests and of CI, as it is kept.

use chrono::{DateTime, Utc};
use mc_connectors::{Change, CiRun};
use mc_domain::{Policy, ProjectId};
use mc_memory::gate::{pass_alone, pass_text_alone};
use mc_store::changes::{self, NewChange, NewReview};
use mc_store::ci::{self, CiResult};
use mc_store::{Error, Tx};

/// Takes in what a host says of a change, and what reviewers said of it; answers whether any of it is news.
pub(crate) async fn change(
    tx: &mut Tx,
    project: ProjectId,
    policy: &Policy,
    change: &Change,
    heard_at: DateTime<Utc>,
) -> Result<bool, Error> {
    let plain = |text: &str| pass_text_alone(policy, text);
    let new = NewChange {
        external_id: change.external_id.clone(),
        title: pass_alone(policy, &change.title),
        state: change.state,
        author: change.author.as_deref().map(plain),
        head_sha: change.head_sha.clone(),
        merge_sha: change.merge_sha.clone(),
        base: change.base.as_deref().map(plain),
        url: plain(&change.url),
        tasks: change.tasks.clone(),
        said_at: at(change.updated_at, heard_at),
    };
    let mut is_news = changes::upsert(tx, project, &new).await?;
    for review in &change.reviews {
        let said_at = at(review.said_at, heard_at);
        let review = NewReview { reviewer: plain(&review.reviewer), state: review.state, said_at };
        is_news |= changes::reviewed(tx, project, &change.external_id, &review).await?;
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
        name: pass_text_alone(policy, &run.name),
        url: pass_text_alone(policy, &run.url),
        repository: run.repository,
        sha: run.sha,
        conclusion: run.conclusion,
        finished_at: run.finished_at,
        said_at: at(run.updated_at, heard_at),
    };
    ci::put(tx, project, &result).await
}

/// When something was said. A clock that is ahead would keep out all that comes until then.
pub(crate) fn at(said: Option<DateTime<Utc>>, heard_at: DateTime<Utc>) -> DateTime<Utc> {
    said.map_or(heard_at, |said| said.min(heard_at))
}
