//! Usage data, written after the response: outcomes of saves, sessions and numbers of reads. A
//! process that is killed loses the events of its last [`UsageWrite::MAX_DELAY`]. No request waits
//! for the writes or fails because of them.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::Utc;
use mc_domain::{
    Classified as _, ClientSession, ErrorKind, ProjectId, ReadKind, RecordKind, Visibility,
};
use mc_store::Store;
use mc_store::usage::{self, NewSaveOutcome};

use crate::content_filter::ReviewStatus;
use crate::save::{Decision, SaveOutcome, SaveRequest};
use crate::write_queue::{ATTEMPTS, QueuedWrite};
use crate::{Error, MemoryContext};

/// An event to store for the user of the store.
pub(crate) struct UsageWrite {
    store: Store,
    project: ProjectId,
    session: Option<ClientSession>,
    event: UsageEvent,
}

enum UsageEvent {
    Saved(NewSaveOutcome),
    Read(ReadKind),
}

/// Counts a read of the caller.
pub fn record_read(ctx: &MemoryContext, project: ProjectId, kind: ReadKind) {
    enqueue(ctx, project, UsageEvent::Read(kind));
}

/// A save that is rejected before it is judged.
#[derive(Debug, Clone, Copy)]
pub struct RejectedSave {
    /// Project of the save.
    pub project: ProjectId,
    /// Kind of the record.
    pub kind: RecordKind,
    /// Requested audience.
    pub visibility: Visibility,
}

/// Stores the outcome of a save that the caller's role or a field of the request forbids.
pub fn record_rejected_save(ctx: &MemoryContext, save: RejectedSave, reason: ErrorKind) {
    let RejectedSave { project, kind, visibility } = save;
    let outcome = new_outcome(ctx, (kind, visibility), "rejected", Some(reason.as_str()));
    enqueue(ctx, project, UsageEvent::Saved(outcome));
}

/// Stores the outcome of a save.
pub(crate) fn record_outcome(
    ctx: &MemoryContext,
    request: &SaveRequest,
    review_status: ReviewStatus,
    result: &Result<SaveOutcome, Error>,
) {
    let requested = (request.kind, request.visibility);
    let mut new = match result {
        Ok(SaveOutcome { decision, .. }) => NewSaveOutcome {
            record: decision.record(),
            quarantine_item: match decision {
                Decision::Quarantined(id) => Some(*id),
                _ => None,
            },
            ..new_outcome(ctx, requested, decision.as_str(), decision.rejection_reason())
        },
        Err(error) => new_outcome(ctx, requested, "failed", Some(error.kind().as_str())),
    };
    if let ReviewStatus::Released(item) = review_status {
        new.quarantine_item = Some(item);
    }
    enqueue(ctx, request.project, UsageEvent::Saved(new));
}

fn new_outcome(
    ctx: &MemoryContext,
    (kind, visibility): (RecordKind, Visibility),
    outcome: &'static str,
    reason: Option<&'static str>,
) -> NewSaveOutcome {
    NewSaveOutcome {
        session: ctx.session.map(|session| session.id),
        kind,
        visibility,
        outcome,
        reason,
        record: None,
        quarantine_item: None,
        saved_at: Utc::now(),
    }
}

/// Background work has no user, and leaves no usage data.
fn enqueue(ctx: &MemoryContext, project: ProjectId, event: UsageEvent) {
    if ctx.store.principal().is_none() {
        return;
    }
    let write = UsageWrite { store: ctx.store.clone(), project, session: ctx.session, event };
    let queue = ctx.usage.clone();
    ctx.bundle_writer.spawn_without_bundle(async move {
        // A failed write is logged where it is given up.
        let _ = queue.write(write).await;
    });
}

impl QueuedWrite for UsageWrite {
    type Output = ();

    const MAX_DELAY: Duration = Duration::from_secs(2);
    const BATCH_MAX: usize = 1_000;

    fn project(&self) -> ProjectId {
        self.project
    }

    async fn write_one(&mut self) -> Result<(), Error> {
        write_or_give_up(&[self]).await;
        Ok(())
    }

    /// Writes the events of each user in a transaction. No event is written again after its
    /// transaction, as it would count twice.
    async fn write_batch(group: &mut [Self]) -> Result<Vec<Result<(), Error>>, Error> {
        let mut all: Vec<&Self> = group.iter().collect();
        all.sort_by_key(|one| one.store.principal());
        for of_user in all.chunk_by(|one, other| one.store.principal() == other.store.principal()) {
            write_or_give_up(of_user).await;
        }
        Ok(group.iter().map(|_| Ok(())).collect())
    }
}

/// Writes events of one user, and tries again while the database is unavailable.
async fn write_or_give_up(of_user: &[&UsageWrite]) {
    for attempt in 1..=ATTEMPTS {
        let Err(error) = write_all(of_user).await else { return };
        if attempt == ATTEMPTS || !error.kind().is_transient() {
            tracing::error!(error = &error as &dyn std::error::Error, "writing usage data failed");
            return;
        }
        tokio::time::sleep(Duration::from_millis(200) * attempt).await;
    }
}

/// Writes events of one user in a transaction in the user's name.
async fn write_all(of_user: &[&UsageWrite]) -> Result<(), Error> {
    let Some(first) = of_user.first() else { return Ok(()) };
    let (mut saves, mut reads) = (Vec::new(), BTreeMap::<ReadKind, i32>::new());
    for write in of_user {
        match &write.event {
            UsageEvent::Saved(outcome) => saves.push(outcome),
            UsageEvent::Read(kind) => *reads.entry(*kind).or_default() += 1,
        }
    }
    let sessions: Vec<_> = of_user.iter().filter_map(|write| write.session).collect();
    let mut tx = first.store.begin_frequent().await?;
    if !sessions.is_empty() {
        usage::insert_sessions(&mut tx, first.project, &sessions).await?;
    }
    if !saves.is_empty() {
        usage::insert_save_outcomes(&mut tx, first.project, &saves).await?;
    }
    if !reads.is_empty() {
        usage::insert_reads(&mut tx, first.project, &reads).await?;
    }
    Ok(tx.commit().await?)
}
