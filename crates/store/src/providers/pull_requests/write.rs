//! Writes pull requests as their hosts report them.

use chrono::{DateTime, Utc};
use mc_domain::{ProjectId, PullRequestId, PullRequestReview, PullRequestState};
use mc_sanitizer::Sanitized;

use crate::{Error, Tx, uses};

/// Reviewers of one change whose word is kept.
const REVIEWERS: i64 = 100;
/// Days that a change that is over is kept, and the commits of pushes, unless a record is linked by them.
pub(crate) const TOLD_DAYS: i32 = 365;

/// What a git host says of a pull or merge request.
#[derive(Debug, Clone)]
pub struct NewPullRequest {
    /// The host's own id, such as `octocat/hello!12`.
    pub external_id: String,
    /// Title.
    pub title: Sanitized,
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
    /// When the host said so.
    pub source_updated_at: DateTime<Utc>,
}

/// What a reviewer said of a change.
#[derive(Debug, Clone)]
pub struct NewReview {
    /// Who, as the host calls them.
    pub reviewer: String,
    /// What; `None` where they took back what they had said.
    pub state: Option<PullRequestReview>,
    /// When.
    pub source_updated_at: DateTime<Utc>,
}

/// Writes what a host says of a change, unless it has said otherwise since; `false` where it has. Of two words of one
/// moment the one counts that says it has come further. Its commits are taken in either way.
pub async fn upsert(
    tx: &mut Tx,
    project: ProjectId,
    change: &NewPullRequest,
) -> Result<bool, Error> {
    let told = sqlx::query_scalar!(
        "insert into pull_requests as c (id, project_id, external_id, title, state, author, head_sha, merge_sha,
             base_ref, url, source_updated_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
         on conflict (project_id, external_id) do update set
             title = excluded.title, state = excluded.state, author = coalesce(excluded.author, c.author),
             head_sha = excluded.head_sha, merge_sha = excluded.merge_sha, base_ref = excluded.base_ref,
             url = excluded.url, source_updated_at = excluded.source_updated_at, updated_at = now()
         where (excluded.source_updated_at, array_position(array['open', 'closed', 'merged'], excluded.state))
             >= (c.source_updated_at, array_position(array['open', 'closed', 'merged'], c.state))
         returning id",
        PullRequestId::generate().0,
        project.0,
        change.external_id,
        change.title.as_str(),
        change.state.as_str(),
        change.author,
        change.head_sha,
        change.merge_sha,
        change.base_ref,
        change.url,
        change.source_updated_at
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    add_commits(tx, project, change).await?;
    if let (PullRequestState::Merged, Some(sha)) = (change.state, &change.merge_sha) {
        uses::merged(tx, project, sha).await?;
    }
    match told {
        Some(id) => put_tasks(tx, project, id, &change.tasks).await?,
        None => name_author(tx, project, change).await?,
    }
    Ok(told.is_some())
}

/// GitLab says who wants it when it is opened, and that may be told last.
async fn name_author(
    tx: &mut Tx,
    project: ProjectId,
    change: &NewPullRequest,
) -> Result<(), Error> {
    sqlx::query!(
        "update pull_requests set author = $3 where project_id = $1 and external_id = $2 and author is null",
        project.0,
        change.external_id,
        change.author
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(())
}

/// Notes which commits are the change's, whichever word of the host named them.
async fn add_commits(
    tx: &mut Tx,
    project: ProjectId,
    change: &NewPullRequest,
) -> Result<(), Error> {
    let mut commits: Vec<_> = change.head_sha.iter().chain(&change.merge_sha).cloned().collect();
    commits.sort();
    sqlx::query!(
        "insert into pull_request_commits (project_id, sha, pull_request_id)
         select c.project_id, sha, c.id from pull_requests c, unnest($3::text[]) sha
         where c.project_id = $1 and c.external_id = $2 on conflict do nothing",
        project.0,
        change.external_id,
        &commits
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(())
}

async fn put_tasks(
    tx: &mut Tx,
    project: ProjectId,
    id: uuid::Uuid,
    tasks: &[String],
) -> Result<(), Error> {
    sqlx::query!(
        "delete from pull_request_tasks where pull_request_id = $1 and external_id <> all ($2)",
        id,
        tasks
    )
    .execute(&mut *tx.0)
    .await?;
    sqlx::query!(
        "insert into pull_request_tasks (project_id, external_id, pull_request_id)
         select $1, task, $2 from unnest($3::text[]) task on conflict do nothing",
        project.0,
        id,
        tasks
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(())
}

/// Notes what a reviewer said of a change, unless they have said otherwise since; `false` where they have.
pub async fn upsert_review(
    tx: &mut Tx,
    project: ProjectId,
    external_id: &str,
    review: &NewReview,
) -> Result<bool, Error> {
    let said = serde_json::json!({ "state": review.state, "at": review.source_updated_at });
    let noted = sqlx::query!(
        "update pull_requests set reviews = reviews || jsonb_build_object($3::text, $4::jsonb), updated_at = now()
         where project_id = $1 and external_id = $2
             and (reviews -> $3 is null or (reviews -> $3 ->> 'at')::timestamptz <= $5)
             and (reviews ? $3 or (select count(*) from jsonb_object_keys(reviews)) < $6)",
        project.0,
        external_id,
        review.reviewer,
        said,
        review.source_updated_at,
        REVIEWERS
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(noted.rows_affected() == 1)
}

/// Notes the commits that came with a push; answers how many were not known to have.
pub async fn insert_pushed_commits(
    tx: &mut Tx,
    project: ProjectId,
    head: &str,
    commits: &[String],
) -> Result<u64, Error> {
    let mut commits = commits.to_vec();
    // In one order everywhere: who adds one waits for who adds the same.
    commits.sort();
    let noted = sqlx::query!(
        "insert into pushed_commits (project_id, sha, head_sha)
         select $1, sha, $2 from unnest($3::text[]) sha where sha <> $2 on conflict do nothing",
        project.0,
        head,
        &commits
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(noted.rows_affected())
}

/// Forgets changes of a project that have long been over, and what was pushed to it long ago, but for what records
/// are linked by.
pub(crate) async fn prune(tx: &mut Tx, project: ProjectId) -> Result<u64, Error> {
    let changes = sqlx::query!(
        "delete from pull_requests c
         where c.project_id = $1 and c.state <> 'open' and c.source_updated_at < now() - make_interval(days => $2)
             and not exists (
                 select from pull_request_commits k
                 left join pushed_commits p on p.project_id = k.project_id and p.head_sha = k.sha
                 join memory_records r on r.project_id = k.project_id and r.patch_sha in (k.sha, p.sha)
                 where k.pull_request_id = c.id)",
        project.0,
        TOLD_DAYS
    )
    .execute(&mut *tx.0)
    .await?;
    let pushed = sqlx::query!(
        "delete from pushed_commits p
         where p.project_id = $1 and p.pushed_at < now() - make_interval(days => $2)
             and not exists (
                 select from memory_records r where r.project_id = p.project_id and r.patch_sha = p.sha)",
        project.0,
        TOLD_DAYS
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(changes.rows_affected() + pushed.rows_affected())
}
