//! Indexed repositories.

use chrono::{DateTime, Utc};
use mc_domain::{AuditAction, FileId, IngestRunId, IngestStatus, ProjectId, RepositoryId};
use mc_sanitizer::mask;
use serde_json::json;
use sqlx::PgExecutor;

use crate::audit::{self, Chain, NewEvent};
use crate::error::word;
use crate::{Error, Result, Store, Tx, files, uses};

/// A repository as stored.
#[derive(Debug, Clone)]
pub struct Repository {
    /// Identifier.
    pub id: RepositoryId,
    /// Project that it belongs to.
    pub project_id: ProjectId,
    /// Owner, such as `pallets`; `local` for a directory.
    pub owner: String,
    /// Name, such as `flask`.
    pub name: String,
    /// `repo:owner/name`.
    pub namespace: String,
    /// A path or a URL, without credentials.
    pub location: String,
    /// Whether a service administrator requested the last run with the scope `ingest:local`. It may
    /// then read the service's machine and private network. Runs that a job repeats keep this.
    pub allows_private_network: bool,
    /// Patterns of the only files to index, in the syntax of `.gitignore`; empty for all.
    pub include_patterns: Vec<String>,
    /// Patterns of files that are not indexed, in the same syntax.
    pub exclude_patterns: Vec<String>,
    /// Commit of the last index run; empty outside git.
    pub source_ref: String,
    /// End of the last successful run.
    pub indexed_at: Option<DateTime<Utc>>,
}

/// Finds a repository by owner and name, or adds it. [`Error::LocationConflict`] if the name
/// belongs to another location: a run from here would delete everything indexed from there.
pub async fn ensure(
    tx: &mut Tx,
    project: ProjectId,
    owner: &str,
    name: &str,
    location: &str,
) -> Result<Repository> {
    let repository = find_or_insert(tx, project, owner, name, location).await?;
    if repository.location == location {
        Ok(repository)
    } else {
        Err(Error::LocationConflict { namespace: repository.namespace })
    }
}

/// Like [`ensure`], for a repository that moved: replaces its location and records an audit event.
/// The next run deletes the files that the new location lacks. The caller sets the network access
/// ([`set_network_access`]), which the database withdraws.
pub async fn relocate(
    tx: &mut Tx,
    project: ProjectId,
    owner: &str,
    name: &str,
    location: &str,
) -> Result<Repository> {
    let repository = find_or_insert(tx, project, owner, name, location).await?;
    if repository.location == location {
        return Ok(repository);
    }
    let id = repository.id;
    // Its files are those of the former location.
    tx.run(sqlx::query!(
        "update repositories set location = $2, is_partial = is_partial or indexed_at is not null
         where id = $1",
        id.0,
        location
    ))
    .await?;
    // A path may contain an email address.
    let [from, to] =
        [repository.location.as_str(), location].map(|place| mask(place).text.into_string());
    let event =
        NewEvent::new(AuditAction::RepositoryRelocated, id).with(json!({ "from": from, "to": to }));
    let actor = tx.principal();
    audit::add(tx, Chain::Project(project), actor, &[event]);
    Ok(Repository { location: location.to_owned(), ..repository })
}

/// Returns the repository with this name, locked until the transaction ends, or adds it.
async fn find_or_insert(
    tx: &mut Tx,
    project: ProjectId,
    owner: &str,
    name: &str,
    location: &str,
) -> Result<Repository> {
    Ok(sqlx::query_as!(
        Repository,
        r#"insert into repositories (id, project_id, owner, name, location)
           values ($1, $2, $3, $4, $5)
           on conflict (project_id, owner, name) do update set location = repositories.location
           returning id, project_id, owner, name, namespace as "namespace!", location,
               allows_private_network, include_patterns, exclude_patterns, source_ref, indexed_at"#,
        RepositoryId::generate().0,
        project.0,
        owner,
        name,
        location
    )
    .fetch_one(&mut *tx.0)
    .await?)
}

