//! What a record was before it was changed: what it said, of which kind, who answered and who vouched for it,
//! when it was to end and what it cited. Its scores, its task and its dialog are the record's, of no version.

use chrono::{DateTime, Utc};
use mc_domain::{RecordId, RecordKind, Trust};

use super::{Record, RecordUpdate};
use crate::error::word;
use crate::{Error, Store, Tx, citations};

/// A record as it was in an earlier version; what it cited then, [`citations::of_version`] has.
#[derive(Debug, Clone)]
pub struct Version {
    /// Which state, from 1.
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
    /// Who answered for it then.
    pub owner: Option<String>,
    /// When it was to expire.
    pub ttl: DateTime<Utc>,
    /// Whether that end was named by a person.
    pub is_ttl_explicit: bool,
    /// Who vouched for it then.
    pub trust: Trust,
    /// What came beside the content then.
    pub meta: serde_json::Value,
    /// Why it was changed.
    pub reason: String,
    /// Who changed it.
    pub changed_by: Option<String>,
    /// When it was changed.
    pub changed_at: DateTime<Utc>,
}

/// Keeps a record as it is under its version number, unless the change leaves it so; answers whether it
/// was kept. An end that nobody named is no part of that: every save and recall moves it.
pub(super) async fn keep(
    tx: &mut Tx,
    record: &Record,
    change: &RecordUpdate<'_>,
) -> Result<bool, Error> {
    let RecordUpdate { body, trust, .. } = *change;
    let cites_otherwise = match change.citations {
        Some(cited) => citations::differ(tx, record.id, cited).await?,
        None => false,
    };
    let kept = sqlx::query!(
        "insert into record_versions (record_id, project_id, version, kind, title, content, scope, tags,
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
        cites_otherwise,
        body.kind.as_str(),
        body.title.as_str(),
        body.content.as_str(),
        &body.scope,
        &body.tags,
        body.meta,
        body.owner,
        trust.as_str(),
        body.is_ttl_explicit.then_some(body.ttl)
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(kept.rows_affected() > 0)
}

/// Earlier states, newest first.
pub async fn versions(store: &Store, id: RecordId) -> Result<Vec<Version>, Error> {
    fetch(&mut *store.read().await?, id, None, None).await
}

/// An earlier state, as the transaction sees it.
pub async fn version(tx: &mut Tx, id: RecordId, version: i32) -> Result<Option<Version>, Error> {
    Ok(fetch(&mut *tx.0, id, Some(version), None).await?.pop())
}

/// The state before the present one.
pub async fn last_version(tx: &mut Tx, id: RecordId) -> Result<Option<Version>, Error> {
    Ok(fetch(&mut *tx.0, id, None, Some(1)).await?.pop())
}

/// Earlier states, newest first: one, or at most so many, or all.
async fn fetch(
    executor: impl sqlx::PgExecutor<'_>,
    id: RecordId,
    version: Option<i32>,
    limit: Option<i64>,
) -> Result<Vec<Version>, Error> {
    let rows = sqlx::query_as!(
        Row,
        "select version, kind, title, content, tags, scope, owner, ttl, is_ttl_explicit, trust, meta, reason,
                changed_by, changed_at
         from record_versions where record_id = $1 and ($2::int is null or version = $2)
         order by version desc limit $3",
        id.0,
        version,
        limit
    )
    .fetch_all(executor)
    .await?;
    rows.into_iter().map(Row::into_version).collect()
}

/// The columns of a version as they are read.
struct Row {
    version: i32,
    kind: String,
    title: String,
    content: String,
    tags: Vec<String>,
    scope: Vec<String>,
    owner: Option<String>,
    ttl: DateTime<Utc>,
    is_ttl_explicit: bool,
    trust: String,
    meta: serde_json::Value,
    reason: String,
    changed_by: Option<String>,
    changed_at: DateTime<Utc>,
}

impl Row {
    fn into_version(self) -> Result<Version, Error> {
        Ok(Version {
            version: self.version,
            kind: word(&self.kind)?,
            title: self.title,
            content: self.content,
            tags: self.tags,
            scope: self.scope,
            owner: self.owner,
            ttl: self.ttl,
            is_ttl_explicit: self.is_ttl_explicit,
            trust: word(&self.trust)?,
            meta: self.meta,
            reason: self.reason,
            changed_by: self.changed_by,
            changed_at: self.changed_at,
        })
    }
}
