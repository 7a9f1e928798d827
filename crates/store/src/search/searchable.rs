//! Repositories that are ready to be searched, and the files that introduce them.

use chrono::{DateTime, Utc};
use mc_domain::{PassageId, ProjectId, RepositoryId};

use crate::row::read;
use crate::{Result, Store};

/// An indexed repository, as searches need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchableRepository {
    /// Identifier.
    pub id: RepositoryId,
    /// Owner.
    pub owner: String,
    /// Name.
    pub name: String,
    /// `repo:owner/name`, the source of its documents.
    pub namespace: String,
    /// Commit of the last successful run; empty outside git.
    pub source_ref: String,
    /// Whether its index is complete.
    pub readiness: Readiness,
    /// End of the last successful run.
    pub indexed_at: Option<DateTime<Utc>>,
}

/// State of the index of a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// Its files are those of one commit: no run is open, the last one that changed it has ended
    /// well, and could read and store every file.
    Ready,
    /// No run has indexed it, and none is open.
    NeverIndexed,
    /// A run is queued or running.
    RunIsOpen,
    /// The last run that changed the index has failed, or was cancelled.
    RunFailed,
    /// The last run that changed the index could not read or store some files.
    FilesFailed,
}

impl SearchableRepository {
    /// Whether its index is complete.
    pub fn is_ready(&self) -> bool {
        self.readiness == Readiness::Ready
    }
}

/// Returns the repositories of a project, the one that was indexed last first.
pub async fn repositories(store: &Store, project: ProjectId) -> Result<Vec<SearchableRepository>> {
    read_repositories(store, project, None).await
}

/// Returns one repository of a project.
pub async fn repository(
    store: &Store,
    project: ProjectId,
    repository: RepositoryId,
) -> Result<Option<SearchableRepository>> {
    Ok(read_repositories(store, project, Some(repository)).await?.pop())
}

/// Returns the repositories that the caller of `store` has fetched in a project, each with the
/// time, the last one first.
pub async fn last_fetched(
    store: &Store,
    project: ProjectId,
) -> Result<Vec<(RepositoryId, DateTime<Utc>)>> {
    let repositories = sqlx::query!(
        r#"select repository_id as "repository_id!", fetched_at as "fetched_at!" from workspaces
           where project_id = $1 and owner_id = (select mc.principal())
               and repository_id is not null and fetched_at is not null
           order by fetched_at desc limit 20"#,
        project.0
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    Ok(repositories.into_iter().map(|row| (row.repository_id.into(), row.fetched_at)).collect())
}

/// Whether a project has documents that belong to none of its repositories.
pub async fn has_other_documents(store: &Store, project: ProjectId) -> Result<bool> {
    let is_any = sqlx::query_scalar!(
        r#"select exists (
               select from docs d where d.project_id = $1 and d.file_id is null) as "is_any!""#,
        project.0
    )
    .fetch_one(&mut *store.read().await?)
    .await?;
    Ok(is_any)
}

/// The only definition of [`Readiness`].
async fn read_repositories(
    store: &Store,
    project: ProjectId,
    repository: Option<RepositoryId>,
) -> Result<Vec<SearchableRepository>> {
    let rows = sqlx::query!(
        r#"select r.id, r.owner, r.name, r.namespace as "namespace!", r.source_ref, r.indexed_at,
               r.is_partial, r.failed_files,
               exists (select from ingest_runs o where o.repository_id = r.id
                       and o.status in ('QUEUED', 'RUNNING')) as "has_open_run!"
           from repositories r
           where r.project_id = $1 and ($2::uuid is null or r.id = $2)
           order by r.indexed_at desc nulls last, r.id"#,
        project.0,
        repository.map(|repository| repository.0)
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    read!(each row in rows => SearchableRepository {
        id: row.id.into(), owner, name, namespace, source_ref, indexed_at,
        readiness: match row {
            _ if row.has_open_run => Readiness::RunIsOpen,
            _ if row.is_partial => Readiness::RunFailed,
            _ if row.indexed_at.is_none() => Readiness::NeverIndexed,
            _ if row.failed_files > 0 => Readiness::FilesFailed,
            _ => Readiness::Ready,
        },
    })
}

/// Returns the first passages of the files of a repository whose path matches a regular expression,
/// at most `limit`: the files nearest to the root first, documents before code.
pub async fn first_passages(
    store: &Store,
    repository: RepositoryId,
    path_regex: &str,
    limit: i64,
) -> Result<Vec<PassageId>> {
    let ids = sqlx::query_scalar!(
        r#"select p.id as "id!" from files f
           left join docs d on d.file_id = f.id
           cross join lateral (
               select id from passages where file_id = f.id and ordinal = 0
               union all
               select id from passages where doc_id = d.id and ordinal = 0) p
           where f.repository_id = $1 and f.path ~* $2
           order by cardinality(string_to_array(f.path, '/')), d.id is null, f.path
           limit $3"#,
        repository.0,
        path_regex,
        limit
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    Ok(ids.into_iter().map(PassageId::from).collect())
}
