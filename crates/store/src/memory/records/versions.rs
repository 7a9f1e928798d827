//! Versions: the former states of a record, with content, kind, owner, trust, expiry and citations.
//! Scores and links to a task or a dialog belong to the record, not to a version.

use chrono::{DateTime, Utc};
use mc_domain::{RecordId, RecordKind, RecordMeta, Trust};

use super::{Record, RecordUpdate};
use crate::error::{record_meta, word};
use crate::row::read;
use crate::{Result, Store, Tx, citations};

/// A former state of a record; [`citations::of_version`] returns its citations.
#[derive(Debug, Clone)]
pub struct Version {
    /// Version number, from 1.
    pub version: i32,
    /// Kind then.
    pub kind: RecordKind,
    /// Title then.
    pub title: String,
    /// Content then.
    pub content: String,
    /// Tags then.
    pub tags: Vec<String>,
    /// Scope then.
    pub scope: Vec<String>,
    /// Owner then.
    pub owner: Option<String>,
    /// Expiry then.
    pub ttl: DateTime<Utc>,
    /// Whether a person had set `ttl`.
    pub is_ttl_explicit: bool,
    /// Trust level then.
    pub trust: Trust,
    /// Additional data then.
    pub meta: RecordMeta,
    /// Reason of the change that ended the version.
    pub reason: String,
    /// Login of the user who made that change.
    pub changed_by: Option<String>,
    /// Time of that change.
    pub changed_at: DateTime<Utc>,
}

/// Stores the present state of a record as a version, unless the update changes nothing; returns
/// whether it did. An implicit expiry does not count as a change: every save and recall moves it.
pub(super) async fn keep(tx: &mut Tx, record: &Record, change: &RecordUpdate<'_>) -> Result<bool> {
    let RecordUpdate { body, trust, .. } = *change;
    let citations_differ = match change.citations {
        Some(cited) => citations::differ(tx, record.id, cited).await?,
        None => false,
    };
    tx.has_changed(sqlx::query!(
        "insert into record_versions (record_id, project_id, version, kind, title, content, scope,
             tags,
             owner, ttl, is_ttl_explicit, trust, meta, citations, reason, changed_by)
         select r.id, r.project_id, r.version, r.kind, r.title, r.content, r.scope, r.tags,
                r.owner, r.ttl, r.is_ttl_explicit, r.trust, r.meta,
                (select coalesce(jsonb_agg(to_jsonb(c) - '{record_id,project_id,private_to}'::text[]
                                           order by c.id), '[]')
                 from record_citations c where c.record_id = r.id),
                $2, $3
         from memory_records r
         where r.id = $1
             and ($4::boolean
                  or (r.kind, r.title, r.content, r.scope, r.tags, r.meta, r.owner, r.trust,
                      case when r.is_ttl_explicit then r.ttl end)
                  is distinct from ($5, $6, $7, $8::text[], $9::text[], $10::jsonb, $11, $12,
                                    $13::timestamptz))",
        record.id.0,
        change.reason,
        change.changed_by,
        citations_differ,
        body.kind.as_str(),
        body.title.as_str(),
        body.content.as_str(),
        &body.scope,
        &body.tags,
        body.meta.to_json(),
        body.owner,
        trust.as_str(),
        body.is_ttl_explicit.then_some(body.ttl)
    ))
    .await
}

/// Returns the versions of a record, newest first.
pub async fn versions(store: &Store, id: RecordId) -> Result<Vec<Version>> {
    fetch(&mut *store.read().await?, id, None, None).await
}

/// Returns one version within the transaction.
pub async fn version(tx: &mut Tx, id: RecordId, version: i32) -> Result<Option<Version>> {
    Ok(fetch(&mut *tx.0, id, Some(version), None).await?.pop())
}

/// Returns the version before the present state.
pub async fn last_version(tx: &mut Tx, id: RecordId) -> Result<Option<Version>> {
    Ok(fetch(&mut *tx.0, id, None, Some(1)).await?.pop())
}

/// Returns one version, the newest `limit` ones, or all; newest first.
async fn fetch(
    executor: impl sqlx::PgExecutor<'_>,
    id: RecordId,
    version: Option<i32>,
    limit: Option<i64>,
) -> Result<Vec<Version>> {
    let rows = sqlx::query!(
        "select version, kind, title, content, tags, scope, owner, ttl, is_ttl_explicit, trust,
             meta, reason,
                changed_by, changed_at
         from record_versions where record_id = $1 and ($2::int is null or version = $2)
         order by version desc limit $3",
        id.0,
        version,
        limit
    )
    .fetch_all(executor)
    .await?;
    read!(each row in rows => Version {
        version, kind: word(&row.kind)?, title, content, tags, scope, owner, ttl, is_ttl_explicit,
        trust: word(&row.trust)?, meta: record_meta(row.meta)?, reason, changed_by, changed_at
    })
}
