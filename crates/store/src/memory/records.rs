//! Memory records and their history.

mod candidates;
mod contributions;
mod create;
mod read;
mod review;
mod versions;

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use mc_domain::{
    CiVerdict, DialogId, ProjectId, RecordId, RecordKind, RecordState, TaskId, Trust, UserId,
    Visibility,
};
use mc_sanitizer::Sanitized;

use crate::citations::{self, Citation};
use crate::{Error, Tx};

pub use candidates::{Candidate, Fingerprint, Nearness, candidates};
pub use contributions::{
    AffectedRecords, Contribution, Contributor, add_contribution, contributed, contributions,
    delete_history, erase, forget, forget_dialogs, forget_docs, origins, records_of, replaced_by,
    rewrite, same, transfer_superseded,
};
pub use create::{NewRecord, create, create_all};
pub use read::{RecordFilter, by_ids, find, find_in, list};
use read::{Row, fetch};
pub use review::{
    Decided, Promotion, RESTORED_DAYS, confirm, decide, extend_ttl, is_own_proposal, live_until,
    proposals, restore, same_proposal, share,
};
pub use versions::{Version, last_version, version, versions};

/// Days that a fact or a worked example lives after it was saved or last recalled, unless its end was named, or the
/// policy has others.
pub const DEFAULT_TTL_DAYS: i32 = 180;
/// Days that a proposal waits for a person.
pub const PROPOSAL_DAYS: u16 = 180;
/// The end of what has none: a time that no clock reaches, so that whoever compares an end with now need not know of it.
pub const NO_END: DateTime<Utc> =
    NaiveDate::from_ymd_opt(9999, 12, 31).expect("a day").and_time(NaiveTime::MIN).and_utc();

/// A record as stored.
#[derive(Debug, Clone)]
pub struct Record {
    /// Identifier.
    pub id: RecordId,
    /// Project.
    pub project: ProjectId,
    /// Linked task.
    pub task: Option<TaskId>,
    /// The linked task's id in the tracker.
    pub task_external_id: Option<String>,
    /// Linked dialog.
    pub dialog: Option<DialogId>,
    /// Kind.
    pub kind: RecordKind,
    /// Title; may be empty.
    pub title: String,
    /// At most 4,000 characters.
    pub content: String,
    /// Parts of the system it is about.
    pub scope: Vec<String>,
    /// Tags.
    pub tags: Vec<String>,
    /// Who answers for it.
    pub owner: Option<String>,
    /// When it expires; [`NO_END`] for never.
    pub ttl: DateTime<Utc>,
    /// Whether that end was named by a person; a recall does not move it then.
    pub is_ttl_explicit: bool,
    /// Scores of the judge.
    pub quality: serde_json::Value,
    /// What came beside the content.
    pub meta: serde_json::Value,
    /// Life.
    pub state: RecordState,
    /// Who it is for, and who vouches for it.
    pub access: RecordAccess,
    /// The record that it would change, where it is a proposal for one.
    pub amends_record_id: Option<RecordId>,
    /// What replaced it.
    pub superseded_by: Option<RecordId>,
    /// From 1, one more with every change.
    pub version: i32,
    /// How often it was recalled.
    pub recall_count: i32,
    /// How often feedback said it was used.
    pub use_count: i32,
    /// What CI says of the patch that it is about.
    pub ci_status: Option<CiVerdict>,
    /// Creation.
    pub created_at: DateTime<Utc>,
    /// Last change.
    pub updated_at: DateTime<Utc>,
}

/// Who a record is for, and who vouches for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordAccess {
    /// Who it is for.
    pub visibility: Visibility,
    /// Who alone may see it; set where it is private.
    pub private_to: Option<UserId>,
    /// Who vouches for it.
    pub trust: Trust,
}

impl RecordAccess {
    /// For the team, by a member of it.
    pub const TEAM: Self =
        Self { visibility: Visibility::Team, private_to: None, trust: Trust::Team };
}