/// Returns the repositories of a project that were neither indexed nor requested within `days`.
pub async fn list_stale(store: &Store, project: ProjectId, days: i32) -> Result<Vec<Repository>> {
    Ok(sqlx::query_as!(
        Repository,
        r#"select r.id, r.project_id, r.owner, r.name, r.namespace as "namespace!", r.location,
                  r.allows_private_network, r.include_patterns, r.exclude_patterns, r.source_ref,
                  r.indexed_at
           from repositories r
           where r.project_id = $1
             and coalesce(r.indexed_at, r.created_at) < now() - make_interval(days => $2)
             and not exists (select from ingest_runs i where i.repository_id = r.id
                             and i.queued_at > now() - make_interval(days => $2))
           order by r.id"#,
        project.0,
        days
    )
    .fetch_all(&mut *store.read().await?)
    .await?)
}

/// Sets whether index runs may read the repository from the service's private network or machine,
/// which a service administrator with the scope `ingest:local` may allow. The last request decides.
pub async fn set_network_access(
    tx: &mut Tx,
    id: RepositoryId,
    allows_private_network: bool,
) -> Result<()> {
    if allows_private_network {
        return tx.call_proven("allow_private_network", id.0).await.map(drop);
    }
    tx.run(sqlx::query!(
        "update repositories set allows_private_network = $2 where id = $1",
        id.0,
        allows_private_network
    ))
    .await
}

/// Returns the repository with this owner and name.
pub async fn find(
    store: &Store,
    project: ProjectId,
    owner: &str,
    name: &str,
) -> Result<Option<Repository>> {
    Ok(sqlx::query_as!(
        Repository,
        r#"select id, project_id, owner, name, namespace as "namespace!", location,
               allows_private_network, include_patterns, exclude_patterns, source_ref, indexed_at
           from repositories where project_id = $1 and owner = $2 and name = $3"#,
        project.0,
        owner,
        name
    )
    .fetch_optional(&mut *store.read().await?)
    .await?)
}

/// Returns the only repository at a location, if it has another name than this one: it was renamed,
/// and a request that names the location alone means it.
pub async fn find_renamed(
    tx: &mut Tx,
    project: ProjectId,
    owner: &str,
    name: &str,
    location: &str,
) -> Result<Option<Repository>> {
    let at_location =
        list_in(tx, project).await?.into_iter().filter(|one| one.location == location);
    let mut at_location: Vec<_> = at_location.collect();
    let has_name = at_location.iter().any(|one| one.owner == owner && one.name == name);
    Ok(if has_name || at_location.len() > 1 { None } else { at_location.pop() })
}

/// Returns the repository with this id.
pub async fn by_id(store: &Store, id: RepositoryId) -> Result<Option<Repository>> {
    Ok(sqlx::query_as!(
        Repository,
        r#"select id, project_id, owner, name, namespace as "namespace!", location,
               allows_private_network, include_patterns, exclude_patterns, source_ref, indexed_at
           from repositories where id = $1"#,
        id.0
    )
    .fetch_optional(&mut *store.read().await?)
    .await?)
}

/// Returns the repositories of a project, by name.
pub async fn list(store: &Store, project: ProjectId) -> Result<Vec<Repository>> {
    select(&mut *store.read().await?, project).await
}

/// Like [`list`], within a transaction.
pub async fn list_in(tx: &mut Tx, project: ProjectId) -> Result<Vec<Repository>> {
    select(&mut *tx.0, project).await
}

async fn select(executor: impl PgExecutor<'_>, project: ProjectId) -> Result<Vec<Repository>> {
    Ok(sqlx::query_as!(
        Repository,
        r#"select id, project_id, owner, name, namespace as "namespace!", location,
               allows_private_network, include_patterns, exclude_patterns, source_ref, indexed_at
           from repositories where project_id = $1 order by owner, name"#,
        project.0
    )
    .fetch_all(executor)
    .await?)
}

