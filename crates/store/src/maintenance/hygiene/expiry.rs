//! Expired records, and the data that retention deletes soon.

use mc_domain::policy::RetentionDays;
use mc_domain::{ProjectId, RecordId};

use super::usage::delete_passages;
use crate::{Result, Store, Tx};

/// Number of expired records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Expired {
    /// All of them: search does not find them, and a save of the same content revives them.
    pub all: i64,
    /// Those that expired so long ago that they are deleted.
    pub long_ago: i64,
}

/// Number of items that retention deletes within some days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Due {
    /// Number of bundles.
    pub bundles: i64,
    /// Deleted and superseded records, which are purged.
    pub deleted_records: i64,
    /// Undecided quarantine items.
    pub quarantine_items: i64,
    /// Number of hygiene runs.
    pub hygiene_runs: i64,
}

/// Counts the expired live records of a project; those that expired more than `grace` days ago are
/// `long_ago`.
pub async fn count(store: &Store, project: ProjectId, grace: i32) -> Result<Expired> {
    Ok(sqlx::query_as!(
        Expired,
        r#"select count(*) as "all!",
                  count(*) filter (where ttl < now() - make_interval(days => $2)) as "long_ago!"
           from memory_records
           where project_id = $1 and state in ('active', 'stale') and ttl < now()"#,
        project.0,
        grace
    )
    .fetch_one(&mut *store.read().await?)
    .await?)
}

/// Deletes at most `limit` records that expired more than `grace` days ago; returns them, and
/// whether each is visible to others than its owner. Each can be restored
/// ([`restore`](crate::records::restore)).
pub async fn expire_records(
    tx: &mut Tx,
    project: ProjectId,
    grace: i32,
    limit: i64,
) -> Result<Vec<(RecordId, bool)>> {
    let deleted = sqlx::query!(
        r#"with long_ago as (
               select id from memory_records
               where project_id = $1 and state in ('active', 'stale')
                 and ttl < now() - make_interval(days => $2)
               order by id limit $3 for update)
           update memory_records r set state = 'deleted', updated_at = now()
           from long_ago where r.id = long_ago.id
           returning r.id, r.private_to is null as "is_shared!""#,
        project.0,
        grace,
        limit
    )
    .fetch_all(&mut *tx.0)
    .await?;
    let ids: Vec<_> = deleted.iter().map(|row| row.id).collect();
    delete_passages(tx, &ids).await?;
    Ok(deleted.into_iter().map(|row| (row.id.into(), row.is_shared)).collect())
}

/// Counts the items of a project that retention deletes within `within` days.
pub async fn due(store: &Store, project: ProjectId, within: i32) -> Result<Due> {
    let kept = RetentionDays::default();
    Ok(sqlx::query_as!(
        Due,
        r#"with kept as (
               select now() + make_interval(days => $2) as until,
                      coalesce((policy #>> '{retention_days,bundles}')::int, $3) as bundles,
                      coalesce((policy #>> '{retention_days,deleted_records}')::int, $4) as records,
                      coalesce((policy #>> '{retention_days,hygiene}')::int, $5) as runs
               from projects where id = $1)
           select (select count(*) from bundles b where b.project_id = $1
                     and b.created_at < k.until - make_interval(days => k.bundles)) as "bundles!",
                  (select count(*) from memory_records r where r.project_id = $1
                     and r.state in ('superseded', 'deleted')
                     and r.updated_at < k.until - make_interval(days => k.records)) as
                         "deleted_records!",
                  (select count(*) from quarantine_items q where q.project_id = $1
                      and q.state = 'pending'
                     and q.expires_at < k.until) as "quarantine_items!",
                  (select count(*) from hygiene_runs h where h.project_id = $1
                     and h.requested_at < k.until - make_interval(days => k.runs)) as
                         "hygiene_runs!"
           from kept k"#,
        project.0,
        within,
        i32::from(kept.bundles),
        i32::from(kept.deleted_records),
        i32::from(kept.hygiene)
    )
    .fetch_optional(&mut *store.read().await?)
    .await?
    .unwrap_or_default())
}
