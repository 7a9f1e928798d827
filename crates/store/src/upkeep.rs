//! What is no longer needed, deleted in small steps while the service works.

use mc_domain::Act;
use mc_domain::policy::RetentionDays;

use crate::audit::{Chain, NewEvent};
use crate::{Error, Store, audit, changes, ci, hooks, hygiene, quarantine, told, vectors};

/// Days that the change feed is kept: a keyword index that was not followed for longer is rebuilt.
const FEED_DAYS: i32 = 7;
/// Days that an ended session is kept.
const SESSION_DAYS: i32 = 30;

/// How much a sweep deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Swept {
    /// Entries of the change feed.
    pub feed: u64,
    /// Bundles.
    pub bundles: u64,
    /// Passages of records whose time is over; the records stay, and a save of the same revives
    /// them.
    pub expired: u64,
    /// Logins and sessions that are over.
    pub logins: u64,
    /// Records that were removed or replaced so long ago that the policy forgets them.
    pub removed: u64,
    /// Texts in quarantine that nobody decided about.
    pub holds: u64,
    /// What webhooks delivered.
    pub deliveries: u64,
    /// Changes, commits, CI results and removed comments of long ago.
    pub told: u64,
    /// Reports of hygiene.
    pub reports: u64,
    /// Events of the audit.
    pub events: u64,
}

/// Deletes what is older than the policies keep it, and takes expired records out of the search.
pub async fn sweep(store: &Store) -> Result<Swept, Error> {
    let kept = RetentionDays::default();
    let feed = prune_feed(store).await?;
    let bundles = sqlx::query!(
        "delete from bundles b using projects p
         where p.id = b.project_id and b.created_at < now() - make_interval(
             days => coalesce((p.policy #>> '{retention_days,bundles}')::int, $1))
           -- By the index on the time: no project keeps them for less.
           and b.created_at < (select now() - make_interval(
               days => min(coalesce((policy #>> '{retention_days,bundles}')::int, $1))) from projects)",
        i32::from(kept.bundles)
    )
    .execute(&store.pool)
    .await?
    .rows_affected();
    vectors::drop_graphs(store).await?;
    let logins = sweep_logins(store).await?;
    let expired = sqlx::query!(
        "delete from passages where record_id in (
             select id from memory_records where state in ('active', 'stale') and ttl < now())"
    )
    .execute(&store.pool)
    .await?
    .rows_affected();
    let removed = sqlx::query!(
        "delete from memory_records r using projects p
         where p.id = r.project_id and r.state in ('superseded', 'deleted')
             and r.updated_at < now() - make_interval(
                 days => coalesce((p.policy #>> '{retention_days,removed_records}')::int, $1))
             and r.updated_at < (select now() - make_interval(
                 days => min(coalesce((policy #>> '{retention_days,removed_records}')::int, $1)))
                 from projects)",
        i32::from(kept.removed_records)
    )
    .execute(&store.pool)
    .await?
    .rows_affected();
    let holds = expire_holds(store).await?;
    quarantine::forget_decided(store, i32::from(kept.quarantine)).await?;
    let deliveries = hooks::prune(store).await?;
    let told = changes::prune(store).await? + ci::prune(store).await? + told::prune(store).await?;
    hygiene::end_abandoned(store).await?;
    let reports = hygiene::prune(store).await?;
    let mut events = 0;
    for (chain, days) in audit::chains(store).await? {
        events += audit::prune(store, chain, days).await?.cast_unsigned();
    }
    Ok(Swept { feed, bundles, expired, logins, removed, holds, deliveries, told, reports, events })
}

/// Throws away what nobody decided about in time, and says so in the audit.
async fn expire_holds(store: &Store) -> Result<u64, Error> {
    let mut tx = store.begin().await?;
    let gone = quarantine::expire(&mut tx).await?;
    let mut projects: Vec<_> = gone.iter().map(|(_, project)| *project).collect();
    // In one order everywhere: who adds to a chain keeps it until the end.
    projects.sort();
    projects.dedup();
    for project in projects {
        let of_it = gone.iter().filter(|(_, of)| *of == project);
        let events: Vec<_> = of_it.map(|(id, _)| NewEvent::new(Act::Expired, id)).collect();
        audit::add(&mut tx, Chain::Project(project), None, &events).await?;
    }
    tx.commit().await?;
    Ok(gone.len() as u64)
}

/// Logins that never came back, and sessions whose end lies so far back that nobody asks about them.
async fn sweep_logins(store: &Store) -> Result<u64, Error> {
    let swept = sqlx::query_scalar!(
        r#"with pending as (
               delete from pending_logins where expires_at < now() returning 1),
           devices as (
               delete from device_grants where expires_at < now() - interval '1 day' returning 1),
           ended as (
               delete from sessions where ends_at < now() - make_interval(days => $1) returning 1)
           select (select count(*) from pending) + (select count(*) from devices)
                + (select count(*) from ended) as "count!""#,
        SESSION_DAYS
    )
    .fetch_one(&store.pool)
    .await?;
    Ok(swept.cast_unsigned())
}

/// The newest transaction always stays, so that an index that has read everything stands behind
/// what was deleted.
async fn prune_feed(store: &Store) -> Result<u64, Error> {
    let gone = sqlx::query_scalar!(
        r#"with gone as (
               delete from feed
               where noted_at < now() - make_interval(days => $1)
                 and txid < (select max(txid) from feed)
               returning txid),
           noted as (
               update feed_pruned set txid = greatest(feed_pruned.txid, (select max(txid) from gone)))
           select count(*) as "count!" from gone"#,
        FEED_DAYS
    )
    .fetch_one(&store.pool)
    .await?;
    Ok(gone.cast_unsigned())
}