/// A repository of a list.
#[derive(Debug)]
pub struct ListedRepository {
    /// The repository.
    pub repository: Repository,
    /// Number of its indexed files.
    pub file_count: i64,
    /// Its newest index run, with the status.
    pub newest_run: Option<(IngestRunId, IngestStatus)>,
}

/// Returns the repositories of a project, by name, with their sizes.
pub async fn list_with_sizes(store: &Store, project: ProjectId) -> Result<Vec<ListedRepository>> {
    let mut session = store.read().await?;
    let repositories = select(&mut *session, project).await?;
    let rows = sqlx::query!(
        r#"select r.id, (select count(*) from files f where f.repository_id = r.id) as "files!",
                  i.id as "newest_run?", i.status as "newest_status?"
           from repositories r left join lateral (
               select id, status from ingest_runs where repository_id = r.id
               order by queued_at desc limit 1) i on true
           where r.project_id = $1"#,
        project.0
    )
    .fetch_all(&mut *session)
    .await?;
    let mut listed = Vec::with_capacity(repositories.len());
    for repository in repositories {
        let row = rows.iter().find(|row| row.id == repository.id.0);
        let newest_run = match row.and_then(|row| row.newest_run.zip(row.newest_status.as_ref())) {
            Some((id, status)) => Some((IngestRunId::from(id), word(status)?)),
            None => None,
        };
        let file_count = row.map_or(0, |row| row.files);
        listed.push(ListedRepository { repository, file_count, newest_run });
    }
    Ok(listed)
}

/// Sets the patterns of the files that index runs read; `None` keeps the present ones.
pub async fn set_patterns(
    tx: &mut Tx,
    id: RepositoryId,
    include: Option<&[String]>,
    exclude: Option<&[String]>,
) -> Result<()> {
    tx.run(sqlx::query!(
        "update repositories set include_patterns = coalesce($2, include_patterns),
             exclude_patterns = coalesce($3, exclude_patterns)
         where id = $1",
        id.0,
        include,
        exclude
    ))
    .await
}

/// Renames a repository, with the documents and the integrations that name it.
/// [`Error::AlreadyExists`] if another repository of the project has the name.
pub async fn rename(tx: &mut Tx, repository: &Repository, owner: &str, name: &str) -> Result<()> {
    let namespace = format!("repo:{owner}/{name}");
    let rename = sqlx::query!(
        "update repositories set owner = $2, name = $3 where id = $1",
        repository.id.0,
        owner,
        name
    );
    if !tx.has_changed(rename).await? {
        return Err(Error::DeletedConcurrently);
    }
    tx.run(sqlx::query!(
        "update docs d set source = $2 from files f
         where f.id = d.file_id and f.repository_id = $1",
        repository.id.0,
        namespace
    ))
    .await?;
    tx.run(sqlx::query!(
        "update integrations set resource = $3
         where project_id = $1 and connector = 'git' and resource = $2",
        repository.project_id.0,
        format!("{}/{}", repository.owner, repository.name),
        format!("{owner}/{name}")
    ))
    .await?;
    let event = NewEvent::new(AuditAction::RepositoryRenamed, repository.id)
        .with(json!({ "from": repository.namespace, "to": namespace }));
    audit::record(tx, event);
    Ok(())
}

/// Deletes a repository, by its namespace, with its indexed files; returns their number.
pub async fn remove(tx: &mut Tx, project: ProjectId, namespace: &str) -> Result<u64> {
    let files = sqlx::query_scalar!(
        "select f.id from files f join repositories r on r.id = f.repository_id
         where r.project_id = $1 and r.namespace = $2",
        project.0,
        namespace
    )
    .fetch_all(&mut *tx.0)
    .await?;
    let files: Vec<_> = files.into_iter().map(FileId::from).collect();
    files::delete(tx, &files).await?;
    tx.run(sqlx::query!(
        "delete from repositories where project_id = $1 and namespace = $2",
        project.0,
        namespace
    ))
    .await?;
    Ok(files.len() as u64)
}

