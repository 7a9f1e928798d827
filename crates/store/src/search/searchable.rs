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
    /// Commit of the last index run; empty outside git.
    pub source_ref: String,
    /// Whether the last successful run stored every file of one commit, and no run is open.
    pub is_ready: bool,
    /// End of the last successful run.
    pub indexed_at: Option<DateTime<Utc>>,
}

/// Returns the repositories of a project, the one that was indexed last first.
pub async fn repositories(store: &Store, project: ProjectId) -> Result<Vec<SearchableRepository>> {
    let rows = sqlx::query!(
        r#"select r.id, r.owner, r.name, r.namespace as "namespace!", r.source_ref, r.indexed_at,
               r.indexed_at is not null
                   and not exists (select from ingest_runs o where o.repository_id = r.id
                                   and o.status in ('QUEUED', 'RUNNING'))
                   and coalesce(last.failed_files = 0, false) as "is_ready!"
           from repositories r
           left join lateral (
               select i.failed_files from ingest_runs i
               where i.repository_id = r.id and i.status = 'SUCCEEDED'
               order by i.queued_at desc limit 1) last on true
           where r.project_id = $1
           order by r.indexed_at desc nulls last, r.id"#,
        project.0
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    read!(each row in rows => SearchableRepository {
        id: row.id.into(), owner, name, namespace, source_ref, is_ready, indexed_at
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
