//! What is no longer needed, deleted in small steps while the service works.

use crate::{Error, Store, vectors};

/// Days that the change feed is kept: a keyword index that was not followed for longer is rebuilt.
const FEED_DAYS: i32 = 7;
/// Days that it is kept what was recalled, and what of it was used.
const BUNDLE_DAYS: i32 = 365;
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
}

/// Deletes old entries of the feed and old bundles, and takes expired records out of the search.
pub async fn sweep(store: &Store) -> Result<Swept, Error> {
    let feed = prune_feed(store).await?;
    let bundles = sqlx::query!(
        "delete from bundles where created_at < now() - make_interval(days => $1)",
        BUNDLE_DAYS
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
    Ok(Swept { feed, bundles, expired, logins })
}

/// The newest transaction always stays, so that an index that has read everything stands behind
/// what was deleted.
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
