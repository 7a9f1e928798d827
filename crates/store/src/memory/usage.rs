//! Usage data: outcomes of saves, sessions of clients and numbers of reads. It shows later whether
//! the memory helps, and decides nothing that is recalled.

mod reads;

use chrono::{DateTime, Utc};
use mc_domain::{
    ClientSession, ClientSessionId, ProjectId, QuarantineItemId, RecordId, RecordKind, UserId,
    Visibility,
};
use serde_json::{Value, json};

use crate::{Result, Tx};

pub use reads::{audit_reads, insert_reads};

/// The outcome of a save, to be stored.
#[derive(Debug, Clone)]
pub struct NewSaveOutcome {
    /// Session of the save.
    pub session: Option<ClientSessionId>,
    /// Kind of the record.
    pub kind: RecordKind,
    /// Requested audience.
    pub visibility: Visibility,
    /// The outcome, by its name on the wire, or `failed`.
    pub outcome: &'static str,
    /// Category of the reason why nothing was saved.
    pub reason: Option<&'static str>,
    /// The record that holds the note. It is not stored for a private note.
    pub record: Option<RecordId>,
    /// The quarantine item that was made of the save, or from which it was released.
    pub quarantine_item: Option<QuarantineItemId>,
    /// When the save ended.
    pub saved_at: DateTime<Utc>,
}

/// The amounts of deleted usage data of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ErasedUsage {
    /// Bundles with their items and feedback.
    pub bundles: u64,
    /// Outcomes of saves, and sessions.
    pub rows: u64,
}

/// Stores outcomes of saves of the transaction's principal; none of a deleted project.
pub async fn insert_save_outcomes(
    tx: &mut Tx,
    project: ProjectId,
    outcomes: &[&NewSaveOutcome],
) -> Result<()> {
    let rows: Vec<_> = outcomes.iter().map(|outcome| row(outcome)).collect();
    tx.run(sqlx::query!(
        "insert into save_outcomes (project_id, user_id, session_id, kind, visibility, outcome,
             reason, record_id, quarantine_item_id, saved_at)
         select p.id, $2, new.session_id, new.kind, new.visibility, new.outcome, new.reason,
             new.record_id, new.quarantine_item_id, new.saved_at
         from projects p, jsonb_to_recordset($3) as new (
             session_id uuid, kind text, visibility text, outcome text, reason text,
             record_id uuid, quarantine_item_id uuid, saved_at timestamptz)
         where p.id = $1 and $2::uuid is not null",
        project.0,
        tx.principal().map(|user| user.0),
        Value::Array(rows)
    ))
    .await
}

/// An outcome by the names of its columns.
fn row(outcome: &NewSaveOutcome) -> Value {
    let is_private = outcome.visibility == Visibility::Private;
    json!({
        "session_id": outcome.session,
        "kind": outcome.kind,
        "visibility": outcome.visibility,
        "outcome": outcome.outcome,
        "reason": outcome.reason,
        "record_id": outcome.record.filter(|_| !is_private),
        "quarantine_item_id": outcome.quarantine_item,
        "saved_at": outcome.saved_at,
    })
}

/// Stores the sessions of the transaction's principal that the project does not have yet.
pub async fn insert_sessions(
    tx: &mut Tx,
    project: ProjectId,
    sessions: &[ClientSession],
) -> Result<()> {
    let ids: Vec<_> = sessions.iter().map(|session| session.id.0).collect();
    let start_times: Vec<_> = sessions.iter().map(|session| session.started_at).collect();
    tx.run(sqlx::query!(
        "insert into client_sessions (project_id, user_id, id, started_at)
         select p.id, $2, s.id, min(s.started_at)
         from projects p, unnest($3::uuid[], $4::timestamptz[]) s (id, started_at)
         where p.id = $1 and $2::uuid is not null
         group by p.id, s.id order by s.id
         on conflict (project_id, user_id, id) do nothing",
        project.0,
        tx.principal().map(|user| user.0),
        &ids,
        &start_times
    ))
    .await
}

/// Deletes the usage data of a project that is older than `days`; returns its amount.
pub(crate) async fn prune(tx: &mut Tx, project: ProjectId, days: u16) -> Result<u64> {
    let deleted = sqlx::query_scalar!(
        r#"with saves as (
               delete from save_outcomes where project_id = $1
                   and saved_at < now() - make_interval(days => $2) returning 1),
           sessions as (
               delete from client_sessions where project_id = $1
                   and started_at < now() - make_interval(days => $2) returning 1),
           outcomes as (
               delete from dialog_outcomes o where o.project_id = $1
                   and o.reported_at < now() - make_interval(days => $2)
                   -- A running canary is decided by all of its outcomes.
                   and not exists (
                       select from prompt_versions v where v.project_id = $1
                           and v.state = 'canary' and v.created_at <= o.reported_at)
               returning 1),
           chats as (
               delete from chat_requests where project_id = $1
                   and started_at < now() - make_interval(days => $2) returning 1)
           select (select count(*) from saves) + (select count(*) from sessions)
               + (select count(*) from outcomes) + (select count(*) from chats) as "count!""#,
        project.0,
        i32::from(days)
    )
    .fetch_one(&mut *tx.0)
    .await?;
    Ok(deleted.cast_unsigned())
}

/// Deletes the usage data of one user in a project: bundles with their requests, outcomes of saves,
/// and sessions. Counts of reads belong to the audit. Dialogs and records are erased by their own
/// functions.
pub async fn erase(tx: &mut Tx, project: ProjectId, user: UserId) -> Result<ErasedUsage> {
    let rows = sqlx::query_scalar!(
        r#"with saves as (
               delete from save_outcomes where project_id = $1 and user_id = $2 returning 1),
           sessions as (
               delete from client_sessions where project_id = $1 and user_id = $2 returning 1),
           outcomes as (
               delete from dialog_outcomes where project_id = $1 and user_id = $2 returning 1)
           select (select count(*) from saves) + (select count(*) from sessions)
               + (select count(*) from outcomes) as "count!""#,
        project.0,
        user.0
    )
    .fetch_one(&mut *tx.0)
    .await?;
    let bundles = tx
        .count_changed(sqlx::query!(
            "delete from bundles where project_id = $1 and user_id = $2",
            project.0,
            user.0
        ))
        .await?;
    Ok(ErasedUsage { bundles, rows: rows.cast_unsigned() })
}
