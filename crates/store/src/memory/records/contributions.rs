//! Contributions: the saves that went into a record, and the erasure of all data of one author or
//! source.

use chrono::{DateTime, Utc};
use mc_domain::{ProjectId, RecordId, Trust, UserId};

use super::{Record, RecordBody, RecordSource, Version};
use crate::row::{read, uuids};
use crate::{Result, Store, Tx};

/// A save that went into a record.
#[derive(Debug, Clone)]
pub struct Contribution {
    /// The version of the record that the save made.
    pub version: i32,
    /// The author.
    pub saved_by: Option<UserId>,
    /// The author's login.
    pub login: Option<String>,
    /// The source; empty if there is none.
    pub source: String,
    /// Time of the save.
    pub saved_at: DateTime<Utc>,
}

/// The author or source whose contributions are meant.
#[derive(Debug, Clone)]
pub enum Contributor {
    /// Saves of this user.
    User(UserId),
    /// Saves from this source.
    Source(String),
}

impl Contributor {
    fn columns(&self) -> (Option<uuid::Uuid>, Option<&str>) {
        match self {
            Self::User(user) => (Some(user.0), None),
            Self::Source(source) => (None, Some(source)),
        }
    }
}

/// Adds a contribution to the present version of a record.
pub async fn insert_contribution(
    tx: &mut Tx,
    record: RecordId,
    origin: &RecordSource,
) -> Result<()> {
    tx.run(sqlx::query!(
        "insert into record_contributions (project_id, record_id, version, saved_by, source,
             private_to)
         select project_id, id, version, $2, $3, private_to from memory_records where id = $1",
        record.0,
        origin.saved_by.map(|user| user.0),
        origin.source
    ))
    .await
}

/// Most sources of the same text that are stored for one user.
const SOURCES_MAX: i64 = 16;

/// Adds a contribution that states the record's present content again. Returns `false` if it is
/// stored already, or if the author has reached the limit of sources.
pub async fn add_contribution(
    tx: &mut Tx,
    record: RecordId,
    origin: &RecordSource,
) -> Result<bool> {
    tx.has_changed(sqlx::query!(
        "insert into record_contributions (project_id, record_id, version, saved_by, source,
             private_to)
         select r.project_id, r.id, r.version, $2, $3, r.private_to from memory_records r
         where r.id = $1 and $4 > (
             select case when bool_or(s.source = $3) then $4 else count(*) end
             from record_contributions s where s.record_id = r.id and s.version = r.version
                 and s.saved_by is not distinct from $2)",
        record.0,
        origin.saved_by.map(|user| user.0),
        origin.source,
        SOURCES_MAX
    ))
    .await
}

