//! Commit history of indexed repositories: the files that each commit touched, by their present
//! names.
//!
//! Only index runs write rows. The passage of a commit is its cleaned, sanitized message; a search
//! of code reads which files the nearest commits touched.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use mc_domain::{CommitId, FileId, PassageId, ProjectId, RepositoryId, Trust};
use mc_sanitizer::Sanitized;
use uuid::Uuid;

use crate::error::word;
use crate::passages::{NewPassage, PassageFilter, content_hash};
use crate::repositories::Repository;
use crate::row::{read, uuids};
use crate::{Error, Result, Store, Tx};

/// Commits deleted per statement.
const DELETED_AT_ONCE: usize = 500;

/// Priority of a commit's passages in the embedding queue, after those of code and notes, which
/// have 0.
pub(crate) const EMBEDDING_PRIORITY: i16 = 1;

/// The commit up to which a repository's history is complete, and the masking rules in force then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// The commit; empty if the history is not complete.
    pub sha: String,
    /// [`crate::policies::fingerprint`] of the policy.
    pub masking_fingerprint: i64,
}

/// A commit to store.
#[derive(Debug, Clone)]
pub struct NewCommit {
    /// Full object name, in hex.
    pub sha: String,
    /// First line of the message.
    pub subject: Sanitized,
    /// The cleaned message.
    pub message: Sanitized,
    /// Committer's time.
    pub committed_at: DateTime<Utc>,
    /// [`Trust::Imported`], or [`Trust::Untrusted`] if the message contains a prompt injection.
    pub trust: Trust,
    /// The indexed files that the commit touched.
    pub files: Vec<FileId>,
}

/// A commit as results show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Identifier.
    pub id: CommitId,
    /// Full object name, in hex.
    pub sha: String,
    /// First line of the message.
    pub subject: String,
    /// Committer's time.
    pub committed_at: DateTime<Utc>,
    /// Trust level.
    pub trust: Trust,
    /// Paths of the indexed files that the commit touched, sorted.
    pub files: Vec<String>,
}

/// Returns the [`Position`] up to which the history of a repository is stored.
pub async fn position(store: &Store, repository: RepositoryId) -> Result<Position> {
    let position = sqlx::query_as!(
        Position,
        "select history_ref as sha, history_masking_fingerprint as masking_fingerprint
             from repositories where id = $1",
        repository.0
    )
    .fetch_optional(&mut *store.read().await?)
    .await?;
    position.ok_or(Error::DeletedConcurrently)
}

/// Sets the [`Position`] of a repository. An empty commit makes the next run read the whole
/// history.
pub async fn set_position(
    tx: &mut Tx,
    repository: RepositoryId,
    position: &Position,
) -> Result<()> {
    tx.run(sqlx::query!(
        "update repositories set history_ref = $2, history_masking_fingerprint = $3 where id = $1",
        repository.0,
        position.sha,
        position.masking_fingerprint
    ))
    .await
}

/// Returns the object names of all stored commits of a repository.
pub async fn known(store: &Store, repository: RepositoryId) -> Result<HashSet<String>> {
    let shas = sqlx::query_scalar!(
        "select sha from history_commits where repository_id = $1",
        repository.0
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    Ok(shas.into_iter().collect())
}

/// Stores commits with their passages; stored ones stay as they are. [`insert_files`] stores their
/// files. Returns the number of new passages.
pub async fn insert(tx: &mut Tx, repository: &Repository, commits: &[NewCommit]) -> Result<u64> {
    let ids: Vec<Uuid> = commits.iter().map(|_| CommitId::generate().0).collect();
    let shas: Vec<&str> = commits.iter().map(|commit| commit.sha.as_str()).collect();
    let subjects: Vec<&str> = commits.iter().map(|commit| commit.subject.as_str()).collect();
    let times: Vec<_> = commits.iter().map(|commit| commit.committed_at).collect();
    let trusts: Vec<&str> = commits.iter().map(|commit| commit.trust.as_str()).collect();
    let stored = sqlx::query!(
        "insert into history_commits (id, project_id, repository_id, sha, subject, committed_at,
             trust)
         select c.id, $1, $2, c.sha, c.subject, c.committed_at, c.trust
         from unnest($3::uuid[], $4::text[], $5::text[], $6::timestamptz[], $7::text[])
             as c (id, sha, subject, committed_at, trust)
         on conflict (repository_id, sha) do nothing
         returning id, sha",
        repository.project_id.0,
        repository.id.0,
        &ids,
        &shas as &[&str],
        &subjects as &[&str],
        &times,
        &trusts as &[&str]
    )
    .fetch_all(&mut *tx.0)
    .await?;
    let stored: HashMap<String, Uuid> = stored.into_iter().map(|row| (row.sha, row.id)).collect();
    let new = commits.iter().filter_map(|commit| Some((*stored.get(&commit.sha)?, commit)));
    insert_passages(tx, repository, &new.collect::<Vec<_>>()).await
}

