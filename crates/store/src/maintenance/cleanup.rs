//! The hourly cleanup of service data, in small steps.

use mc_domain::policy::RetentionDays;

use crate::hygiene::mass_expiry;
use crate::{Result, Store, audit, hygiene, patches, usage, vectors, webhooks};

/// Days that entries of the change feed are kept; a keyword index that did not follow for longer is
/// rebuilt.
const FEED_DAYS: i32 = 7;
/// Days that an ended session is kept.
const SESSION_DAYS: i32 = 30;

/// The result of a cleanup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CleanupReport {
    /// Deleted entries of the change feed.
    pub feed: u64,
    /// Records whose expiry was suspended, because too many of their project would have expired at
    /// once.
    pub suspended: u64,
    /// Deleted passages of expired records. The records stay, and a save of the same content
    /// revives them.
    pub expired: u64,
    /// Deleted pending logins, device grants, sessions and invitations.
    pub logins: u64,
    /// Deleted audit events of the service and of deleted projects.
    pub events: u64,
    /// Audit events of users' reads in one hour.
    pub reads: u64,
    /// Deleted patches.
    pub patches: u64,
}

/// Deletes outdated service data, passages of expired records, expired patches and previous secrets
/// of webhooks, and audits reads. Other data of projects is deleted by their policies
/// ([`hygiene::retention`]).
pub async fn sweep(store: &Store) -> Result<CleanupReport> {
    let feed = prune_feed(store).await?;
    vectors::drop_orphaned_hnsw_indexes(store).await?;
    let logins = delete_expired_logins(store).await?;
    let mut tx = store.begin().await?;
    let suspended = mass_expiry::suspend(&mut tx, None).await?;
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
    let reads = usage::audit_reads(store).await?;
    let patches = patches::delete_expired(store).await?;
    Ok(CleanupReport { feed, suspended, expired, logins, events, reads, patches })
}

/// Deletes old audit events of chains without a project, in one transaction each.
async fn prune_audits(store: &Store) -> Result<u64> {
    let mut events = 0;
    for chain in audit::chains_of_no_project(store).await? {
        let mut tx = store.begin().await?;
        events += audit::prune(&mut tx, chain, RetentionDays::default().audit).await?;
        tx.commit().await?;
    }
    Ok(events)
}

/// Deletes pending logins, device grants and invitations that expired, and sessions that ended long
/// ago.
async fn delete_expired_logins(store: &Store) -> Result<u64> {
    let deleted = sqlx::query_scalar!(
        r#"with pending as (
               delete from pending_logins where expires_at < now() returning 1),
           devices as (
               delete from device_grants where expires_at < now() - interval '1 day' returning 1),
           ended as (
               delete from sessions where expires_at < now() - make_interval(days => $1)
                   returning 1),
           invited as (
               delete from invitations where expires_at < now() returning 1)
           select (select count(*) from pending) + (select count(*) from invited)
                + (select count(*) from devices)
                + (select count(*) from ended) as "count!""#,
        SESSION_DAYS
    )
    .fetch_one(&mut *store.plain().await?)
    .await?;
    Ok(deleted.cast_unsigned())
}

/// Deletes old entries of the feed, but never those of the newest transaction, so that an index
/// that has read everything is ahead of the deleted ones.
async fn prune_feed(store: &Store) -> Result<u64> {
    let deleted = sqlx::query_scalar!(
        r#"with gone as (
               delete from change_feed
               where created_at < now() - make_interval(days => $1)
                 and txid < (select max(txid) from change_feed)
               returning txid),
           noted as (
               update change_feed_watermark set txid = greatest(change_feed_watermark.txid,
                   (select max(txid) from gone)))
           select count(*) as "count!" from gone"#,
        FEED_DAYS
    )
    .fetch_one(&mut *store.plain().await?)
    .await?;
    Ok(deleted.cast_unsigned())
}