/// Where a record, or a change of one, came from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordSource {
    /// Who saved it.
    pub saved_by: Option<UserId>,
    /// What it was taken from, in the words of who saved it; empty for what somebody just said.
    pub source: String,
}

/// What a record says, to be written.
#[derive(Debug, Clone)]
pub struct RecordBody {
    /// Kind.
    pub kind: RecordKind,
    /// Title; may be empty.
    pub title: Sanitized,
    /// At most 4,000 characters.
    pub content: Sanitized,
    /// Parts of the system it is about.
    pub scope: Vec<String>,
    /// Tags.
    pub tags: Vec<String>,
    /// Who answers for it.
    pub owner: Option<String>,
    /// When it expires.
    pub ttl: DateTime<Utc>,
    /// Whether that end was named by a person; a recall does not move it then.
    pub is_ttl_explicit: bool,
    /// Scores of the judge.
    pub quality: serde_json::Value,
    /// What came beside the content, sanitized.
    pub meta: serde_json::Value,
    /// Linked task.
    pub task: Option<TaskId>,
    /// Linked dialog.
    pub dialog: Option<DialogId>,
    /// sha256 of the normalised content.
    pub content_hash: Vec<u8>,
    /// 64-bit simhash of the content.
    pub simhash: u64,
}

/// A change of a live record.
#[derive(Debug, Clone, Copy)]
pub struct RecordUpdate<'a> {
    /// What it says from now on.
    pub body: &'a RecordBody,
    /// What it cites from now on; what it did before where absent.
    pub citations: Option<&'a [Citation]>,
    /// Who vouches for it from now on.
    pub trust: Trust,
    /// Where the change came from, each by itself.
    pub origins: &'a [RecordSource],
    /// Why it is changed.
    pub reason: &'a str,
    /// Who changes it.
    pub changed_by: Option<&'a str>,
}

/// Changes a live record, keeping what it was before under its old version number. One that stays the
/// same still gets its new date and counts, and no new version.
pub async fn update(tx: &mut Tx, record: &Record, change: &RecordUpdate<'_>) -> Result<(), Error> {
    let is_another = versions::keep(tx, record, change).await?;
    let RecordUpdate { body, trust, .. } = *change;
    sqlx::query!(
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
        body.meta,
        body.task.map(|t| t.0),
        body.dialog.map(|d| d.0),
        body.content_hash,
        body.simhash.cast_signed(),
        i32::from(is_another),
        trust.as_str()
    )
    .execute(&mut *tx.0)
    .await?;
    if let Some(cited) = change.citations {
        citations::replace(tx, record.project, record.id, cited).await?;
    }
    for origin in change.origins {
        contributed(tx, record.id, origin).await?;
    }
    Ok(())
}

/// Marks a live record of the project as replaced; `false` when there is none. The caller takes
/// its passage out of search.
pub async fn supersede(
    tx: &mut Tx,
    project: ProjectId,
    id: RecordId,
    by: RecordId,
) -> Result<bool, Error> {
    let done = sqlx::query!(
        "update memory_records set state = 'superseded', superseded_by = $3, updated_at = now()
         where id = $1 and project_id = $2 and state in ('active', 'stale')",
        id.0,
        project.0,
        by.0
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Marks a live record as deleted; `false` when there is none. The caller takes its passage out of
/// search.
pub async fn delete(tx: &mut Tx, id: RecordId) -> Result<bool, Error> {
    let done = sqlx::query!(
        "update memory_records set state = 'deleted', updated_at = now()
         where id = $1 and state in ('active', 'stale')",
        id.0
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Holds the records until the transaction ends, in one order everywhere, so that two checks of
/// the same records can't block each other.
pub async fn lock(tx: &mut Tx, records: &[RecordId]) -> Result<(), Error> {
    let ids: Vec<_> = records.iter().map(|id| id.0).collect();
    sqlx::query!(
        "select id from memory_records where id = any($1) order by id for no key update",
        &ids
    )
    .fetch_all(&mut *tx.0)
    .await?;
    Ok(())
}