/// Locks the repository of a run until the transaction ends, and returns its id; `None` if it is
/// deleted. To be called before the run changes: a deletion of the repository locks them in this
/// order.
pub(crate) async fn lock_of_run(tx: &mut Tx, run: IngestRunId) -> Result<Option<RepositoryId>> {
    let repository = sqlx::query_scalar!(
        "select r.id from repositories r
         where r.id = (select repository_id from ingest_runs where id = $1) for update",
        run.0
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    Ok(repository.map(RepositoryId::from))
}

/// Deletes the repository of a failed run, which [`lock_of_run`] has locked, if nothing of it was
/// ever indexed and no other run of it may still do that. Its failed runs keep its name.
pub(crate) async fn delete_never_indexed(tx: &mut Tx, repository: RepositoryId) -> Result<()> {
    // A concurrent request that adds a run waits for the lock.
    let is_used = sqlx::query_scalar!(
        r#"select r.indexed_at is not null
               or exists (select from files where repository_id = $1)
               or exists (select from ingest_runs
                          where repository_id = $1 and status <> 'FAILED') as "is_used!"
           from repositories r where r.id = $1"#,
        repository.0
    )
    .fetch_one(&mut *tx.0)
    .await?;
    if is_used {
        return Ok(());
    }
    tx.run(sqlx::query!(
        "update ingest_runs i
         set repository_id = null, deleted_repository = array[r.owner, r.name]
         from repositories r where r.id = $1 and i.repository_id = r.id",
        repository.0
    ))
    .await?;
    tx.run(sqlx::query!("delete from repositories where id = $1", repository.0)).await
}

/// Returns the repositories of a project with files that other rules masked
/// ([`crate::policies::fingerprint`]), locked until the transaction ends. Call it before recording
/// audit events: a request of a run locks the repository first and the audit chain then.
pub async fn list_masked_differently(
    tx: &mut Tx,
    project: ProjectId,
    rules: i64,
) -> Result<Vec<Repository>> {
    Ok(sqlx::query_as!(
        Repository,
        r#"select id, project_id, owner, name, namespace as "namespace!", location,
               allows_private_network, include_patterns, exclude_patterns, source_ref, indexed_at
           from repositories r
           where project_id = $1
               and exists (select from files f where f.repository_id = r.id
                   and f.masking_fingerprint <> $2)
           order by owner, name for no key update of r"#,
        project.0,
        rules
    )
    .fetch_all(&mut *tx.0)
    .await?)
}

/// Locks a repository against other requests of runs until the transaction ends. Its files may be
/// written meanwhile.
pub(crate) async fn lock(tx: &mut Tx, id: RepositoryId) -> Result<()> {
    let locked =
        sqlx::query_scalar!("select id from repositories where id = $1 for no key update", id.0)
            .fetch_optional(&mut *tx.0)
            .await?;
    if locked.is_some() { Ok(()) } else { Err(Error::DeletedConcurrently) }
}

/// Marks the index of a repository as partial, in the transaction that changes it.
pub async fn mark_partial(tx: &mut Tx, id: RepositoryId) -> Result<()> {
    tx.run(sqlx::query!(
        "update repositories set is_partial = true where id = $1 and not is_partial",
        id.0
    ))
    .await
}

/// Marks the index of a repository as that of a whole commit, of which this number of files could
/// not be read or stored.
pub async fn mark_indexed(
    tx: &mut Tx,
    id: RepositoryId,
    source_ref: &str,
    failed_files: i32,
) -> Result<()> {
    let project = sqlx::query_scalar!(
        "update repositories set source_ref = $2, indexed_at = now(), is_partial = false,
             failed_files = $3
             where id = $1
             returning project_id",
        id.0,
        source_ref,
        failed_files
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    if let Some(project) = project.filter(|_| !source_ref.is_empty()) {
        uses::record_merged(tx, project.into(), source_ref).await?;
    }
    Ok(())
}