/// Returns the contributions to a record, oldest first.
pub async fn contributions(store: &Store, record: RecordId) -> Result<Vec<Contribution>> {
    let rows = sqlx::query!(
        r#"select s.version, s.saved_by, u.login as "login?", s.source, s.saved_at
           from record_contributions s left join users u on u.id = s.saved_by
           where s.record_id = $1 order by s.id"#,
        record.0
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    read!(each row in rows => Contribution {
        version, saved_by: row.saved_by.map(UserId), login, source, saved_at
    })
}

/// A record with contributions of the given author or source.
#[derive(Debug, Clone, Copy)]
pub struct AffectedRecords {
    /// Id of the record.
    pub id: RecordId,
    /// The newest version by another contributor; `None` if there is none.
    pub others: Option<i32>,
    /// The present version.
    pub version: i32,
    /// The newest version by this contributor.
    pub theirs: i32,
}

/// Returns the records of the project, live or not, that a contributor contributed to, ordered by
/// id.
pub async fn list_by_contributor(
    tx: &mut Tx,
    project: ProjectId,
    contributor: &Contributor,
) -> Result<Vec<AffectedRecords>> {
    let (user, source) = contributor.columns();
    let rows = sqlx::query!(
        r#"select r.id, r.version,
                  max(s.version) filter (where s.saved_by = $2 or s.source = $3) as "theirs!",
                  max(s.version) filter (
                      where not coalesce(s.saved_by = $2 or s.source = $3, false)) as others
           from memory_records r join record_contributions s on s.record_id = r.id
           where r.project_id = $1
           group by r.id, r.version
           having bool_or(s.saved_by = $2 or s.source = $3)
           order by r.id"#,
        project.0,
        user,
        source
    )
    .fetch_all(&mut *tx.0)
    .await?;
    read!(each row in rows => AffectedRecords { id: row.id.into(), others, version, theirs })
}

/// Deletes a contributor's contributions to a record, and the versions that only this contributor
/// made. Documents of the record that others saved as well become theirs.
pub async fn forget(tx: &mut Tx, record: RecordId, contributor: &Contributor) -> Result<()> {
    let (user, source) = contributor.columns();
    if let Some(user) = user {
        reassign_docs(tx, record, user).await?;
    }
    tx.run(sqlx::query!(
        "delete from record_versions v where v.record_id = $1
             and exists (select from record_contributions s
                         where s.record_id = $1 and s.version = v.version
                             and (s.saved_by = $2 or s.source = $3))
             and not exists (select from record_contributions s
                             where s.record_id = $1 and s.version = v.version
                                 and not coalesce(s.saved_by = $2 or s.source = $3, false))",
        record.0,
        user,
        source
    ))
    .await?;
    tx.run(sqlx::query!(
        "delete from record_contributions where record_id = $1 and (saved_by = $2 or source = $3)",
        record.0,
        user,
        source
    ))
    .await
}

/// Assigns documents of a record to another user who saved the same text.
///
/// A document's `sent_at` is the time of the transaction that saved it, as is the contribution's
/// `saved_at`; together they tell which version the document is the whole text of. A document
/// transferred from another record matches no contribution: it goes to the users who joined this
/// record in the same transaction as this user.
async fn reassign_docs(tx: &mut Tx, record: RecordId, user: uuid::Uuid) -> Result<()> {
    tx.run(sqlx::query!(
        "with said as (
             select version, content from memory_records where id = $1
             union all
             select version, content from record_versions where record_id = $1),
         theirs as (
             select d.id, (select max(s.version) from record_contributions s
                           where s.record_id = $1 and s.saved_at = d.sent_at) as version
             from docs d where d.record_id = $1 and d.saved_by = $2),
         shared as (
             select distinct on (t.id) t.id, s.saved_by
             from theirs t join record_contributions s on s.record_id = $1 and s.saved_by
                 is distinct from $2
             where case when t.version is null
                 then exists (select from record_contributions o
                              where o.record_id = $1 and o.saved_by = $2
                                  and o.saved_at = s.saved_at)
                 else s.version = t.version
                     or exists (select from said a join said b on a.content = b.content
                                where a.version = s.version and b.version = t.version) end
             order by t.id, s.saved_by is null, s.id desc)
         update docs d set saved_by = shared.saved_by from shared where d.id = shared.id",
        record.0,
        user
    ))
    .await
}

/// Returns the records that are superseded by one of these.
pub async fn list_superseded_by(tx: &mut Tx, records: &[RecordId]) -> Result<Vec<RecordId>> {
    let replaced = sqlx::query_scalar!(
        "select id from memory_records where superseded_by = any($1)",
        &uuids(records)
    )
    .fetch_all(&mut *tx.0)
    .await?;
    Ok(replaced.into_iter().map(RecordId::from).collect())
}

/// Deletes a record with its versions and passages. Records that it superseded become superseded by
/// its own successor. Returns those that have none, which live again if the caller restores them.
pub async fn erase(tx: &mut Tx, id: RecordId) -> Result<Vec<RecordId>> {
    let freed = sqlx::query_scalar!(
        r#"with handed_on as (
               update memory_records r set superseded_by = e.superseded_by
               from memory_records e
               where e.id = $1 and r.superseded_by = e.id and r.visibility <> 'proposed'
               returning r.id, r.superseded_by)
           select id as "id!" from handed_on where superseded_by is null"#,
        id.0
    )
    .fetch_all(&mut *tx.0)
    .await?;
    tx.run(sqlx::query!("delete from memory_records where id = $1", id.0)).await?;
    Ok(freed.into_iter().map(RecordId::from).collect())
}

