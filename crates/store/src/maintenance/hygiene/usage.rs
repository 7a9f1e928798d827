//! Records of the team that help nobody: what speaks against each, taking them out, and setting them aside.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, Utc};
use mc_domain::{PassageId, ProjectId, RecordId, RecordKind, Trust};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::word;
use crate::{Error, Store, Tx, records};

/// What is known of a record's use.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordUsage {
    /// Which record.
    pub id: RecordId,
    /// What search sees of it.
    pub passage: Option<PassageId>,
    /// Kind.
    pub kind: RecordKind,
    /// Who vouches for it.
    pub trust: Trust,
    /// Whether somebody named its end.
    pub is_ttl_explicit: bool,
    /// How often it was recalled.
    pub recall_count: i32,
    /// How often feedback said it was used.
    pub use_count: i32,
    /// How often its use was seen without a word: opened, cited, or touched by a merged change.
    pub seen: i32,
    /// Last recall.
    pub last_recalled_at: Option<DateTime<Utc>>,
    /// Last change.
    pub updated_at: DateTime<Utc>,
    /// Since its last change: bundles of which something was used, and not this.
    pub skip_count: i64,
    /// Since when what it cites is as it is now, where that is no longer what it cited.
    pub broken_since: Option<DateTime<Utc>>,
}

/// What speaks against a record.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DemotionReason {
    /// What the ranking multiplied it by whatever was asked; `None` for what was not found at all.
    pub standing: Option<f64>,
    /// What that was made of: steps of the ranking, each with its factor.
    pub factors: BTreeMap<String, f64>,
    /// Why it helps nobody.
    pub reasons: Vec<String>,
}

/// The live, unexpired records of the team after an id, oldest first.
pub async fn list_team(
    store: &Store,
    project: ProjectId,
    after: Option<RecordId>,
    limit: i64,
) -> Result<Vec<RecordUsage>, Error> {
    let rows = sqlx::query!(
        r#"select r.id, p.id as "passage?", r.kind, r.trust, r.is_ttl_explicit, r.recall_count, r.use_count, r.last_recalled_at, r.updated_at,
                  r.open_count + r.cite_count + r.pull_request_count as "seen!",
                  (select count(*) from bundle_items i join bundles b on b.id = i.bundle_id
                   where i.record_id = r.id and i.is_used is not true and b.created_at > r.updated_at
                     and b.feedback_at is not null
                     and exists (select from bundle_items o where o.bundle_id = b.id and o.is_used))
                      as "skip_count!",
                  (select max(c.checked_at) from record_citations c
                   where c.record_id = r.id and r.state = 'stale' and c.verdict in ('drifted', 'orphaned'))
                      as broken_since
           from memory_records r left join passages p on p.record_id = r.id
           where r.project_id = $1 and r.visibility = 'team' and r.state in ('active', 'stale') and r.ttl > now()
             and r.id > $2
           order by r.id limit $3"#,
        project.0,
        after.map_or_else(uuid::Uuid::nil, |id| id.0),
        limit
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(RecordUsage {
                id: row.id.into(),
                passage: row.passage.map(PassageId::from),
                kind: word(&row.kind)?,
                trust: word(&row.trust)?,
                is_ttl_explicit: row.is_ttl_explicit,
                recall_count: row.recall_count,
                use_count: row.use_count,
                seen: row.seen,
                last_recalled_at: row.last_recalled_at,
                updated_at: row.updated_at,
                skip_count: row.skip_count,
                broken_since: row.broken_since,
            })
        })
        .collect()
}

