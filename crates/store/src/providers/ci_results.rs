//! How the runs of CI on commits ended. What they say of a patch is decided by `mc.ci_of_patch`.

use chrono::{DateTime, Utc};
use mc_domain::{CiConclusion, ProjectId};

use crate::error::word;
use crate::pull_requests::TOLD_DAYS;
use crate::{Error, Store, Tx};

/// How a run of CI on a commit ended.
#[derive(Debug, Clone)]
pub struct CiResult {
    /// The repository at its host, such as `octocat/hello`.
    pub repository: String,
    /// The commit.
    pub sha: String,
    /// What ran; another run of the same name takes its place.
    pub name: String,
    /// How it ended.
    pub conclusion: CiConclusion,
    /// Where people look at it; may be empty.
    pub url: String,
    /// When it ended.
    pub completed_at: Option<DateTime<Utc>>,
    /// When the host said so.
    pub source_updated_at: DateTime<Utc>,
}

/// Writes how a run ended, unless that is known of a newer one of that name; `false` where it is. What has not ended
/// says nothing yet, and never takes the place of what has. Of two that ended at one moment a success counts: runs
/// are repeated because they failed.
pub async fn put(tx: &mut Tx, project: ProjectId, result: &CiResult) -> Result<bool, Error> {
    let told = sqlx::query!(
        "insert into ci_results as c (project_id, repository, sha, name, conclusion, url, completed_at, source_updated_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8)
         on conflict (project_id, sha, repository, name) do update set
             conclusion = excluded.conclusion, url = excluded.url, completed_at = excluded.completed_at,
             source_updated_at = excluded.source_updated_at
         where (excluded.conclusion <> 'pending', excluded.source_updated_at, excluded.conclusion = 'success',
                excluded.conclusion)
             > (c.conclusion <> 'pending', c.source_updated_at, c.conclusion = 'success', c.conclusion)",
        project.0,
        result.repository,
        result.sha,
        result.name,
        result.conclusion.as_str(),
        result.url,
        result.completed_at,
        result.source_updated_at
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(told.rows_affected() == 1)
}

/// How the runs on a commit ended, in all of a project's repositories, by name.
pub async fn of_commit(
    store: &Store,
    project: ProjectId,
    sha: &str,
) -> Result<Vec<CiResult>, Error> {
    let rows = sqlx::query!(
        "select repository, sha, name, conclusion, url, completed_at, source_updated_at
         from ci_results where project_id = $1 and sha = $2 order by repository, name",
        project.0,
        sha
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(CiResult {
                repository: row.repository,
                sha: row.sha,
                name: row.name,
                conclusion: word(&row.conclusion)?,
                url: row.url,
                completed_at: row.completed_at,
                source_updated_at: row.source_updated_at,
            })
        })
        .collect()
}

/// Forgets results of a project of long ago, but for those of commits that a record or a change names.
pub(crate) async fn prune(tx: &mut Tx, project: ProjectId) -> Result<u64, Error> {
    let gone = sqlx::query!(
        "delete from ci_results c
         where c.project_id = $1 and c.source_updated_at < now() - make_interval(days => $2)
             and not exists (
                 select from memory_records r where r.project_id = c.project_id and r.patch_sha = c.sha)
             and not exists (
                 select from pull_request_commits k where k.project_id = c.project_id and k.sha = c.sha)",
        project.0,
        TOLD_DAYS
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(gone.rows_affected())
}
