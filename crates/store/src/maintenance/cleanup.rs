//! What is no longer needed, deleted in small steps while the service works.

use mc_domain::policy::RetentionDays;

use crate::hygiene::mass_expiry;
use crate::{Error, Store, audit, hygiene, vectors, webhooks};

/// Days that the change feed is kept: a keyword index that was not followed for longer is rebuilt.
const FEED_DAYS: i32 = 7;
/// Days that an ended session is kept.
const SESSION_DAYS: i32 = 30;

/// How much a sweep deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CleanupReport {
    /// Entries of the change feed.
    pub feed: u64,
    /// Records whose end waits for a person from now on: too many of their project would have ended at once.
    pub held: u64,
    /// Passages of records whose time is over; the records stay, and a save of the same revives
    /// them.
    pub expired: u64,
    /// Logins and sessions that are over.
    pub logins: u64,
    /// Events of the audit, of the service's own and of projects that are gone.
    pub events: u64,
}

/// Deletes what of no project is older than it is kept, and takes expired records out of the search. What is a
/// project's goes as its policy has it ([`hygiene::retention`]).
pub async fn sweep(store: &Store) -> Result<CleanupReport, Error> {
    let feed = prune_feed(store).await?;
    vectors::drop_orphaned_hnsw_indexes(store).await?;
    let logins = sweep_logins(store).await?;
    let mut tx = store.begin().await?;
    let held = mass_expiry::hold(&mut tx, None).await?;
    tx.commit().await?;
    let expired = sqlx::query!(
        "delete from passages where record_id in (
             select id from memory_records where state in ('active', 'stale') and ttl < now())"
    )
    .execute(&mut *store.plain().await?)
    .await?
    .rows_affected();
    webhooks::delete_expired_secrets(store).await?;
    hygiene::end_abandoned(store).await?;
    let events = prune_audits(store).await?;
    Ok(CleanupReport { feed, held, expired, logins, events })
}

/// Drops what is old of the audits of no project, one transaction each.
async fn prune_audits(store: &Store) -> Result<u64, Error> {
    let mut events = 0;
    for chain in audit::chains_of_no_project(store).await? {
        let mut tx = store.begin().await?;
        events += audit::prune(&mut tx, chain, RetentionDays::default().audit).await?;
        tx.commit().await?;
    }
    Ok(events)
}

/// Logins that never came back, and sessions whose end lies so far back that nobody asks about them.
async fn sweep_logins(store: &Store) -> Result<u64, Error> {
    let swept = sqlx::query_scalar!(
        r#"with pending as (
               delete from pending_logins where expires_at < now() returning 1),
           devices as (
               delete from device_grants where expires_at < now() - interval '1 day' returning 1),
           ended as (
               delete from sessions where expires_at < now() - make_interval(days => $1) returning 1)
           select (select count(*) from pending) + (select count(*) from devices)
                + (select count(*) from ended) as "count!""#,
        SESSION_DAYS
    )
    .fetch_one(&mut *store.plain().await?)
    .await?;
    Ok(swept.cast_unsigned())
}

/// The newest transaction always stays, so that an index that has read everything stands behind
/// what was deleted.
async fn prune_feed(store: &Store) -> Result<u64, Error> {
    let gone = sqlx::query_scalar!(
        r#"with gone as (
               delete from change_feed
               where created_at < now() - make_interval(days => $1)
                 and txid < (select max(txid) from change_feed)
               returning txid),
           noted as (
               update change_feed_watermark set txid = greatest(change_feed_watermark.txid, (select max(txid) from gone)))
           select count(*) as "count!" from gone"#,
        FEED_DAYS
    )
    .fetch_one(&mut *store.plain().await?)
    .await?;
    Ok(gone.cast_unsigned())
}
