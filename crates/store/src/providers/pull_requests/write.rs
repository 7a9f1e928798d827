//! Writes of pull requests, reviews and pushed commits.

use chrono::{DateTime, Utc};
use mc_domain::{ProjectId, PullRequestId, PullRequestReview, PullRequestState};
use mc_sanitizer::Sanitized;

use super::files;
use crate::{Result, Tx, uses};

/// Most reviewers stored per pull request.
const REVIEWERS_MAX: i64 = 100;
/// Days that closed and merged pull requests and pushed commits are kept, unless a record refers to
/// them.
pub(crate) const RETENTION_DAYS: i32 = 365;

/// A pull or merge request as its provider reports it.
#[derive(Debug, Clone)]
pub struct NewPullRequest {
    /// The provider's id, such as `octocat/hello!12`.
    pub external_id: String,
    /// Title of the pull request.
    pub title: Sanitized,
    /// Open, closed or merged.
    pub state: PullRequestState,
    /// Name of the author, if the provider sends it.
    pub author: Option<String>,
    /// Head commit.
    pub head_sha: Option<String>,
    /// Merge commit.
    pub merge_sha: Option<String>,
    /// Target branch.
    pub base_ref: Option<String>,
    /// URL for people; may be empty.
    pub url: String,
    /// When it was opened; an absent time keeps the stored one.
    pub opened_at: Option<DateTime<Utc>>,
    /// When it was closed or merged; if absent, the first closed state decides.
    pub closed_at: Option<DateTime<Utc>>,
    /// When it was merged; if absent, the first merged state decides.
    pub merged_at: Option<DateTime<Utc>>,
    /// Ids of the mentioned tasks at their trackers.
    pub tasks: Vec<String>,
    /// The provider's time of this state.
    pub source_updated_at: DateTime<Utc>,
}

/// A review of a pull request.
#[derive(Debug, Clone)]
pub struct NewReview {
    /// The reviewer's name at the provider.
    pub reviewer: String,
    /// State; `None` if the reviewer dismissed the review.
    pub state: Option<PullRequestReview>,
    /// The provider's time of this state.
    pub source_updated_at: DateTime<Utc>,
}

/// Stores a pull request, unless a newer state is stored; returns whether it did. Of two states
/// with the same time, the more final one wins. Its commits are added in any case.
pub async fn upsert(
    tx: &mut Tx,
    project: ProjectId,
    pull_request: &NewPullRequest,
) -> Result<bool> {
    let stored = sqlx::query_scalar!(
        "insert into pull_requests as c (id, project_id, external_id, title, state, author,
             head_sha, merge_sha,
             base_ref, url, source_updated_at, opened_at, closed_at, merged_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,
             case when $5 <> 'open' then coalesce($13::timestamptz, $14, $11) end,
             case when $5 = 'merged' then coalesce($14::timestamptz, $13, $11) end)
         on conflict (project_id, external_id) do update set
             title = excluded.title, state = excluded.state, author = coalesce(excluded.author,
                 c.author),
             head_sha = excluded.head_sha, merge_sha = excluded.merge_sha,
                 base_ref = excluded.base_ref,
             url = excluded.url, source_updated_at = excluded.source_updated_at, updated_at = now(),
             opened_at = coalesce(excluded.opened_at, c.opened_at),
             -- Later events of a closed pull request have later times.
             closed_at = case when $5 <> 'open' then coalesce($13::timestamptz, $14,
                 case when c.state <> 'open' then c.closed_at end, $11) end,
             merged_at = case when $5 = 'merged' then coalesce($14::timestamptz, $13,
                 case when c.state = 'merged' then c.merged_at end, $11) end
         where (excluded.source_updated_at, array_position(array['open', 'closed', 'merged'],
             excluded.state))
             >= (c.source_updated_at, array_position(array['open', 'closed', 'merged'], c.state))
         returning id",
        PullRequestId::generate().0,
        project.0,
        pull_request.external_id,
        pull_request.title.as_str(),
        pull_request.state.as_str(),
        pull_request.author,
        pull_request.head_sha,
        pull_request.merge_sha,
        pull_request.base_ref,
        pull_request.url,
        pull_request.source_updated_at,
        pull_request.opened_at,
        pull_request.closed_at,
        pull_request.merged_at
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    add_commits(tx, project, pull_request).await?;
    if let (PullRequestState::Merged, Some(sha)) = (pull_request.state, &pull_request.merge_sha) {
        uses::record_merged(tx, project, sha).await?;
    }
    match stored {
        Some(id) => {
            put_tasks(tx, project, id, &pull_request.tasks).await?;
            files::request(tx, id).await?;
        }
        None => set_author(tx, project, pull_request).await?,
    }
    Ok(stored.is_some())
}

