//! The change feed: changed passages, in an order that a reader can follow without gaps.
//!
//! A sequence number is assigned when a row is written and becomes visible at commit, so reading
//! "everything above the last number" skips a transaction that commits late. The feed is therefore
//! ordered by transaction id, and a reader's cursor never passes the oldest running transaction
//! ([`FeedPage::horizon`]).

use mc_domain::{PassageId, ProjectId};

use crate::row::uuids;
use crate::{Result, Store};

/// A position in the feed: all entries at or before it are applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FeedCursor {
    /// Transaction id (64 bits, never wraps).
    pub txid: u64,
    /// Sequence number within the feed.
    pub seq: i64,
}

/// An entry: the passage was written or deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedEntry {
    /// Id of the transaction.
    pub txid: u64,
    /// Sequence number.
    pub seq: i64,
    /// The changed passage; read its present state.
    pub passage: PassageId,
}

/// Entries of the change feed after a cursor.
#[derive(Debug, Clone)]
pub struct FeedPage {
    /// Committed changes after the cursor, in order.
    pub entries: Vec<FeedEntry>,
    /// All transactions below this have ended. The cursor may pass entries below it; entries at or
    /// above it may be applied, but must be read again.
    pub horizon: u64,
}

/// Returns changes after `cursor`, at most `limit`.
pub async fn read_after(store: &Store, cursor: FeedCursor, limit: i64) -> Result<FeedPage> {
    // One statement has one snapshot: the horizon of a newer one could pass a late commit.
    let mut session = store.plain().await?;
    let rows = sqlx::query!(
        r#"select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as "horizon!",
                  f.txid::text::bigint as txid, f.seq as "seq?", f.passage_id as "passage_id?"
           from (values (1)) as always
           left join lateral (
               select txid, seq, passage_id from change_feed where (txid, seq) > ($1::text::xid8,
                   $2)
               order by txid, seq limit $3) f on true
           order by f.txid, f.seq"#,
        cursor.txid.to_string(),
        cursor.seq,
        limit
    )
    .fetch_all(&mut *session)
    .await?;
    session.done();
    let horizon = rows.first().map_or(0, |row| row.horizon.cast_unsigned());
    let entries = rows.into_iter().filter_map(|row| {
        let (txid, seq, passage) = (row.txid?.cast_unsigned(), row.seq?, row.passage_id?.into());
        Some(FeedEntry { txid, seq, passage })
    });
    Ok(FeedPage { entries: entries.collect(), horizon })
}

/// Returns the entries after `cursor` that may concern a project: its passages and all deleted
/// ones. `None` if there are more than `most` entries of all projects.
pub async fn of_project_after(
    store: &Store,
    cursor: FeedCursor,
    project: ProjectId,
    most: i64,
) -> Result<Option<Vec<FeedCursor>>> {
    let mut session = store.plain().await?;
    let found = sqlx::query!(
        r#"select count(*) as "count!",
                  coalesce(array_agg(f.txid::text::bigint) filter (where p.id is null or
                      p.project_id = $4), '{}') as "txids!",
                  coalesce(array_agg(f.seq) filter (where p.id is null or p.project_id = $4), '{}')
                      as "seqs!"
           from (select txid, seq, passage_id from change_feed where (txid, seq) > ($1::text::xid8,
                     $2)
                 order by txid, seq limit $3::bigint + 1) as f
           left join passages p on p.id = f.passage_id"#,
        cursor.txid.to_string(),
        cursor.seq,
        most,
        project.0
    )
    .fetch_one(&mut *session)
    .await?;
    session.done();
    let entries = found.txids.into_iter().zip(found.seqs);
    let entries = entries.map(|(txid, seq)| FeedCursor { txid: txid.cast_unsigned(), seq });
    Ok((found.count <= most).then(|| entries.collect()))
}

/// Counts the entries after `cursor`, up to `most`.
pub async fn count_after(store: &Store, cursor: FeedCursor, most: i64) -> Result<i64> {
    Ok(sqlx::query_scalar!(
        r#"select count(*) as "count!" from (
               select from change_feed where (txid, seq) > ($1::text::xid8, $2) limit $3) entry"#,
        cursor.txid.to_string(),
        cursor.seq,
        most
    )
    .fetch_one(&mut *store.plain().await?)
    .await?)
}

/// Returns the last transaction whose entries may have been deleted. A reader at or before it has
/// missed some.
pub async fn pruned(store: &Store) -> Result<u64> {
    let txid =
        sqlx::query_scalar!(r#"select txid::text::bigint as "txid!" from change_feed_watermark"#)
            .fetch_one(&mut *store.plain().await?)
            .await?;
    Ok(txid.cast_unsigned())
}

/// Returns the position before which no entry can appear. Taken before a full read of the passages,
/// it is where following starts.
pub async fn safe_position(store: &Store) -> Result<FeedCursor> {
    let xmin = sqlx::query_scalar!(
        r#"select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as "xmin!""#
    )
    .fetch_one(&mut *store.plain().await?)
    .await?;
    Ok(FeedCursor { txid: xmin.cast_unsigned(), seq: 0 })
}

/// Publishes passages to the feed again, changed or deleted ones included.
pub async fn republish(store: &Store, passages: &[PassageId]) -> Result<()> {
    sqlx::query!(
        "insert into change_feed (passage_id) select * from unnest($1::uuid[])",
        &uuids(passages)
    )
    .execute(&mut *store.plain().await?)
    .await?;
    Ok(())
}
