//! Mass expiry: if too many records of a project would expire at once, their expiry is suspended
//! until a person decides. Otherwise hundreds of imported facts that were not recalled for half a
//! year would expire in one night, and most of a project's memory with them.

use mc_domain::{ProjectId, RecordId};

use crate::records::{DEFAULT_TTL_DAYS, NO_END};
use crate::{Result, Store, Tx};

/// Expiries at once that are always allowed.
const RECORDS_MAX: i64 = 20;
/// More than that are suspended if they are more than one in this many of the project's records.
const SHARE_MAX: i64 = 10;
/// Records that expire within this many hours before or after now expire at once. Cleanup runs
/// hourly and may miss some runs: expiry is suspended before search stops to find the records.
const AT_ONCE_HOURS: i32 = 25;

/// Records of a project with suspended expiry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Suspended {
    /// Number of records.
    pub count: i64,
    /// The first of those that are visible to others than their owners.
    pub shared: Vec<RecordId>,
}

/// Suspends the expiry of records where too many of a project (all, or `only` one) would expire at
/// once. Explicit expiries are never suspended. Returns the number of records.
pub async fn suspend(tx: &mut Tx, only: Option<ProjectId>) -> Result<u64> {
    tx.count_changed(sqlx::query!(
        "with ending as (
             select project_id, id from memory_records
             where state in ('active', 'stale') and visibility <> 'proposed' and not is_ttl_explicit
                 and expiry_suspended_at is null and ($1::uuid is null or project_id = $1)
                 and ttl between now() - make_interval(hours => $2)
                     and now() + make_interval(hours => $2)),
         too_many as (
             select e.project_id from ending e group by e.project_id
             having count(*) > $3 and count(*) * $4 > (
                 select count(*) from memory_records r
                 where r.project_id = e.project_id and r.state in ('active', 'stale')
                     and r.visibility <> 'proposed'
                     and r.ttl > now() - make_interval(hours => $2))),
         chosen as (
             select r.id from memory_records r
             where r.id in (select id from ending join too_many using (project_id))
             order by r.id for no key update)
         update memory_records r set expiry_suspended_at = now(), ttl = $5 from chosen
             where r.id = chosen.id",
        only.map(|project| project.0),
        AT_ONCE_HOURS,
        RECORDS_MAX,
        SHARE_MAX,
        NO_END
    ))
    .await
}

/// Suspends the expiry of records that expired more than `grace` days ago, if too many of the
/// project would be deleted at once. Returns the number of records.
pub async fn suspend_expired(tx: &mut Tx, project: ProjectId, grace: i32) -> Result<u64> {
    tx.count_changed(sqlx::query!(
        "with going as (
             select id from memory_records
             where project_id = $1 and state in ('active', 'stale') and visibility <> 'proposed'
                 and not is_ttl_explicit
                 and ttl < now() - make_interval(days => $2)
             order by id for no key update),
         amount as (
             select (select count(*) from going) as going,
                    (select count(*) from memory_records
                     where project_id = $1 and state in ('active', 'stale')
                         and visibility <> 'proposed') as live)
         update memory_records r set expiry_suspended_at = now(), ttl = $5
         from going, amount a where r.id = going.id and a.going > $3 and a.going * $4 > a.live",
        project.0,
        grace,
        RECORDS_MAX,
        SHARE_MAX,
        NO_END
    ))
    .await
}

/// Expires the suspended records, except those recalled or changed since, which live on. Returns
/// the number of expired ones.
pub async fn confirm(tx: &mut Tx, project: ProjectId) -> Result<u64> {
    // The decision makes the expiry explicit.
    let expired = tx
        .count_changed(sqlx::query!(
            "with suspended as (
             select id from memory_records
             where project_id = $1 and expiry_suspended_at is not null
                 and coalesce(last_recalled_at <= expiry_suspended_at, true)
                     and updated_at <= expiry_suspended_at
             order by id for no key update)
         update memory_records r set ttl = now(), is_ttl_explicit = true, expiry_suspended_at = null
         from suspended where r.id = suspended.id",
            project.0
        ))
        .await?;
    extend(tx, project).await?;
    Ok(expired)
}

/// Extends the suspended records as if they were saved now; returns their number.
pub async fn extend(tx: &mut Tx, project: ProjectId) -> Result<u64> {
    tx.count_changed(sqlx::query!(
        "with suspended as (
             select r.id, coalesce((p.policy #>> array['ttl_days', r.kind])::int,
                                   case when r.kind in ('fact', 'fewshot') then $2::int end) as days
             from memory_records r join projects p on p.id = r.project_id
             where r.project_id = $1 and r.expiry_suspended_at is not null
             order by r.id for no key update of r)
         update memory_records r set expiry_suspended_at = null,
             ttl = case when r.is_ttl_explicit then r.ttl
                   else coalesce(now() + make_interval(days => suspended.days), $3) end
         from suspended where r.id = suspended.id",
        project.0,
        DEFAULT_TTL_DAYS,
        NO_END
    ))
    .await
}

/// Returns the suspended records of a project, at most `limit` of them by id.
pub async fn suspended(store: &Store, project: ProjectId, limit: i64) -> Result<Suspended> {
    let row = sqlx::query!(
        r#"select count(*) as "count!",
                  array(select id from memory_records
                        where project_id = $1 and expiry_suspended_at is not null
                            and private_to is null
                            and state in ('active', 'stale')
                        order by id limit $2) as "shared!: Vec<uuid::Uuid>"
           from memory_records
           where project_id = $1 and expiry_suspended_at is not null
               and state in ('active', 'stale')"#,
        project.0,
        limit
    )
    .fetch_one(&mut *store.read().await?)
    .await?;
    Ok(Suspended { count: row.count, shared: row.shared.into_iter().map(RecordId::from).collect() })
}
