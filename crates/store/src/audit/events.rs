//! Reads of a chain: the newest events, or all in order.

use chrono::{DateTime, Utc};
use mc_contract::operations::audit::AuditEvent;
use mc_domain::{AuditAction, UserId};
use serde_json::Value;

use super::Chain;
use crate::{Result, Store};

/// A filter of events.
#[derive(Debug, Clone, Default)]
pub struct EventFilter {
    /// Only events of this user.
    pub actor: Option<UserId>,
    /// Only events of this kind.
    pub act: Option<AuditAction>,
    /// The target's id or key.
    pub target: Option<String>,
    /// Earliest time, inclusive.
    pub since: Option<DateTime<Utc>>,
    /// Latest time, exclusive.
    pub until: Option<DateTime<Utc>>,
}

/// Returns events before a position in the chain, or the last ones, newest first; none if the
/// store's principal may not read the chain.
pub async fn newest(
    store: &Store,
    chain: Chain,
    filter: &EventFilter,
    before: Option<i64>,
    limit: i64,
) -> Result<Vec<AuditEvent>> {
    let rows = sqlx::query_as!(
        Row,
        "select e.seq, e.occurred_at, e.actor, u.login as \"login?\", e.action, e.target,
             e.details, e.mac
         from audit_events e left join users u on u.id = e.actor
         where e.chain = $1 and e.seq < $2 and ($3::uuid is null or e.actor = $3)
           and ($4::text is null or e.action = $4) and ($5::text is null or e.target = $5)
           and ($6::timestamptz is null or e.occurred_at >= $6) and ($7::timestamptz is null
               or e.occurred_at < $7)
         order by e.seq desc limit $8",
        chain.id(),
        before.unwrap_or(i64::MAX),
        filter.actor.map(|actor| actor.0),
        filter.act.map(AuditAction::as_str),
        filter.target,
        filter.since,
        filter.until,
        limit
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    Ok(rows.into_iter().map(Row::into_event).collect())
}

/// Returns whether the store's principal may read the chain ([`Store::for_audit`]) and the chain
/// has events, or had some when this service last added to it.
pub async fn is_known(store: &Store, chain: Chain) -> Result<bool> {
    let may_read = sqlx::query_scalar!(
        r#"select mc.project_as_maintainer() is not distinct from $1 as "may_read!""#,
        chain.id()
    )
    .fetch_one(&mut *store.read().await?)
    .await?;
    let had_some = store.chains().known(chain).is_some();
    Ok(may_read && (had_some || !after(store, chain, 0, 1).await?.is_empty()))
}

/// Returns events after a position in the chain, in order.
pub async fn after(store: &Store, chain: Chain, seq: i64, limit: i64) -> Result<Vec<AuditEvent>> {
    let rows = sqlx::query_as!(
        Row,
        "select e.seq, e.occurred_at, e.actor, u.login as \"login?\", e.action, e.target,
             e.details, e.mac
         from audit_events e left join users u on u.id = e.actor
         where e.chain = $1 and e.seq > $2 order by e.seq limit $3",
        chain.id(),
        seq,
        limit
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    Ok(rows.into_iter().map(Row::into_event).collect())
}

struct Row {
    seq: i64,
    occurred_at: DateTime<Utc>,
    actor: Option<uuid::Uuid>,
    login: Option<String>,
    action: String,
    target: String,
    details: String,
    mac: Vec<u8>,
}

impl Row {
    fn into_event(self) -> AuditEvent {
        AuditEvent {
            seq: self.seq,
            occurred_at: self.occurred_at,
            actor: self.login,
            actor_id: self.actor.map(UserId),
            action: self.action,
            target: self.target,
            // The text may have been tampered with: it is returned as it is, and `verify` reports
            // it.
            details: serde_json::from_str(&self.details).unwrap_or(Value::String(self.details)),
            mac: hex::encode(self.mac),
        }
    }
}
