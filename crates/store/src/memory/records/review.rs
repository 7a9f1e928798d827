//! Review: promotion of proposals and private records to the team, decisions, and restored records.

use chrono::{DateTime, Utc};
use mc_domain::{ProjectId, RecordId, RecordKind, Trust, UserId};

use super::{Record, fetch};
use crate::{Result, Store, Tx};

/// Least number of days that a restored record lives.
pub const RESTORED_DAYS: i32 = 30;

/// What a proposal or a private record becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promotion {
    /// A record of the team.
    Team(Trust),
    /// A proposal for reviewers.
    Proposed,
}

/// The decision about a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decided {
    /// It was merged into this record.
    Into(RecordId),
    /// It was rejected.
    Rejected,
}

/// Returns the live proposals of a project after an id, oldest first.
pub async fn proposals(
    store: &Store,
    project: ProjectId,
    after: Option<RecordId>,
    limit: i64,
) -> Result<Vec<Record>> {
    let mut connection = store.read().await?;
    let ids = sqlx::query_scalar!(
        "select id from memory_records
         where project_id = $1 and visibility = 'proposed' and state in ('active', 'stale')
             and ttl > now() and id > $2
         order by id limit $3",
        project.0,
        after.map_or_else(uuid::Uuid::nil, |id| id.0),
        limit
    )
    .fetch_all(&mut *connection)
    .await?;
    let mut records = fetch(&mut *connection, &ids).await?;
    records.sort_by_key(|record| record.id);
    Ok(records)
}

/// Returns the live proposal of the project with the same content, locked until the transaction
/// ends.
pub async fn same_proposal(
    tx: &mut Tx,
    project: ProjectId,
    kind: RecordKind,
    content_hash: &[u8],
) -> Result<Option<RecordId>> {
    let id = sqlx::query_scalar!(
        "select id from memory_records
         where project_id = $1 and kind = $2 and content_hash = $3 and visibility = 'proposed'
             and state in ('active', 'stale')
         for no key update",
        project.0,
        kind.as_str(),
        content_hash
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    Ok(id.map(RecordId::from))
}

/// Extends the expiry of a live proposal to at least `until`. An expired proposal is shown to no
/// reviewer.
pub async fn extend_ttl(tx: &mut Tx, id: RecordId, until: DateTime<Utc>) -> Result<()> {
    tx.run(sqlx::query!(
        "update memory_records set ttl = $2
         where id = $1 and visibility = 'proposed' and state in ('active', 'stale') and ttl < $2",
        id.0,
        until
    ))
    .await
}

/// Extends the expiry of a record to at least `until`, unless it is explicit.
pub async fn live_until(tx: &mut Tx, id: RecordId, until: DateTime<Utc>) -> Result<()> {
    tx.run(sqlx::query!(
        "update memory_records set ttl = greatest(ttl, $2) where id = $1 and not is_ttl_explicit",
        id.0,
        until
    ))
    .await
}

/// Widens the audience of a live record; returns `false` if it is not live or has that audience
/// already. A demoted record gets the lifetime of a restored one. The caller creates its passage.
pub async fn share(tx: &mut Tx, id: RecordId, to: Promotion) -> Result<bool> {
    let (visibility, trust) = match to {
        Promotion::Team(trust) => ("team", Some(trust)),
        Promotion::Proposed => ("proposed", None),
    };
    let is_shared = tx
        .has_changed(sqlx::query!(
        "update memory_records set visibility = $2, trust = coalesce($3, trust), private_to = null,
             amends_record_id = null, updated_at = now(), demotion = null,
             ttl = case when demotion is null then ttl
                 else greatest(ttl, now() + make_interval(days => $4)) end
         where id = $1 and state in ('active', 'stale') and visibility <> 'team'
             and visibility <> $2",
        id.0,
        visibility,
        trust.map(Trust::as_str),
        RESTORED_DAYS
    ))
        .await?;
    tx.run(sqlx::query!(
        "with cited as (update record_citations set private_to = null where record_id = $1)
         update record_contributions set private_to = null where record_id = $1",
        id.0
    ))
    .await?;
    Ok(is_shared)
}

/// Stores the decision about a live proposal that does not become a record itself; returns `false`
/// if it is not a live proposal.
pub async fn decide(tx: &mut Tx, id: RecordId, decided: Decided) -> Result<bool> {
    let (state, into) = match decided {
        Decided::Into(record) => ("superseded", Some(record.0)),
        Decided::Rejected => ("deleted", None),
    };
    tx.has_changed(sqlx::query!(
        "update memory_records set state = $2, superseded_by = $3, updated_at = now()
         where id = $1 and visibility = 'proposed' and state in ('active', 'stale')",
        id.0,
        state,
        into
    ))
    .await
}

/// Makes a deleted or superseded record active; returns `false` if it is live. The caller creates
/// its passage.
pub async fn restore(tx: &mut Tx, id: RecordId) -> Result<bool> {
    tx.has_changed(sqlx::query!(
        "update memory_records set state = 'active', superseded_by = null, updated_at = now(),
             ttl = greatest(ttl, now() + make_interval(days => $2))
         where id = $1 and state in ('superseded', 'deleted')",
        id.0,
        RESTORED_DAYS
    ))
    .await
}

/// Marks a live team record as confirmed by a person; returns `false` if there is none.
pub async fn confirm(tx: &mut Tx, id: RecordId) -> Result<bool> {
    tx.has_changed(sqlx::query!(
        "update memory_records set trust = 'confirmed', updated_at = now()
         where id = $1 and visibility = 'team' and state in ('active', 'stale')",
        id.0
    ))
    .await
}

/// Returns whether the record is a proposal, decided or not, that `user` alone made. A demoted
/// record belongs to the team, and a proposal made by several users to all of them.
pub async fn is_own_proposal(tx: &mut Tx, id: RecordId, user: UserId) -> Result<bool> {
    Ok(sqlx::query_scalar!(
        r#"select exists (select from memory_records
                          where id = $1 and visibility = 'proposed' and demotion is null)
               and (select coalesce(bool_and(saved_by is not distinct from $2), false)
                    from record_contributions where record_id = $1) as "is_own!""#,
        id.0,
        user.0
    )
    .fetch_one(&mut *tx.0)
    .await?)
}