/// Sets the author if it is unknown: GitLab names the author in the event of the opening alone,
/// which may arrive last.
async fn set_author(tx: &mut Tx, project: ProjectId, pull_request: &NewPullRequest) -> Result<()> {
    tx.run(sqlx::query!(
        "update pull_requests set author = $3 where project_id = $1 and external_id = $2
             and author is null",
        project.0,
        pull_request.external_id,
        pull_request.author
    ))
    .await
}

/// Adds the commits of a pull request, whichever event named them.
async fn add_commits(tx: &mut Tx, project: ProjectId, pull_request: &NewPullRequest) -> Result<()> {
    let mut commits: Vec<_> =
        pull_request.head_sha.iter().chain(&pull_request.merge_sha).cloned().collect();
    commits.sort();
    tx.run(sqlx::query!(
        "insert into pull_request_commits (project_id, sha, pull_request_id)
         select c.project_id, sha, c.id from pull_requests c, unnest($3::text[]) sha
         where c.project_id = $1 and c.external_id = $2 on conflict do nothing",
        project.0,
        pull_request.external_id,
        &commits
    ))
    .await
}

async fn put_tasks(
    tx: &mut Tx,
    project: ProjectId,
    id: uuid::Uuid,
    tasks: &[String],
) -> Result<()> {
    tx.run(sqlx::query!(
        "delete from pull_request_tasks where pull_request_id = $1 and external_id <> all ($2)",
        id,
        tasks
    ))
    .await?;
    tx.run(sqlx::query!(
        "insert into pull_request_tasks (project_id, external_id, pull_request_id)
         select $1, task, $2 from unnest($3::text[]) task on conflict do nothing",
        project.0,
        id,
        tasks
    ))
    .await
}

/// Stores a review, unless a newer one of the reviewer is stored; returns whether it did.
pub async fn upsert_review(
    tx: &mut Tx,
    project: ProjectId,
    external_id: &str,
    review: &NewReview,
) -> Result<bool> {
    let state = serde_json::json!({ "state": review.state, "at": review.source_updated_at });
    tx.has_changed(sqlx::query!(
        "update pull_requests set reviews = reviews || jsonb_build_object($3::text, $4::jsonb),
             updated_at = now()
         where project_id = $1 and external_id = $2
             and (reviews -> $3 is null or (reviews -> $3 ->> 'at')::timestamptz <= $5)
             and (reviews ? $3 or (select count(*) from jsonb_object_keys(reviews)) < $6)",
        project.0,
        external_id,
        review.reviewer,
        state,
        review.source_updated_at,
        REVIEWERS_MAX
    ))
    .await
}

/// Stores the commits of a push; returns how many are new.
pub async fn insert_pushed_commits(
    tx: &mut Tx,
    project: ProjectId,
    head: &str,
    commits: &[String],
) -> Result<u64> {
    let mut commits = commits.to_vec();
    // In one order everywhere, because concurrent inserts of the same commit wait for each other.
    commits.sort();
    tx.count_changed(sqlx::query!(
        "insert into pushed_commits (project_id, sha, head_sha)
         select $1, sha, $2 from unnest($3::text[]) sha where sha <> $2 on conflict do nothing",
        project.0,
        head,
        &commits
    ))
    .await
}

/// Deletes old closed and merged pull requests and old pushed commits of a project, except those
/// that records refer to, and old diffs of open pull requests.
pub(crate) async fn prune(tx: &mut Tx, project: ProjectId) -> Result<u64> {
    let pull_requests = tx
        .count_changed(sqlx::query!(
            "delete from pull_requests c
         where c.project_id = $1 and c.state <> 'open'
             and c.source_updated_at < now() - make_interval(days => $2)
             and not exists (
                 select from pull_request_commits k
                 left join pushed_commits p on p.project_id = k.project_id and p.head_sha = k.sha
                 join memory_records r on r.project_id = k.project_id and r.patch_sha
                     in (k.sha, p.sha)
                 where k.pull_request_id = c.id)",
            project.0,
            RETENTION_DAYS
        ))
        .await?;
    let pushed = tx
        .count_changed(sqlx::query!(
            "delete from pushed_commits p
         where p.project_id = $1 and p.pushed_at < now() - make_interval(days => $2)
             and not exists (
                 select from memory_records r where r.project_id = p.project_id
                     and r.patch_sha = p.sha)",
            project.0,
            RETENTION_DAYS
        ))
        .await?;
    Ok(pull_requests + pushed + files::prune_diffs(tx, project).await?)
}
