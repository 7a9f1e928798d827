//! Unused team records: evidence of use, deletion and demotion.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use mc_contract::operations::proposal::Demotion;
use mc_domain::{PassageId, ProjectId, RecordId, RecordKind, Trust};
use serde_json::json;

use crate::error::{from_json, word};
use crate::row::{read, uuids};
use crate::{Result, Store, Tx, records};

/// Evidence of a record's use.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordUsage {
    /// Id of the record.
    pub id: RecordId,
    /// Its passage; `None` if it is not searchable.
    pub passage: Option<PassageId>,
    /// Kind of knowledge, such as a fact or a rule.
    pub kind: RecordKind,
    /// Trust level.
    pub trust: Trust,
    /// Whether a person set the expiry.
    pub is_ttl_explicit: bool,
    /// Number of recalls.
    pub recall_count: i32,
    /// Number of bundles after which feedback named the record as used.
    pub use_count: i32,
    /// Uses without feedback: opened, cited, or touched by a merged pull request.
    pub seen: i32,
    /// Last recall.
    pub last_recalled_at: Option<DateTime<Utc>>,
    /// Last change.
    pub updated_at: DateTime<Utc>,
    /// Bundles since the last change in which something else was used, and not this record.
    pub skip_count: i64,
    /// When a check found that the cited code has changed; `None` if it has not.
    pub broken_since: Option<DateTime<Utc>>,
}

/// A record as it was when it was judged. It is demoted only if it is still the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordSnapshot {
    /// Id of the record.
    pub id: RecordId,
    /// Number of recalls.
    pub recall_count: i32,
    /// Last change.
    pub updated_at: DateTime<Utc>,
}

impl RecordUsage {
    /// Returns the state by which a later change is noticed.
    pub fn snapshot(&self) -> RecordSnapshot {
        let Self { id, recall_count, updated_at, .. } = *self;
        RecordSnapshot { id, recall_count, updated_at }
    }
}

