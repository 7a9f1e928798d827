//! Results of CI runs on commits. `mc.patch_ci_status` derives the status of a patch from them.

use chrono::{DateTime, Utc};
use mc_domain::{CiConclusion, ProjectId};

use crate::error::word;
use crate::pull_requests::RETENTION_DAYS;
use crate::row::read;
use crate::{Result, Store, Tx};

/// The result of a CI run on a commit.
#[derive(Debug, Clone)]
pub struct CiResult {
    /// The repository at its provider, such as `octocat/hello`.
    pub repository: String,
    /// The commit.
    pub sha: String,
    /// Name of the run; a later run of the same name replaces it.
    pub name: String,
    /// Result of the run; pending while it is not completed.
    pub conclusion: CiConclusion,
    /// URL for people; may be empty.
    pub url: String,
    /// End of the run.
    pub completed_at: Option<DateTime<Utc>>,
    /// The provider's time of this state.
    pub source_updated_at: DateTime<Utc>,
}

/// Stores a result, unless a newer one of the same name is stored; returns whether it did. A
/// pending run never replaces a completed one. Of two with the same time a success wins: runs are
/// repeated because they failed.
pub async fn put(tx: &mut Tx, project: ProjectId, result: &CiResult) -> Result<bool> {
    tx.has_changed(sqlx::query!(
        "insert into ci_results as c (project_id, repository, sha, name, conclusion, url,
             completed_at, source_updated_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8)
         on conflict (project_id, sha, repository, name) do update set
             conclusion = excluded.conclusion, url = excluded.url,
                 completed_at = excluded.completed_at,
             source_updated_at = excluded.source_updated_at
         where (excluded.conclusion <> 'pending', excluded.source_updated_at,
             excluded.conclusion = 'success',
                excluded.conclusion)
             > (c.conclusion <> 'pending', c.source_updated_at, c.conclusion = 'success',
                 c.conclusion)",
        project.0,
        result.repository,
        result.sha,
        result.name,
        result.conclusion.as_str(),
        result.url,
        result.completed_at,
        result.source_updated_at
    ))
    .await
}

/// Returns the results of a commit in all repositories of a project, by name.
pub async fn of_commit(store: &Store, project: ProjectId, sha: &str) -> Result<Vec<CiResult>> {
    let rows = sqlx::query!(
        "select repository, sha, name, conclusion, url, completed_at, source_updated_at
         from ci_results where project_id = $1 and sha = $2 order by repository, name",
        project.0,
        sha
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    read!(each row in rows => CiResult {
        repository, sha, name, conclusion: word(&row.conclusion)?, url, completed_at,
        source_updated_at
    })
}

/// Deletes old results of a project, except those of commits that a record or a pull request names.
pub(crate) async fn prune(tx: &mut Tx, project: ProjectId) -> Result<u64> {
    tx.count_changed(sqlx::query!(
        "delete from ci_results c
         where c.project_id = $1 and c.source_updated_at < now() - make_interval(days => $2)
             and not exists (
                 select from memory_records r where r.project_id = c.project_id
                     and r.patch_sha = c.sha)
             and not exists (
                 select from pull_request_commits k where k.project_id = c.project_id
                     and k.sha = c.sha)",
        project.0,
        RETENTION_DAYS
    ))
    .await
}
