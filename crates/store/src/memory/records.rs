//! Memory records and their history.

mod candidates;
mod contributions;
mod create;
mod judgment;
mod read;
mod review;
mod versions;

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use mc_domain::{
    CiVerdict, DialogId, ProjectId, RecordId, RecordKind, RecordMeta, RecordState, TaskId, Trust,
    UserId, Visibility,
};
use mc_sanitizer::Sanitized;

use crate::citations::{self, Citation};
use crate::row::uuids;
use crate::{Result, Tx};

pub use candidates::{Candidate, Fingerprint, Nearness, candidates};
pub use contributions::{
    AffectedRecords, Contribution, Contributor, add_contribution, contributions, delete_history,
    erase, find_same, forget, forget_dialogs, forget_docs, insert_contribution,
    list_by_contributor, list_sources, list_superseded_by, rewrite, transfer_superseded,
};
pub use create::{NewRecord, create, create_all};
pub use judgment::{JUDGE_JOB, JUDGE_JOB_ATTEMPTS, enqueue_judgment};
pub use read::{RecordFilter, by_ids, find, find_in, list};
use read::{Row, fetch};
pub use review::{
    Decided, Promotion, RESTORED_DAYS, confirm, decide, extend_ttl, is_own_proposal, live_until,
    proposals, restore, same_proposal, share,
};
pub use versions::{Version, last_version, version, versions};

/// Days until a fact or a worked example expires, from its save or its last recall, unless the
/// record or the policy states another time.
pub const DEFAULT_TTL_DAYS: i32 = 180;
/// Days until an undecided proposal expires.
pub const PROPOSAL_DAYS: u16 = 180;
/// The expiry of a record that never expires. No clock reaches it, so comparisons with the current
/// time need no special case.
pub const NO_END: DateTime<Utc> =
    NaiveDate::from_ymd_opt(9999, 12, 31).expect("a day").and_time(NaiveTime::MIN).and_utc();

/// A record as stored.
#[derive(Debug, Clone)]
pub struct Record {
    /// Identifier.
    pub id: RecordId,
    /// Project that it belongs to.
    pub project: ProjectId,
    /// Linked task.
    pub task: Option<TaskId>,
    /// The linked task's id at its tracker.
    pub task_external_id: Option<String>,
    /// Linked dialog.
    pub dialog: Option<DialogId>,
    /// Kind of knowledge, such as a fact or a rule.
    pub kind: RecordKind,
    /// Title; may be empty.
    pub title: String,
    /// At most 4,000 characters.
    pub content: String,
    /// Parts of the system it is about.
    pub scope: Vec<String>,
    /// Free labels.
    pub tags: Vec<String>,
    /// The owner that the record names.
    pub owner: Option<String>,
    /// When it expires; [`NO_END`] for never.
    pub ttl: DateTime<Utc>,
    /// Whether a person set `ttl`; a recall does not move it then.
    pub is_ttl_explicit: bool,
    /// Scores of the judge.
    pub quality: serde_json::Value,
    /// Additional data of the save.
    pub meta: RecordMeta,
    /// Active, stale, superseded or deleted.
    pub state: RecordState,
    /// Audience and trust.
    pub access: RecordAccess,
    /// For a proposal to change a record: that record.
    pub amends_record_id: Option<RecordId>,
    /// The record that superseded this one.
    pub superseded_by: Option<RecordId>,
    /// Version, from 1; each change adds one.
    pub version: i32,
    /// Number of recalls.
    pub recall_count: i32,
    /// Number of bundles after which feedback named the record as used.
    pub use_count: i32,
    /// CI status of the patch that the record is about.
    pub ci_status: Option<CiVerdict>,
    /// Creation.
    pub created_at: DateTime<Utc>,
    /// Last change.
    pub updated_at: DateTime<Utc>,
}

/// Audience and trust of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordAccess {
    /// Audience.
    pub visibility: Visibility,
    /// The only user who may see the record; set if it is private.
    pub private_to: Option<UserId>,
    /// Trust level.
    pub trust: Trust,
}

impl RecordAccess {
    /// A record for the team, saved by a member.
    pub const TEAM: Self =
        Self { visibility: Visibility::Team, private_to: None, trust: Trust::Team };
}

/// Author and source of a record or of a change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordSource {
    /// The author.
    pub saved_by: Option<UserId>,
    /// The source as the author named it; empty if there is none.
    pub source: String,
}

