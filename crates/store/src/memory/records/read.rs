//! Reads of records by id and in pages.

use chrono::{DateTime, Utc};
use mc_domain::{DialogId, ProjectId, RecordId, RecordKind, TaskId, UserId, Visibility};

use super::{Record, RecordAccess};
use crate::error::{record_meta, word};
use crate::row::{read, uuids};
use crate::{Result, Store, Tx};

/// Returns a record in any state.
pub async fn find(store: &Store, id: RecordId) -> Result<Option<Record>> {
    Ok(by_ids(store, &[id]).await?.pop())
}

/// Returns a record in any state within the transaction.
pub async fn find_in(tx: &mut Tx, id: RecordId) -> Result<Option<Record>> {
    Ok(fetch(&mut *tx.0, &[id.0]).await?.pop())
}

/// Returns records in any state, in no order.
pub async fn by_ids(store: &Store, ids: &[RecordId]) -> Result<Vec<Record>> {
    fetch(&mut *store.read().await?, &uuids(ids)).await
}

/// A filter of a project's records.
#[derive(Debug, Clone, Default)]
pub struct RecordFilter {
    /// Of this kind.
    pub kind: Option<RecordKind>,
    /// Audience; if absent, all but proposals.
    pub visibility: Option<Visibility>,
    /// One of its authors.
    pub saved_by: Option<UserId>,
    /// One of its sources.
    pub source: Option<String>,
}

/// Returns live, unexpired records of a project after an id, oldest first.
pub async fn list(
    store: &Store,
    project: ProjectId,
    filter: &RecordFilter,
    after: Option<RecordId>,
    limit: i64,
) -> Result<Vec<Record>> {
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
    let mut records = fetch(&mut *store.read().await?, &ids).await?;
    records.sort_by_key(|r| r.id);
    Ok(records)
}

pub(super) async fn fetch(
    executor: impl sqlx::PgExecutor<'_>,
    ids: &[uuid::Uuid],
) -> Result<Vec<Record>> {
    let rows = sqlx::query_as!(
        Row,
        r#"select r.id, r.project_id, r.task_id,
                  (select external_id from tasks t where t.id = r.task_id) as external_id,
                  r.dialog_id, r.kind, r.title, r.content, r.scope, r.tags, r.owner, r.ttl,
                      r.is_ttl_explicit,
                  r.quality, r.meta, r.state, r.visibility, r.private_to, r.trust,
                      r.amends_record_id,
                  r.superseded_by, r.version, r.recall_count, r.use_count, r.created_at,
                      r.updated_at,
                  case when r.patch_sha is not null then mc.patch_ci_status(r.project_id,
                      r.patch_sha) end as ci_status
           from memory_records r where r.id = any($1)"#,
        ids
    )
    .fetch_all(executor)
    .await?;
    rows.into_iter().map(Row::into_record).collect()
}

/// The columns of a record.
pub(super) struct Row {
    pub(super) id: uuid::Uuid,
    pub(super) project_id: uuid::Uuid,
    pub(super) task_id: Option<uuid::Uuid>,
    pub(super) external_id: Option<String>,
    pub(super) dialog_id: Option<uuid::Uuid>,
    pub(super) kind: String,
    pub(super) title: String,
    pub(super) content: String,
    pub(super) scope: Vec<String>,
    pub(super) tags: Vec<String>,
    pub(super) owner: Option<String>,
    pub(super) ttl: DateTime<Utc>,
    pub(super) is_ttl_explicit: bool,
    pub(super) quality: serde_json::Value,
    pub(super) meta: serde_json::Value,
    pub(super) state: String,
    pub(super) visibility: String,
    pub(super) private_to: Option<uuid::Uuid>,
    pub(super) trust: String,
    pub(super) amends_record_id: Option<uuid::Uuid>,
    pub(super) superseded_by: Option<uuid::Uuid>,
    pub(super) version: i32,
    pub(super) recall_count: i32,
    pub(super) use_count: i32,
    pub(super) created_at: DateTime<Utc>,
    pub(super) updated_at: DateTime<Utc>,
    pub(super) ci_status: Option<String>,
}

impl Row {
    pub(super) fn into_record(self) -> Result<Record> {
        let audience = RecordAccess {
            visibility: word(&self.visibility)?,
            private_to: self.private_to.map(UserId),
            trust: word(&self.trust)?,
        };
        read!(self => Record {
            id: self.id.into(), project: self.project_id.into(), task: self.task_id.map(TaskId),
            task_external_id: self.external_id, dialog: self.dialog_id.map(DialogId),
            kind: word(&self.kind)?, title, content, scope, tags, owner, ttl, is_ttl_explicit,
            quality, meta: record_meta(self.meta)?, state: word(&self.state)?, access: audience,
            amends_record_id: self.amends_record_id.map(RecordId),
            superseded_by: self.superseded_by.map(RecordId), version, recall_count, use_count,
            ci_status: self.ci_status.as_deref().map(word).transpose()?, created_at, updated_at
        })
    }
}