async fn insert_passages(
    tx: &mut Tx,
    repository: &Repository,
    commits: &[(Uuid, &NewCommit)],
) -> Result<u64> {
    let ids: Vec<Uuid> = commits.iter().map(|_| PassageId::generate().0).collect();
    let of: Vec<Uuid> = commits.iter().map(|(id, _)| *id).collect();
    let titles: Vec<&str> = commits.iter().map(|(_, commit)| commit.subject.as_str()).collect();
    let texts: Vec<&str> = commits.iter().map(|(_, commit)| commit.message.as_str()).collect();
    let hash = |(_, commit): &(Uuid, &NewCommit)| {
        content_hash(&NewPassage {
            title: commit.subject.clone(),
            text: commit.message.clone(),
            ..NewPassage::default()
        })
    };
    let hashes: Vec<Vec<u8>> = commits.iter().map(hash).collect();
    let inserted = tx
        .count_changed(sqlx::query!(
            "insert into passages (id, project_id, commit_id, title, text, content_hash,
             repository_id)
         select p.id, $1, p.commit_id, p.title, p.text, p.content_hash, $7
         from unnest($2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::bytea[])
             as p (id, commit_id, title, text, content_hash)",
            repository.project_id.0,
            &ids,
            &of,
            &titles as &[&str],
            &texts as &[&str],
            &hashes,
            repository.id.0
        ))
        .await?;
    tx.run(sqlx::query!(
        "update embedding_queue set priority = $2 where passage_id = any($1)",
        &ids,
        EMBEDDING_PRIORITY
    ))
    .await?;
    Ok(inserted)
}

/// Stores which files the commits touched. Commits that are not stored and deleted files are
/// skipped.
pub async fn insert_files(
    tx: &mut Tx,
    repository: &Repository,
    commits: &[NewCommit],
) -> Result<()> {
    let pairs = || commits.iter().flat_map(|c| c.files.iter().map(move |file| (&c.sha, file)));
    let shas: Vec<&str> = pairs().map(|(sha, _)| sha.as_str()).collect();
    let files: Vec<Uuid> = pairs().map(|(_, file)| file.0).collect();
    tx.run(sqlx::query!(
        "insert into history_commit_files (commit_id, file_id, project_id)
         select c.id, f.id, $1
         from unnest($3::text[], $4::uuid[]) as t (sha, file_id)
         join history_commits c on c.repository_id = $2 and c.sha = t.sha
         join files f on f.id = t.file_id
         on conflict do nothing",
        repository.project_id.0,
        repository.id.0,
        &shas as &[&str],
        &files
    ))
    .await
}

/// Deletes which files the commits of a repository touched, before all of it is stored again.
pub async fn delete_files(tx: &mut Tx, repository: RepositoryId) -> Result<()> {
    tx.run(sqlx::query!(
        "delete from history_commit_files t using history_commits c
         where c.id = t.commit_id and c.repository_id = $1",
        repository.0
    ))
    .await
}

/// Assigns the commits of renamed files (from, to) to the new files.
pub async fn follow_renames(tx: &mut Tx, renames: &[(FileId, FileId)]) -> Result<()> {
    let from: Vec<Uuid> = renames.iter().map(|(from, _)| from.0).collect();
    let moved = sqlx::query!(
        "delete from history_commit_files where file_id = any($1)
         returning commit_id, file_id, project_id",
        &from
    )
    .fetch_all(&mut *tx.0)
    .await?;
    // Two statements, because files may swap names: a new row can equal one that is deleted here.
    let to: HashMap<Uuid, Uuid> = renames.iter().map(|(from, to)| (from.0, to.0)).collect();
    let commits: Vec<Uuid> = moved.iter().map(|row| row.commit_id).collect();
    let files: Vec<Uuid> = moved.iter().filter_map(|row| to.get(&row.file_id).copied()).collect();
    let projects: Vec<Uuid> = moved.iter().map(|row| row.project_id).collect();
    tx.run(sqlx::query!(
        "insert into history_commit_files (commit_id, file_id, project_id)
         select * from unnest($1::uuid[], $2::uuid[], $3::uuid[]) on conflict do nothing",
        &commits,
        &files,
        &projects
    ))
    .await
}

