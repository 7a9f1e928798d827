//! Memory records and their history.

mod candidates;
mod contributions;
mod create;
mod review;
mod versions;

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use mc_domain::{
    CiVerdict, DialogId, ProjectId, RecordId, RecordKind, RecordState, TaskId, Trust, UserId,
    Visibility,
};
use mc_sanitizer::Sanitized;

use crate::citations::{self, Citation};
use crate::error::word;
use crate::{Error, Store, Tx};

pub use candidates::{Candidate, Fingerprint, Nearness, candidates};
pub use contributions::{
    AffectedRecords, Contribution, Contributor, add_contribution, contributed, contributions,
    delete_history, erase, forget, forget_dialogs, forget_docs, origins, records_of, replaced_by,
    rewrite, same, transfer_superseded,
};
pub use create::{NewRecord, create, create_all};
pub use review::{
    Decided, Promotion, RESTORED_DAYS, confirm, decide, extend_ttl, is_own_proposal, live_until,
    proposals, restore, same_proposal, share,
};
pub use versions::{Version, last_version, version, versions};

/// Days that a fact or a worked example lives after it was saved or last recalled, unless its end was named, or the
/// policy has others.
pub const DEFAULT_TTL_DAYS: i32 = 180;
/// Days that a proposal waits for a person.
pub const PROPOSAL_DAYS: u16 = 180;
/// The end of what has none: a time that no clock reaches, so that whoever compares an end with now need not know of it.
pub const NO_END: DateTime<Utc> =
    NaiveDate::from_ymd_opt(9999, 12, 31).expect("a day").and_time(NaiveTime::MIN).and_utc();

/// A record as stored.
#[derive(Debug, Clone)]
pub struct Record {
    /// Identifier.
    pub id: RecordId,
    /// Project.
    pub project: ProjectId,
    /// Linked task.
    pub task: Option<TaskId>,
    /// The linked task's id in the tracker.
    pub task_external_id: Option<String>,
    /// Linked dialog.
    pub dialog: Option<DialogId>,
    /// Kind.
    pub kind: RecordKind,
    /// Title; may be empty.
    pub title: String,
    /// At most 4,000 characters.
    pub content: String,
    /// Parts of the system it is about.
    pub scope: Vec<String>,
    /// Tags.
    pub tags: Vec<String>,
    /// Who answers for it.
    pub owner: Option<String>,
    /// When it expires; [`NO_END`] for never.
    pub ttl: DateTime<Utc>,
    /// Whether that end was named by a person; a recall does not move it then.
    pub is_ttl_explicit: bool,
    /// Scores of the judge.
    pub quality: serde_json::Value,
    /// What came beside the content.
    pub meta: serde_json::Value,
    /// Life.
    pub state: RecordState,
    /// Who it is for, and who vouches for it.
    pub access: RecordAccess,
    /// The record that it would change, where it is a proposal for one.
    pub amends_record_id: Option<RecordId>,
    /// What replaced it.
    pub superseded_by: Option<RecordId>,
    /// From 1, one more with every change.
    pub version: i32,
    /// How often it was recalled.
    pub recall_count: i32,
    /// How often feedback said it was used.
    pub use_count: i32,
    /// What CI says of the patch that it is about.
    pub ci_status: Option<CiVerdict>,
    /// Creation.
    pub created_at: DateTime<Utc>,
    /// Last change.
    pub updated_at: DateTime<Utc>,
}

/// Who a record is for, and who vouches for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordAccess {
    /// Who it is for.
    pub visibility: Visibility,
    /// Who alone may see it; set where it is private.
    pub private_to: Option<UserId>,
    /// Who vouches for it.
    pub trust: Trust,
}

impl RecordAccess {
    /// For the team, by a member of it.
    pub const TEAM: Self =
        Self { visibility: Visibility::Team, private_to: None, trust: Trust::Team };
}

/// Where a record, or a change of one, came from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordSource {
    /// Who saved it.
    pub saved_by: Option<UserId>,
    /// What it was taken from, in the words of who saved it; empty for what somebody just said.
    pub source: String,
}

/// What a record says, to be written.
#[derive(Debug, Clone)]
pub struct RecordBody {
    /// Kind.
    pub kind: RecordKind,
    /// Title; may be empty.
    pub title: Sanitized,
    /// At most 4,000 characters.
    pub content: Sanitized,
    /// Parts of the system it is about.
    pub scope: Vec<String>,
    /// Tags.
    pub tags: Vec<String>,
    /// Who answers for it.
    pub owner: Option<String>,
    /// When it expires.
    pub ttl: DateTime<Utc>,
    /// Whether that end was named by a person; a recall does not move it then.
    pub is_ttl_explicit: bool,
    /// Scores of the judge.
    pub quality: serde_json::Value,
    /// What came beside the content, sanitized.
    pub meta: serde_json::Value,
    /// Linked task.
    pub task: Option<TaskId>,
    /// Linked dialog.
    pub dialog: Option<DialogId>,
    /// sha256 of the normalised content.
    pub content_hash: Vec<u8>,
    /// 64-bit simhash of the content.
    pub simhash: u64,
}