/// Takes out the records that are as they were looked at; answers which. Each can be brought back
/// ([`records::restore`]).
pub async fn delete_unused(
    tx: &mut Tx,
    project: ProjectId,
    looked_at: &[RecordUsage],
) -> Result<Vec<RecordId>, Error> {
    let ids: Vec<_> = looked_at.iter().map(|usage| usage.id).collect();
    records::lock(tx, &ids).await?;
    let ids: Vec<_> = ids.iter().map(|id| id.0).collect();
    let hits: Vec<_> = looked_at.iter().map(|usage| usage.recall_count).collect();
    let changes: Vec<_> = looked_at.iter().map(|usage| usage.updated_at).collect();
    let retired = sqlx::query_scalar!(
        "update memory_records r set state = 'deleted', updated_at = now()
         from unnest($2::uuid[], $3::int[], $4::timestamptz[]) as seen (id, recall_count, updated_at)
         where r.id = seen.id and r.project_id = $1 and r.recall_count = seen.recall_count and r.updated_at = seen.updated_at
             and r.visibility = 'team' and r.state in ('active', 'stale')
         returning r.id",
        project.0,
        &ids,
        &hits,
        &changes
    )
    .fetch_all(&mut *tx.0)
    .await?;
    delete_passages(tx, &retired).await?;
    Ok(retired.into_iter().map(RecordId::from).collect())
}

/// Puts the records that are as they were looked at before the reviewers, as proposals that nobody recalls, for at
/// least so many days; answers which. Left alone is what somebody would have say something else, and what was proposed
/// anew meanwhile. To be called in a transaction of [`Store::begin_in_memory`].
pub async fn demote(
    tx: &mut Tx,
    project: ProjectId,
    looked_at: &[(RecordUsage, DemotionReason)],
    days: u16,
) -> Result<Vec<RecordId>, Error> {
    let ids: Vec<_> = looked_at.iter().map(|(usage, _)| usage.id).collect();
    records::lock(tx, &ids).await?;
    let ids: Vec<_> = ids.iter().map(|id| id.0).collect();
    let hits: Vec<_> = looked_at.iter().map(|(usage, _)| usage.recall_count).collect();
    let changes: Vec<_> = looked_at.iter().map(|(usage, _)| usage.updated_at).collect();
    let against: Vec<_> = looked_at.iter().map(|(_, against)| json!(against)).collect();
    let waiting = sqlx::query_scalar!(
        "update memory_records r set visibility = 'proposed', demotion = seen.against, updated_at = now(),
             ttl = greatest(r.ttl, now() + make_interval(days => $6))
         from unnest($2::uuid[], $3::int[], $4::timestamptz[], $5::jsonb[]) as seen (id, recall_count, updated_at, against)
         where r.id = seen.id and r.project_id = $1 and r.recall_count = seen.recall_count and r.updated_at = seen.updated_at
             and r.visibility = 'team' and r.state in ('active', 'stale')
             and not exists (
                 select from memory_records o
                 where o.amends_record_id = r.id and o.state in ('active', 'stale'))
             and not exists (
                 select from memory_records o
                 where o.project_id = r.project_id and o.kind = r.kind and o.content_hash = r.content_hash
                     and o.visibility = 'proposed' and o.state in ('active', 'stale'))
         returning r.id",
        project.0,
        &ids,
        &hits,
        &changes,
        &against,
        i32::from(days)
    )
    .fetch_all(&mut *tx.0)
    .await?;
    delete_passages(tx, &waiting).await?;
    Ok(waiting.into_iter().map(RecordId::from).collect())
}

/// Why hygiene set these records aside; of others nothing.
pub async fn demotion_reasons(
    store: &Store,
    ids: &[RecordId],
) -> Result<HashMap<RecordId, DemotionReason>, Error> {
    let ids: Vec<_> = ids.iter().map(|id| id.0).collect();
    let rows = sqlx::query!(
        r#"select id, demotion as "against!" from memory_records
           where id = any($1) and demotion is not null"#,
        &ids
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    rows.into_iter().map(|row| Ok((row.id.into(), read(row.against)?))).collect()
}

fn read(against: Value) -> Result<DemotionReason, Error> {
    serde_json::from_value(against)
        .map_err(|error| Error::Unreadable(format!("memory_records.demotion: {error}")))
}

pub(super) async fn delete_passages(tx: &mut Tx, records: &[uuid::Uuid]) -> Result<(), Error> {
    sqlx::query!("delete from passages where record_id = any($1)", records)
        .execute(&mut *tx.0)
        .await?;
    Ok(())
}
