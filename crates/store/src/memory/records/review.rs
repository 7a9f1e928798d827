//! From a proposal, or a private note, to what counts for the team; and back to what a record said before.

use chrono::{DateTime, Utc};
use mc_domain::{ProjectId, RecordId, RecordKind, Trust, UserId};

use super::{Record, fetch};
use crate::{Error, Store, Tx};

/// Days that a record lives at least once it was brought back.
pub const RESTORED_DAYS: i32 = 30;

/// What becomes of a proposal or a private note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promotion {
    /// It counts for the team.
    Team(Trust),
    /// It is put before the reviewers.
    Proposed,
}

/// How a proposal was settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decided {
    /// It went into this record.
    Into(RecordId),
    /// It was turned down.
    Rejected,
}

/// The live proposals of a project after an id, oldest first.
pub async fn proposals(
    store: &Store,
    project: ProjectId,
    after: Option<RecordId>,
    limit: i64,
) -> Result<Vec<Record>, Error> {
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
    let ids: Vec<_> = ids.into_iter().map(RecordId::from).collect();
    let mut records = fetch(&mut *connection, &ids).await?;
    records.sort_by_key(|record| record.id);
    Ok(records)
}

/// The live proposal of the project that says just this. Nobody decides about it until the transaction ends.
pub async fn same_proposal(
    tx: &mut Tx,
    project: ProjectId,
    kind: RecordKind,
    content_hash: &[u8],
) -> Result<Option<RecordId>, Error> {
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

/// Has a proposal wait for a person at least until then: one that has expired is before nobody until it is taken out.
pub async fn extend_ttl(tx: &mut Tx, id: RecordId, until: DateTime<Utc>) -> Result<(), Error> {
    sqlx::query!(
        "update memory_records set ttl = $2
         where id = $1 and visibility = 'proposed' and state in ('active', 'stale') and ttl < $2",
        id.0,
        until
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(())
}

/// Has a record that counts now live at least until then, unless its end was named.
pub async fn live_until(tx: &mut Tx, id: RecordId, until: DateTime<Utc>) -> Result<(), Error> {
    sqlx::query!(
        "update memory_records set ttl = greatest(ttl, $2) where id = $1 and not is_ttl_explicit",
        id.0,
        until
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(())
}

/// Lets more see a live record; `false` where it is not one any more, or is seen by the team already. What was set
/// aside lives on like what was brought back. The caller makes its passage.
pub async fn share(tx: &mut Tx, id: RecordId, to: Promotion) -> Result<bool, Error> {
    let (visibility, trust) = match to {
        Promotion::Team(trust) => ("team", Some(trust)),
        Promotion::Proposed => ("proposed", None),
    };
    let done = sqlx::query!(
        "update memory_records set visibility = $2, trust = coalesce($3, trust), private_to = null,
             amends_record_id = null, updated_at = now(), demotion = null,
             ttl = case when demotion is null then ttl else greatest(ttl, now() + make_interval(days => $4)) end
         where id = $1 and state in ('active', 'stale') and visibility <> 'team' and visibility <> $2",
        id.0,
        visibility,
        trust.map(Trust::as_str),
        RESTORED_DAYS
    )
    .execute(&mut *tx.0)
    .await?;
    sqlx::query!(
        "with cited as (update record_citations set private_to = null where record_id = $1)
         update record_contributions set private_to = null where record_id = $1",
        id.0
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Settles a live proposal that does not live on by itself; `false` where it is none any more.
pub async fn decide(tx: &mut Tx, id: RecordId, decided: Decided) -> Result<bool, Error> {
    let (state, into) = match decided {
        Decided::Into(record) => ("superseded", Some(record.0)),
        Decided::Rejected => ("deleted", None),
    };
    let done = sqlx::query!(
        "update memory_records set state = $2, superseded_by = $3, updated_at = now()
         where id = $1 and visibility = 'proposed' and state in ('active', 'stale')",
        id.0,
        state,
        into
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Brings a record that was taken out or replaced back to life; `false` where it lives. The caller makes
/// its passage.
pub async fn restore(tx: &mut Tx, id: RecordId) -> Result<bool, Error> {
    let done = sqlx::query!(
        "update memory_records set state = 'active', superseded_by = null, updated_at = now(),
             ttl = greatest(ttl, now() + make_interval(days => $2))
         where id = $1 and state in ('superseded', 'deleted')",
        id.0,
        RESTORED_DAYS
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Notes that a person vouches for a live record of the team; `false` where there is none.
pub async fn confirm(tx: &mut Tx, id: RecordId) -> Result<bool, Error> {
    let done = sqlx::query!(
        "update memory_records set trust = 'confirmed', updated_at = now()
         where id = $1 and visibility = 'team' and state in ('active', 'stale')",
        id.0
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Whether the record is a proposal, decided about or not, that nobody but `user` made: what hygiene set aside was
/// the team's, and what others proposed as well is theirs, too.
pub async fn is_own_proposal(tx: &mut Tx, id: RecordId, user: UserId) -> Result<bool, Error> {
    let is_own = sqlx::query_scalar!(
        r#"select exists (select from memory_records
                          where id = $1 and visibility = 'proposed' and demotion is null)
               and (select coalesce(bool_and(saved_by is not distinct from $2), false)
                    from record_contributions where record_id = $1) as "is_own!""#,
        id.0,
        user.0
    )
    .fetch_one(&mut *tx.0)
    .await?;
    Ok(is_own)
}
