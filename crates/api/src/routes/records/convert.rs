//! Conversions of stored records to wire types.

use chrono::{DateTime, Utc};
use mc_store::citations;
use mc_store::records::{self, Version};

use super::{Citation, Contribution, Record, RecordVersion};

/// Returns an expiry, unless it stands for never.
fn expiry(ttl: DateTime<Utc>) -> Option<DateTime<Utc>> {
    (ttl < records::NO_END).then_some(ttl)
}

impl From<records::Record> for Record {
    fn from(record: records::Record) -> Self {
        Self {
            id: record.id.into(),
            kind: record.kind.into(),
            title: record.title,
            content: record.content,
            scope: record.scope,
            tags: record.tags,
            state: record.state.into(),
            visibility: record.access.visibility.into(),
            trust: record.access.trust.into(),
            owner: record.owner,
            ttl: expiry(record.ttl),
            is_ttl_explicit: record.is_ttl_explicit,
            quality: record.quality,
            meta: record.meta,
            task_external_id: record.task_external_id,
            dialog_id: record.dialog.map(Into::into),
            superseded_by: record.superseded_by.map(Into::into),
            version: record.version,
            recall_count: record.recall_count,
            use_count: record.use_count,
            ci_status: record.ci_status.map(Into::into),
            created_at: record.created_at,
            updated_at: record.updated_at,
        }
    }
}

impl From<citations::Citation> for Citation {
    fn from(citation: citations::Citation) -> Self {
        Self {
            file: citation.file_path,
            symbol: citation.symbol,
            line_start: citation.lines.map(|(start, _)| start),
            line_end: citation.lines.map(|(_, end)| end),
            commit: citation.commit,
            content_hash: citation.content_hash.map(hex::encode),
            verdict: citation.verdict.into(),
        }
    }
}

impl From<records::Contribution> for Contribution {
    fn from(contribution: records::Contribution) -> Self {
        Self {
            version: contribution.version,
            saved_by: contribution.login,
            source: contribution.source,
            saved_at: contribution.saved_at,
        }
    }
}

impl RecordVersion {
    pub(super) fn of(version: Version, citations: Vec<Citation>) -> Self {
        Self {
            version: version.version,
            kind: version.kind.into(),
            title: version.title,
            content: version.content,
            scope: version.scope,
            tags: version.tags,
            trust: version.trust.into(),
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
}
