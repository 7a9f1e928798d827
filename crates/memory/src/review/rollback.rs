//! Restoring earlier versions of records, and deleted or replaced records.

use chrono::{DateTime, TimeDelta, Utc};
use mc_domain::{AuditAction, RecordId, Trust, Visibility};
use mc_sanitizer::Sanitized;
use mc_store::audit::{self, NewEvent};
use mc_store::records::{self, Record, RecordBody, RecordSource, RecordUpdate, Version};
use mc_store::{Tx, citations};
use serde_json::json;

use super::{body_of, find, index, is_live, restore};
use crate::normalize::content_hash;
use crate::simhash::simhash;
use crate::{Error, MemoryContext};

/// Restores an earlier version of a record, or a removed record; its history keeps the current one.
pub async fn roll_back(
    ctx: &MemoryContext,
    id: RecordId,
    version: Option<i32>,
    principal: &str,
) -> Result<Record, Error> {
    let mut tx = ctx.store.begin().await?;
    records::lock(&mut tx, &[id]).await?;
    let mut record = records::find_in(&mut tx, id).await?.ok_or(Error::NoRecord(id))?;
    let is_removed = !is_live(&record);
    if is_removed {
        restore(&mut tx, id).await?;
        record = records::find_in(&mut tx, id).await?.ok_or(Error::NoRecord(id))?;
    }
    let said = match version {
        Some(version) => Some(find_version(&mut tx, id, version).await?),
        None if is_removed => None,
        None => {
            Some(records::last_version(&mut tx, id).await?.ok_or(Error::NothingToRollBack(id))?)
        }
    };
    let body = match &said {
        Some(said) => {
            let body = body_of_version(&record, said);
            let cited = citations::of_version(&mut tx, id, said.version).await?;
            let origin = RecordSource { saved_by: ctx.store.principal(), source: String::new() };
            let reason = format!("rolled back to version {}", said.version);
            let change = RecordUpdate {
                body: &body,
                citations: Some(&cited),
                trust: said.trust.min(Trust::Team),
                origins: &[origin],
                reason: &reason,
                changed_by: Some(principal),
            };
            records::update(&mut tx, &record, &change).await?;
            citations::update_staleness(&mut tx, id).await?;
            body
        }
        None => body_of(&record),
    };
    if record.access.visibility != Visibility::Proposed {
        index(&mut tx, &record, &body, record.access.private_to).await?;
    }
    let detail = json!({ "version": said.map(|said| said.version), "restored": is_removed });
    audit::record(&mut tx, NewEvent::new(AuditAction::RecordRolledBack, id).with(detail));
    tx.commit().await?;
    find(ctx, id).await
}

async fn find_version(tx: &mut Tx, id: RecordId, version: i32) -> Result<Version, Error> {
    records::version(tx, id, version).await?.ok_or(Error::UnknownVersion(version))
}

/// Returns the body of an earlier version of a record.
pub(super) fn body_of_version(record: &Record, said: &Version) -> RecordBody {
    let (ttl, is_ttl_explicit) = ttl_of_version(record, said);
    RecordBody {
        kind: said.kind,
        owner: said.owner.clone(),
        ttl,
        is_ttl_explicit,
        title: Sanitized::stored(said.title.clone()),
        content: Sanitized::stored(said.content.clone()),
        scope: said.scope.clone(),
        tags: said.tags.clone(),
        meta: said.meta.clone(),
        content_hash: content_hash(&said.content),
        simhash: simhash(&said.content),
        ..body_of(record)
    }
}

/// Returns the TTL of a restored record, which is never past, and whether it is explicit.
fn ttl_of_version(record: &Record, said: &Version) -> (DateTime<Utc>, bool) {
    let now = Utc::now();
    match (said.is_ttl_explicit, record.is_ttl_explicit) {
        // Saves and recalls have moved a TTL that is not explicit,
        (false, false) => (record.ttl, false),
        // but not an explicit one.
        (false, true) => {
            let least = now + TimeDelta::days(i64::from(records::RESTORED_DAYS));
            (said.ttl.max(least), false)
        }
        (true, _) if said.ttl > now => (said.ttl, true),
        // An explicit TTL in the past is not restored.
        (true, _) => (record.ttl, record.is_ttl_explicit),
    }
}