/// Sets the successor of a superseded record.
pub async fn transfer_superseded(tx: &mut Tx, id: RecordId, by: RecordId) -> Result<()> {
    tx.run(sqlx::query!(
        "update memory_records set superseded_by = $2 where id = $1 and state = 'superseded'",
        id.0,
        by.0
    ))
    .await
}

/// Deletes all versions of a record.
pub async fn delete_history(tx: &mut Tx, id: RecordId) -> Result<()> {
    tx.run(sqlx::query!("delete from record_versions where record_id = $1", id.0)).await
}

/// Returns another live record of the same audience with the same content.
pub async fn find_same(
    tx: &mut Tx,
    record: &Record,
    body: &RecordBody,
) -> Result<Option<RecordId>> {
    let id = sqlx::query_scalar!(
        "select id from memory_records
         where project_id = $1 and kind = $2 and content_hash = $3 and visibility = $4
             and private_to is not distinct from $5 and id <> $6 and state in ('active', 'stale')",
        record.project.0,
        body.kind.as_str(),
        body.content_hash,
        record.access.visibility.as_str(),
        record.access.private_to.map(|user| user.0),
        record.id.0
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    Ok(id.map(RecordId::from))
}

/// Returns the authors and sources of a record within the transaction, oldest first.
pub async fn list_sources(tx: &mut Tx, record: RecordId) -> Result<Vec<RecordSource>> {
    let rows = sqlx::query!(
        "select saved_by, source from record_contributions where record_id = $1 order by id",
        record.0
    )
    .fetch_all(&mut *tx.0)
    .await?;
    read!(each row in rows => RecordSource { saved_by: row.saved_by.map(UserId), source })
}

/// Restores a record to `version`, without keeping the changes made since, in the record or its
/// versions. The result gets a new version number, so that no reader takes it for the one it has
/// read; the authors of `version` become authors of the result. The caller restores the citations.
pub async fn rewrite(
    tx: &mut Tx,
    id: RecordId,
    version: &Version,
    body: &RecordBody,
) -> Result<()> {
    tx.run(sqlx::query!(
        "with rewritten as (
             update memory_records set title = $3, content = $4, scope = $5, tags = $6, meta = $7,
                 content_hash = $8, simhash = $9, kind = $10, owner = $11, ttl = $12,
                     is_ttl_explicit = $13,
                 trust = $14, version = version + 1, updated_at = now()
             where id = $1 returning version),
         said_now as (delete from record_versions where record_id = $1 and version = $2)
         update record_contributions s set version = r.version from rewritten r
         where s.record_id = $1 and s.version = $2",
        id.0,
        version.version,
        body.title.as_str(),
        body.content.as_str(),
        &body.scope,
        &body.tags,
        body.meta.to_json(),
        body.content_hash,
        body.simhash.cast_signed(),
        body.kind.as_str(),
        body.owner,
        body.ttl,
        body.is_ttl_explicit,
        version.trust.min(Trust::Team).as_str()
    ))
    .await
}

/// Deletes the dialogs of a contributor with their passages; returns their number.
pub async fn forget_dialogs(
    tx: &mut Tx,
    project: ProjectId,
    contributor: &Contributor,
) -> Result<u64> {
    let Contributor::User(user) = contributor else { return Ok(0) };
    tx.count_changed(sqlx::query!(
        "delete from dialogs where project_id = $1 and saved_by = $2",
        project.0,
        user.0
    ))
    .await
}

/// Deletes the documents of a contributor, except files of repositories, which follow their
/// repository; returns their number. Call it after [`forget`], which reassigns documents that
/// others saved as well.
pub async fn forget_docs(
    tx: &mut Tx,
    project: ProjectId,
    contributor: &Contributor,
) -> Result<u64> {
    let (user, source) = contributor.columns();
    tx.count_changed(sqlx::query!(
        "delete from docs where project_id = $1 and file_id is null
             and (saved_by = $2 or source = $3)",
        project.0,
        user,
        source
    ))
    .await
}
