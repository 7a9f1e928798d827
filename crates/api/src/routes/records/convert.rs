//! Conversions of stored records to their representations.

use chrono::{DateTime, Utc};
use mc_contract::operations::record::{Citation, Contribution, Record, RecordVersion};
use mc_store::citations;
use mc_store::records::{self, Version};

/// Returns an expiry, unless it stands for never.
fn expiry(ttl: DateTime<Utc>) -> Option<DateTime<Utc>> {
    (ttl < records::NO_END).then_some(ttl)
}

/// The record as it is sent.
pub fn record(record: records::Record) -> Record {
    Record {
        id: record.id,
        kind: record.kind,
        title: record.title,
        content: record.content,
        scope: record.scope,
        tags: record.tags,
        state: record.state,
        visibility: record.access.visibility,
        trust: record.access.trust,
        owner: record.owner,
        ttl: expiry(record.ttl),
        is_ttl_explicit: record.is_ttl_explicit,
        quality: record.quality,
        meta: record.meta,
        task_external_id: record.task_external_id,
        dialog_id: record.dialog,
        superseded_by: record.superseded_by,
        version: record.version,
        recall_count: record.recall_count,
        use_count: record.use_count,
        ci_status: record.ci_status,
        created_at: record.created_at,
        updated_at: record.updated_at,
    }
}

/// The citation as it is sent.
pub fn citation(citation: citations::Citation) -> Citation {
    Citation {
        file: citation.file_path,
        symbol: citation.symbol,
        line_start: citation.lines.map(|(start, _)| start),
        line_end: citation.lines.map(|(_, end)| end),
        commit: citation.commit,
        content_hash: citation.content_hash.map(hex::encode),
        verdict: citation.verdict,
    }
}

/// The contribution as it is sent.
pub fn contribution(contribution: records::Contribution) -> Contribution {
    Contribution {
        version: contribution.version,
        saved_by: contribution.login,
        source: contribution.source,
        saved_at: contribution.saved_at,
    }
}

/// The version as it is sent.
pub fn record_version(version: Version, citations: Vec<Citation>) -> RecordVersion {
    RecordVersion {
        version: version.version,
        kind: version.kind,
        title: version.title,
        content: version.content,
        scope: version.scope,
        tags: version.tags,
        trust: version.trust,
        owner: version.owner,
        ttl: expiry(version.ttl),
        is_ttl_explicit: version.is_ttl_explicit,
        meta: version.meta,
        citations,
        reason: version.reason,
        changed_by: version.changed_by,
        changed_at: version.changed_at,
    }
}