/// A change of a live record.
#[derive(Debug, Clone, Copy)]
pub struct RecordUpdate<'a> {
    /// What it says from now on.
    pub body: &'a RecordBody,
    /// What it cites from now on; what it did before where absent.
    pub citations: Option<&'a [Citation]>,
    /// Who vouches for it from now on.
    pub trust: Trust,
    /// Where the change came from, each by itself.
    pub origins: &'a [RecordSource],
    /// Why it is changed.
    pub reason: &'a str,
    /// Who changes it.
    pub changed_by: Option<&'a str>,
}

/// Changes a live record, keeping what it was before under its old version number. One that stays the
/// same still gets its new date and counts, and no new version.
pub async fn update(tx: &mut Tx, record: &Record, change: &RecordUpdate<'_>) -> Result<(), Error> {
    let is_another = versions::keep(tx, record, change).await?;
    let RecordUpdate { body, trust, .. } = *change;
    sqlx::query!(
        "update memory_records set kind = $2, title = $3, content = $4, scope = $5, tags = $6,
             owner = $7, ttl = $8, is_ttl_explicit = $9, quality = $10, meta = $11,
             task_id = coalesce($12, task_id), dialog_id = coalesce($13, dialog_id),
             content_hash = $14, simhash = $15, version = version + $16, trust = $17,
             updated_at = now()
         where id = $1",
        record.id.0,
        body.kind.as_str(),
        body.title.as_str(),
        body.content.as_str(),
        &body.scope,
        &body.tags,
        body.owner,
        body.ttl,
        body.is_ttl_explicit,
        body.quality,
        body.meta,
        body.task.map(|t| t.0),
        body.dialog.map(|d| d.0),
        body.content_hash,
        body.simhash.cast_signed(),
        i32::from(is_another),
        trust.as_str()
    )
    .execute(&mut *tx.0)
    .await?;
    if let Some(cited) = change.citations {
        citations::replace(tx, record.project, record.id, cited).await?;
    }
    for origin in change.origins {
        contributed(tx, record.id, origin).await?;
    }
    Ok(())
}

