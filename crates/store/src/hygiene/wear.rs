//! Records of the team that help nobody: what speaks against each, and taking them out.

use chrono::{DateTime, Utc};
use mc_domain::{PassageId, ProjectId, RecordId, RecordKind, Trust};

use crate::error::word;
use crate::{Error, Store, Tx, records};

/// What is known of a record's use.
#[derive(Debug, Clone, PartialEq)]
pub struct Wear {
    /// Which record.
    pub id: RecordId,
    /// What search sees of it.
    pub passage: Option<PassageId>,
    /// Kind.
    pub kind: RecordKind,
    /// Who vouches for it.
    pub trust: Trust,
    /// Whether somebody named its end.
    pub ttl_given: bool,
    /// How often it was recalled.
    pub hits: i32,
    /// How often feedback said it was used.
    pub used: i32,
    /// Last recall.
    pub last_hit_at: Option<DateTime<Utc>>,
    /// Last change.
    pub updated_at: DateTime<Utc>,
    /// Since its last change: bundles of which something was used, and not this.
    pub passed_over: i64,
    /// Since when what it cites is as it is now, where that is no longer what it cited.
    pub broken_since: Option<DateTime<Utc>>,
}

/// The live, unexpired records of the team after an id, oldest first.
pub async fn of_team(
    store: &Store,
    project: ProjectId,
    after: Option<RecordId>,
    limit: i64,
) -> Result<Vec<Wear>, Error> {
    let rows = sqlx::query!(
        r#"select r.id, p.id as "passage?", r.kind, r.trust, r.ttl_given, r.hits, r.used, r.last_hit_at, r.updated_at,
                  (select count(*) from bundle_items i join bundles b on b.id = i.bundle_id
                   where i.record_id = r.id and i.used is not true and b.created_at > r.updated_at
                     and exists (select from bundle_items o where o.bundle_id = b.id and o.used))
                      as "passed_over!",
                  (select max(c.checked_at) from memory_citations c
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
            Ok(Wear {
                id: row.id.into(),
                passage: row.passage.map(PassageId::from),
                kind: word(&row.kind)?,
                trust: word(&row.trust)?,
                ttl_given: row.ttl_given,
                hits: row.hits,
                used: row.used,
                last_hit_at: row.last_hit_at,
                updated_at: row.updated_at,
                passed_over: row.passed_over,
                broken_since: row.broken_since,
            })
        })
        .collect()
}

/// Takes out the records that are as they were looked at; answers which. Each can be brought back
/// ([`records::restore`]).
pub async fn retire(
    tx: &mut Tx,
    project: ProjectId,
    looked_at: &[Wear],
) -> Result<Vec<RecordId>, Error> {
    let ids: Vec<_> = looked_at.iter().map(|wear| wear.id).collect();
    records::lock(tx, &ids).await?;
    let ids: Vec<_> = ids.iter().map(|id| id.0).collect();
    let hits: Vec<_> = looked_at.iter().map(|wear| wear.hits).collect();
    let changes: Vec<_> = looked_at.iter().map(|wear| wear.updated_at).collect();
    let retired = sqlx::query_scalar!(
        "update memory_records r set state = 'deleted', updated_at = now()
         from unnest($2::uuid[], $3::int[], $4::timestamptz[]) as seen (id, hits, updated_at)
         where r.id = seen.id and r.project_id = $1 and r.hits = seen.hits and r.updated_at = seen.updated_at
             and r.visibility = 'team' and r.state in ('active', 'stale')
         returning r.id",
        project.0,
        &ids,
        &hits,
        &changes
    )
    .fetch_all(&mut *tx.0)
    .await?;
    out_of_search(tx, &retired).await?;
    Ok(retired.into_iter().map(RecordId::from).collect())
}

pub(super) async fn out_of_search(tx: &mut Tx, records: &[uuid::Uuid]) -> Result<(), Error> {
    sqlx::query!("delete from passages where record_id = any($1)", records)
        .execute(&mut *tx.0)
        .await?;
    Ok(())
}