/// The content of a record to write.
#[derive(Debug, Clone)]
pub struct RecordBody {
    /// Kind of knowledge, such as a fact or a rule.
    pub kind: RecordKind,
    /// Title; may be empty.
    pub title: Sanitized,
    /// At most 4,000 characters.
    pub content: Sanitized,
    /// Parts of the system it is about.
    pub scope: Vec<String>,
    /// Free labels.
    pub tags: Vec<String>,
    /// The owner that the record names.
    pub owner: Option<String>,
    /// Expiry.
    pub ttl: DateTime<Utc>,
    /// Whether a person set `ttl`; a recall does not move it then.
    pub is_ttl_explicit: bool,
    /// Scores of the judge.
    pub quality: serde_json::Value,
    /// Additional data of the save, sanitized.
    pub meta: RecordMeta,
    /// Linked task.
    pub task: Option<TaskId>,
    /// Linked dialog.
    pub dialog: Option<DialogId>,
    /// sha256 of the normalized content.
    pub content_hash: Vec<u8>,
    /// 64-bit simhash of the content.
    pub simhash: u64,
}

/// An update of a live record.
#[derive(Debug, Clone, Copy)]
pub struct RecordUpdate<'a> {
    /// The new content.
    pub body: &'a RecordBody,
    /// The new citations; `None` keeps the present ones.
    pub citations: Option<&'a [Citation]>,
    /// The new trust level.
    pub trust: Trust,
    /// Each author and source of the change.
    pub origins: &'a [RecordSource],
    /// Reason of the change.
    pub reason: &'a str,
    /// Login of the user who makes the change.
    pub changed_by: Option<&'a str>,
}

/// Updates a live record and keeps its former state as a version. If nothing differs, only the time
/// and the counts change, and there is no new version.
pub async fn update(tx: &mut Tx, record: &Record, change: &RecordUpdate<'_>) -> Result<()> {
    let is_another = versions::keep(tx, record, change).await?;
    let RecordUpdate { body, trust, .. } = *change;
    tx.run(sqlx::query!(
        "update memory_records set kind = $2, title = $3, content = $4, scope = $5, tags = $6,
             owner = $7, ttl = $8, is_ttl_explicit = $9, quality = $10, meta = $11,
             task_id = coalesce($12, task_id), dialog_id = coalesce($13, dialog_id),
             content_hash = $14, simhash = $15, version = version + $16, trust = $17,
             updated_at = now()
         where id = $1",
        record.id.0,
        body.kind.as_str(),
        body.title.as_str(),
        body.content.as_str(),
        &body.scope,
        &body.tags,
        body.owner,
        body.ttl,
        body.is_ttl_explicit,
        body.quality,
        body.meta.to_json(),
        body.task.map(|t| t.0),
        body.dialog.map(|d| d.0),
        body.content_hash,
        body.simhash.cast_signed(),
        i32::from(is_another),
        trust.as_str()
    ))
    .await?;
    if let Some(cited) = change.citations {
        citations::replace(tx, record.project, record.id, cited).await?;
    }
    for origin in change.origins {
        insert_contribution(tx, record.id, origin).await?;
    }
    Ok(())
}

/// Marks a live record of the project as superseded; returns `false` if there is none. The caller
/// deletes its passage.
pub async fn supersede(
    tx: &mut Tx,
    project: ProjectId,
    id: RecordId,
    by: RecordId,
) -> Result<bool> {
    tx.has_changed(sqlx::query!(
        "update memory_records set state = 'superseded', superseded_by = $3, updated_at = now()
         where id = $1 and project_id = $2 and state in ('active', 'stale')",
        id.0,
        project.0,
        by.0
    ))
    .await
}

/// Marks a live record as deleted; returns `false` if there is none. The caller deletes its
/// passage.
pub async fn delete(tx: &mut Tx, id: RecordId) -> Result<bool> {
    tx.has_changed(sqlx::query!(
        "update memory_records set state = 'deleted', updated_at = now()
         where id = $1 and state in ('active', 'stale')",
        id.0
    ))
    .await
}

/// Locks records until the transaction ends, in one order everywhere, so that two checks of the
/// same records can't deadlock.
pub async fn lock(tx: &mut Tx, records: &[RecordId]) -> Result<()> {
    sqlx::query!(
        "select id from memory_records where id = any($1) order by id for no key update",
        &uuids(records)
    )
    .fetch_all(&mut *tx.0)
    .await?;
    Ok(())
}