/// Marks a live record of the project as replaced; `false` when there is none. The caller takes
/// its passage out of search.
pub async fn supersede(
    tx: &mut Tx,
    project: ProjectId,
    id: RecordId,
    by: RecordId,
) -> Result<bool, Error> {
    let done = sqlx::query!(
        "update memory_records set state = 'superseded', superseded_by = $3, updated_at = now()
         where id = $1 and project_id = $2 and state in ('active', 'stale')",
        id.0,
        project.0,
        by.0
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Marks a live record as deleted; `false` when there is none. The caller takes its passage out of
/// search.
pub async fn delete(tx: &mut Tx, id: RecordId) -> Result<bool, Error> {
    let done = sqlx::query!(
        "update memory_records set state = 'deleted', updated_at = now()
         where id = $1 and state in ('active', 'stale')",
        id.0
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Holds the records until the transaction ends, in one order everywhere, so that two checks of
/// the same records can't block each other.
pub async fn lock(tx: &mut Tx, records: &[RecordId]) -> Result<(), Error> {
    let ids: Vec<_> = records.iter().map(|id| id.0).collect();
    sqlx::query!(
        "select id from memory_records where id = any($1) order by id for no key update",
        &ids
    )
    .fetch_all(&mut *tx.0)
    .await?;
    Ok(())
}

/// The record, whatever its state.
pub async fn find(store: &Store, id: RecordId) -> Result<Option<Record>, Error> {
    Ok(by_ids(store, &[id]).await?.into_iter().next())
}

/// The record as the transaction sees it.
pub async fn find_in(tx: &mut Tx, id: RecordId) -> Result<Option<Record>, Error> {
    Ok(fetch(&mut *tx.0, &[id]).await?.into_iter().next())
}

/// These records, whatever their state, in no order.
pub async fn by_ids(store: &Store, ids: &[RecordId]) -> Result<Vec<Record>, Error> {
    fetch(&mut *store.read().await?, ids).await
}

/// Which records of a project.
#[derive(Debug, Clone, Default)]
pub struct RecordFilter {
    /// Of this kind.
    pub kind: Option<RecordKind>,
    /// For these readers; the team's and one's own when absent.
    pub visibility: Option<Visibility>,
    /// That this user saved, alone or with others.
    pub saved_by: Option<UserId>,
    /// That came from this source, alone or with others.
    pub source: Option<String>,
}

/// Live, unexpired records of a project after an id, oldest first.
pub async fn list(
    store: &Store,
    project: ProjectId,
    filter: &RecordFilter,
    after: Option<RecordId>,
    limit: i64,
) -> Result<Vec<Record>, Error> {
    let ids = sqlx::query_scalar!(
        "select id from memory_records
         where project_id = $1 and state in ('active', 'stale') and ttl > now()
           and ($2::text is null or kind = $2) and id > $3
           and case when $5::text is null then visibility <> 'proposed' else visibility = $5 end
           and (($6::uuid is null and $7::text is null) or exists (
               select from record_contributions s where s.record_id = memory_records.id
                   and ($6 is null or s.saved_by = $6) and ($7 is null or s.source = $7)))
         order by id limit $4",
        project.0,
        filter.kind.map(RecordKind::as_str),
        after.map_or_else(uuid::Uuid::nil, |id| id.0),
        limit,
        filter.visibility.map(Visibility::as_str),
        filter.saved_by.map(|user| user.0),
        filter.source
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    let ids: Vec<RecordId> = ids.into_iter().map(RecordId::from).collect();
    let mut records = by_ids(store, &ids).await?;
    records.sort_by_key(|r| r.id);
    Ok(records)
}

async fn fetch(
    executor: impl sqlx::PgExecutor<'_>,
    ids: &[RecordId],
) -> Result<Vec<Record>, Error> {
    let ids: Vec<_> = ids.iter().map(|id| id.0).collect();
    let rows = sqlx::query_as!(
        Row,
        r#"select r.id, r.project_id, r.task_id,
                  (select external_id from tasks t where t.id = r.task_id) as external_id,
                  r.dialog_id, r.kind, r.title, r.content, r.scope, r.tags, r.owner, r.ttl, r.is_ttl_explicit,
                  r.quality, r.meta, r.state, r.visibility, r.private_to, r.trust, r.amends_record_id,
                  r.superseded_by, r.version, r.recall_count, r.use_count, r.created_at, r.updated_at,
                  case when r.patch_sha is not null then mc.patch_ci_status(r.project_id, r.patch_sha) end as ci_status
           from memory_records r where r.id = any($1)"#,
        &ids
    )
    .fetch_all(executor)
    .await?;
    rows.into_iter().map(Row::into_record).collect()
}

/// The columns of a record as they are read.
struct Row {
    id: uuid::Uuid,
    project_id: uuid::Uuid,
    task_id: Option<uuid::Uuid>,
    external_id: Option<String>,
    dialog_id: Option<uuid::Uuid>,
    kind: String,
    title: String,
    content: String,
    scope: Vec<String>,
    tags: Vec<String>,
    owner: Option<String>,
    ttl: DateTime<Utc>,
    is_ttl_explicit: bool,
    quality: serde_json::Value,
    meta: serde_json::Value,
    state: String,
    visibility: String,
    private_to: Option<uuid::Uuid>,
    trust: String,
    amends_record_id: Option<uuid::Uuid>,
    superseded_by: Option<uuid::Uuid>,
    version: i32,
    recall_count: i32,
    use_count: i32,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
    ci_status: Option<String>,
}

impl Row {
    fn into_record(self) -> Result<Record, Error> {
        Ok(Record {
            id: self.id.into(),
            project: self.project_id.into(),
            task: self.task_id.map(TaskId::from),
            task_external_id: self.external_id,
            dialog: self.dialog_id.map(DialogId::from),
            kind: word(&self.kind)?,
            title: self.title,
            content: self.content,
            scope: self.scope,
            tags: self.tags,
            owner: self.owner,
            ttl: self.ttl,
            is_ttl_explicit: self.is_ttl_explicit,
            quality: self.quality,
            meta: self.meta,
            state: word(&self.state)?,
            access: RecordAccess {
                visibility: word(&self.visibility)?,
                private_to: self.private_to.map(UserId),
                trust: word(&self.trust)?,
            },
            amends_record_id: self.amends_record_id.map(RecordId::from),
            superseded_by: self.superseded_by.map(RecordId::from),
            version: self.version,
            recall_count: self.recall_count,
            use_count: self.use_count,
            ci_status: self.ci_status.as_deref().map(word).transpose()?,
            created_at: self.created_at,
            updated_at: self.updated_at,
        })
    }
}
