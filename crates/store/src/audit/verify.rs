//! Verification of a chain.

use chrono::{DateTime, Utc};
use mc_crypto::{MAC_LEN, Mac};
use mc_postgres::audit::newest_key;

use super::{Chain, Head, Link};
use crate::{Result, Store};

/// Events read per statement.
const PAGE: i64 = 5_000;

/// The result of a verification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Number of valid events.
    pub events: i64,
    /// The first of them; above 1 if retention deleted older ones.
    pub first_seq: Option<i64>,
    /// The last of them.
    pub last_seq: Option<i64>,
    /// The first fault.
    pub error: Option<Fault>,
}

impl Report {
    fn with(self, fault: Fault) -> Self {
        Self { error: Some(fault), ..self }
    }
}

/// The first fault of a chain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// This event is missing.
    #[error("event {0} is missing")]
    Missing(i64),
    /// This event was changed or moved.
    #[error("event {0} was changed, moved or forged, or one before it was removed")]
    Changed(i64),
    /// This event is signed with an unknown key.
    #[error(
        "event {0} is signed with another key; give the previous encryption key to the service too"
    )]
    UnknownKey(i64),
    /// The events before this one were deleted, and not by retention.
    #[error("the events before {0} were removed, and no valid checkpoint says that they may be")]
    Beheaded(i64),
    /// The chain does not reach this event, which the service knows.
    #[error(
        "the chain should reach event {0} and does not: its end was cut off, or the database was \
         restored from a backup"
    )]
    Shortened(i64),
}

/// Verifies a whole chain against its MACs, and its end against the known head.
pub async fn verify(store: &Store, chain: Chain) -> Result<Report> {
    // Read before the events: more may be added meanwhile.
    let known = store.chains.known(chain);
    let mut report = Report { events: 0, first_seq: None, last_seq: None, error: None };
    let mut at = Head { seq: 0, mac: [0; MAC_LEN] };
    let mut meets_known = known.is_none();
    loop {
        let rows = page(store, chain, at.seq).await?;
        let full = i64::try_from(rows.len()) == Ok(PAGE);
        for row in rows {
            if report.first_seq.is_none() && row.seq > 1 {
                match checkpoint(store, chain, row.seq - 1).await? {
                    Some(mac) => at = Head { seq: row.seq - 1, mac },
                    None => return Ok(report.with(Fault::Beheaded(row.seq))),
                }
            }
            if let Some(fault) = fault(store, chain, at, &row) {
                return Ok(report.with(fault));
            }
            at = Head { seq: row.seq, mac: super::mac(&row.mac)? };
            meets_known |= known == Some(at);
            report.events += 1;
            report.first_seq = report.first_seq.or(Some(row.seq));
            report.last_seq = Some(row.seq);
        }
        if !full {
            break;
        }
    }
    match known {
        // Retention may have deleted the chain up to the known head.
        Some(known)
            if !meets_known && checkpoint(store, chain, known.seq).await? != Some(known.mac) =>
        {
            Ok(report.with(Fault::Shortened(known.seq)))
        }
        _ => Ok(report),
    }
}

/// Returns the fault of the event that follows `before`, if any.
fn fault(store: &Store, chain: Chain, before: Head, row: &Row) -> Option<Fault> {
    if row.seq != before.seq + 1 {
        return Some(Fault::Missing(before.seq + 1));
    }
    let link = Link {
        chain: chain.id(),
        seq: row.seq,
        occurred_at: row.occurred_at,
        actor: row.actor,
        action: &row.action,
        target: &row.target,
        details: &row.details,
    };
    let keys = &store.chains.keys;
    match link.parts(&before.mac, |parts| keys.is_genuine(&row.key_id, parts, &row.mac)) {
        Some(true) => None,
        Some(false) => Some(Fault::Changed(row.seq)),
        None => Some(Fault::UnknownKey(row.seq)),
    }
}

struct Row {
    seq: i64,
    occurred_at: DateTime<Utc>,
    actor: Option<uuid::Uuid>,
    action: String,
    target: String,
    details: String,
    key_id: Vec<u8>,
    mac: Vec<u8>,
}

/// Returns whether the newest event of the service's chain is signed with a key that this process
/// has; true for an empty chain.
pub async fn is_signed_with_known_keys(store: &Store) -> Result<bool> {
    let newest = newest_key(&mut *store.plain().await?).await?;
    Ok(newest.is_none_or(|key| store.chains.keys.has(&key)))
}

async fn page(store: &Store, chain: Chain, after: i64) -> Result<Vec<Row>> {
    Ok(sqlx::query_as!(
        Row,
        "select seq, occurred_at, actor, action, target, details, key_id, mac from audit_events
         where chain = $1 and seq > $2 order by seq limit $3",
        chain.id(),
        after,
        PAGE
    )
    .fetch_all(&mut *store.read().await?)
    .await?)
}

/// Returns the MAC of an event at which retention stopped, from a valid checkpoint.
async fn checkpoint(store: &Store, chain: Chain, seq: i64) -> Result<Option<Mac>> {
    let row = sqlx::query!(
        "select mac, key_id, checkpoint_mac from audit_checkpoints where chain = $1 and seq = $2",
        chain.id(),
        seq
    )
    .fetch_optional(&mut *store.read().await?)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let mac = super::mac(&row.mac)?;
    let genuine = super::prune::sign_checkpoint(chain, seq, &mac, |parts| {
        store.chains.keys.is_genuine(&row.key_id, parts, &row.checkpoint_mac)
    });
    Ok((genuine == Some(true)).then_some(mac))
}