/// Deletes commits of a repository with their passages; returns their number.
pub async fn delete(store: &Store, repository: RepositoryId, shas: &[String]) -> Result<u64> {
    let mut deleted = 0;
    for part in shas.chunks(DELETED_AT_ONCE) {
        let done = sqlx::query!(
            "delete from history_commits where repository_id = $1 and sha = any($2)",
            repository.0,
            part
        )
        .execute(&mut *store.plain().await?)
        .await?;
        deleted += done.rows_affected();
    }
    Ok(deleted)
}

/// Deletes all but the newest `keep` commits of a repository; returns the number of deleted ones.
pub async fn prune(tx: &mut Tx, repository: RepositoryId, keep: i64) -> Result<u64> {
    tx.count_changed(sqlx::query!(
        "delete from history_commits where id in (
             select id from history_commits where repository_id = $1
             order by committed_at desc, id desc offset $2)",
        repository.0,
        keep
    ))
    .await
}

/// Deletes the commits of a repository that touched no file which is still indexed, with their
/// passages; returns their number.
pub async fn delete_without_files(tx: &mut Tx, repository: RepositoryId) -> Result<u64> {
    tx.count_changed(sqlx::query!(
        "delete from history_commits c where c.repository_id = $1
         and not exists (select from history_commit_files t where t.commit_id = c.id)",
        repository.0
    ))
    .await
}

/// Returns the files of the project that the commits of these passages touched.
pub async fn touched(
    store: &Store,
    project: ProjectId,
    passages: &[PassageId],
) -> Result<Vec<(PassageId, FileId)>> {
    let rows = sqlx::query!(
        "select p.id, t.file_id from passages p
         join history_commit_files t on t.commit_id = p.commit_id
         where p.id = any($1) and p.project_id = $2 and t.project_id = $2",
        &uuids(passages),
        project.0
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    Ok(rows.into_iter().map(|row| (row.id.into(), row.file_id.into())).collect())
}

/// Returns one or more passages for each file: those among `found`, or else its first one that
/// defines a symbol. Files outside the filter's repositories, languages, paths and tags have none.
pub async fn representatives(
    store: &Store,
    filter: &PassageFilter,
    files: &[FileId],
    found: &[PassageId],
) -> Result<Vec<(FileId, PassageId)>> {
    let regex = filter.path_regex.as_deref().map(|regex| format!("^(?:{regex})$"));
    let rows = sqlx::query!(
        r#"with wanted as (
               select f.id from files f
               where f.id = any($1) and f.project_id = $2
                   and (cardinality($4::text[]) = 0 or f.language = any($4))
                   and ($5::text is null or f.path ~ $5)
                   and (cardinality($6::uuid[]) = 0 or f.repository_id = any($6))),
           among as (
               select p.file_id, p.id from passages p
               where p.id = any($3) and p.file_id in (select id from wanted))
           select file_id as "file_id!", id as "id!" from among
           union all
           select w.id, first.id
           from wanted w, lateral (
               select p.id from passages p
               where p.file_id = w.id and p.project_id = $2
                   and (cardinality($7::text[]) = 0 or p.tags && $7)
               order by cardinality(p.symbols) = 0, p.ordinal limit 1) as first
           where w.id not in (select file_id from among)"#,
        &uuids(files),
        filter.project.0,
        &uuids(found),
        &filter.languages,
        regex,
        &uuids(&filter.repositories),
        &filter.tags
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    Ok(rows.into_iter().map(|row| (row.file_id.into(), row.id.into())).collect())
}

/// Returns the commits that these passages were made from.
pub async fn of_passages(
    store: &Store,
    project: ProjectId,
    passages: &[PassageId],
) -> Result<HashMap<PassageId, Commit>> {
    let rows = sqlx::query!(
        r#"select p.id as passage, c.id, c.sha, c.subject, c.committed_at, c.trust,
                  array(select f.path from history_commit_files t join files f on f.id = t.file_id
                        where t.commit_id = c.id order by f.path) as "files!"
           from passages p join history_commits c on c.id = p.commit_id
           where p.id = any($1) and p.project_id = $2"#,
        &uuids(passages),
        project.0
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    let commit = rows.into_iter().map(|row| {
        let commit = read!(row => Commit {
            id: row.id.into(), sha, subject, committed_at, trust: word(&row.trust)?, files
        });
        Ok((row.passage.into(), commit?))
    });
    commit.collect()
}