/// Returns live, unexpired team records after an id, oldest first.
pub async fn list_team(
    store: &Store,
    project: ProjectId,
    after: Option<RecordId>,
    limit: i64,
) -> Result<Vec<RecordUsage>> {
    let rows = sqlx::query!(
        r#"select r.id, p.id as "passage?", r.kind, r.trust, r.is_ttl_explicit, r.recall_count,
               r.use_count, r.last_recalled_at, r.updated_at,
                  r.open_count + r.cite_count + r.pull_request_count as "seen!",
                  (select count(*) from bundle_items i join bundles b on b.id = i.bundle_id
                   where i.record_id = r.id and i.is_used is not true
                       and b.created_at > r.updated_at
                     and b.feedback_at is not null
                     and exists (select from bundle_items o where o.bundle_id = b.id and o.is_used))
                      as "skip_count!",
                  (select max(c.checked_at) from record_citations c
                   where c.record_id = r.id and r.state = 'stale' and c.verdict in ('drifted',
                       'orphaned'))
                      as broken_since
           from memory_records r left join passages p on p.record_id = r.id
           where r.project_id = $1 and r.visibility = 'team' and r.state in ('active', 'stale')
               and r.ttl > now()
             and r.id > $2
           order by r.id limit $3"#,
        project.0,
        after.map_or_else(uuid::Uuid::nil, |id| id.0),
        limit
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    read!(each row in rows => RecordUsage {
        id: row.id.into(), passage: row.passage.map(PassageId::from), kind: word(&row.kind)?,
        trust: word(&row.trust)?, is_ttl_explicit, recall_count, use_count, seen, last_recalled_at,
        updated_at, skip_count, broken_since
    })
}

/// Deletes records that have not changed since they were judged; returns them. Each can be restored
/// ([`records::restore`]).
pub async fn delete_unused(
    tx: &mut Tx,
    project: ProjectId,
    judged: &[RecordUsage],
) -> Result<Vec<RecordId>> {
    let ids: Vec<_> = judged.iter().map(|usage| usage.id).collect();
    records::lock(tx, &ids).await?;
    let hits: Vec<_> = judged.iter().map(|usage| usage.recall_count).collect();
    let changes: Vec<_> = judged.iter().map(|usage| usage.updated_at).collect();
    let deleted = sqlx::query_scalar!(
        "update memory_records r set state = 'deleted', updated_at = now()
         from unnest($2::uuid[], $3::int[], $4::timestamptz[]) as seen (id, recall_count,
             updated_at)
         where r.id = seen.id and r.project_id = $1 and r.recall_count = seen.recall_count
             and r.updated_at = seen.updated_at
             and r.visibility = 'team' and r.state in ('active', 'stale')
         returning r.id",
        project.0,
        &uuids(&ids),
        &hits,
        &changes
    )
    .fetch_all(&mut *tx.0)
    .await?;
    delete_passages(tx, &deleted).await?;
    Ok(deleted.into_iter().map(RecordId::from).collect())
}

/// Makes records that have not changed since they were judged proposals for reviewers, which recall
/// does not find, for at least `days`; returns them. Records with a proposal to change them, or
/// with a proposal of the same content, stay. Call it in a transaction of
/// [`Store::begin_with_memory_lock`].
pub async fn demote(
    tx: &mut Tx,
    project: ProjectId,
    judged: &[(RecordSnapshot, Demotion)],
    days: u16,
) -> Result<Vec<RecordId>> {
    let ids: Vec<_> = judged.iter().map(|(snapshot, _)| snapshot.id).collect();
    records::lock(tx, &ids).await?;
    let hits: Vec<_> = judged.iter().map(|(snapshot, _)| snapshot.recall_count).collect();
    let changes: Vec<_> = judged.iter().map(|(snapshot, _)| snapshot.updated_at).collect();
    let demotions: Vec<_> = judged.iter().map(|(_, demotion)| json!(demotion)).collect();
    let demoted = sqlx::query_scalar!(
        "update memory_records r set visibility = 'proposed', demotion = seen.demotion,
             updated_at = now(),
             ttl = greatest(r.ttl, now() + make_interval(days => $6))
         from unnest($2::uuid[], $3::int[], $4::timestamptz[], $5::jsonb[]) as seen (id,
             recall_count, updated_at, demotion)
         where r.id = seen.id and r.project_id = $1 and r.recall_count = seen.recall_count
             and r.updated_at = seen.updated_at
             and r.visibility = 'team' and r.state in ('active', 'stale')
             and not exists (
                 select from memory_records o
                 where o.amends_record_id = r.id and o.state in ('active', 'stale'))
             and not exists (
                 select from memory_records o
                 where o.project_id = r.project_id and o.kind = r.kind
                     and o.content_hash = r.content_hash
                     and o.visibility = 'proposed' and o.state in ('active', 'stale'))
         returning r.id",
        project.0,
        &uuids(&ids),
        &hits,
        &changes,
        &demotions,
        i32::from(days)
    )
    .fetch_all(&mut *tx.0)
    .await?;
    delete_passages(tx, &demoted).await?;
    Ok(demoted.into_iter().map(RecordId::from).collect())
}

/// Returns the demotions of those of the records that were demoted.
pub async fn demotions(store: &Store, ids: &[RecordId]) -> Result<HashMap<RecordId, Demotion>> {
    let rows = sqlx::query!(
        r#"select id, demotion as "demotion!" from memory_records
           where id = any($1) and demotion is not null"#,
        &uuids(ids)
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    let demotion = |stored| from_json("memory_records.demotion", stored);
    rows.into_iter().map(|row| Ok((row.id.into(), demotion(row.demotion)?))).collect()
}

pub(super) async fn delete_passages(tx: &mut Tx, records: &[uuid::Uuid]) -> Result<()> {
    tx.run(sqlx::query!("delete from passages where record_id = any($1)", records)).await
}
