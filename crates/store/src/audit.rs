//! The audit log: chains of events that the service's database roles can't rewrite.
//!
//! Each event has a MAC over its fields and the MAC of the event before, under a key outside the
//! database (`migrations/0007_policy_audit_quarantine.sql`). [`verify`] finds the first event that
//! was changed, deleted or moved. [`Chains`] has the last event that this service added to each
//! chain, so that a truncated chain is detected too.

mod events;
mod prune;
mod verify;

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, SubsecRound as _, Utc};
use mc_crypto::{AuditMacKeys, Head, MAC_LEN, Mac};
use mc_domain::{AuditAction, ProjectId, UserId};
use mc_postgres::audit::newest_key;
use serde_json::Value;
use uuid::Uuid;

use crate::rls::{RlsContext, RlsTarget};
use crate::{Error, Result, Store, Tx};

pub use events::{EventFilter, after, is_known, newest};
pub(crate) use prune::{chains_of_no_project, prune};
pub use verify::{Fault, Report, is_signed_with_known_keys, verify};

/// A chain of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Chain {
    /// Events of a project.
    Project(ProjectId),
    /// The chain of events outside projects: sessions, users, teams, creation and deletion of
    /// projects.
    Service,
}

/// An event to add.
#[derive(Debug, Clone)]
pub struct NewEvent {
    /// What was done.
    pub act: AuditAction,
    /// The target's id or key; never text that was not sanitized.
    pub target: String,
    /// Additional data: ids, counts, values of enumerations.
    pub details: Value,
}

/// The keys of all chains, and the last event that this service added to each; cheap to clone.
#[derive(Debug, Clone)]
pub struct Chains {
    keys: Arc<AuditMacKeys>,
    heads: Arc<Mutex<HashMap<Uuid, Head>>>,
}

impl Chains {
    /// Returns chains with keys and with the heads that an earlier run of the service stored.
    pub fn new(keys: AuditMacKeys, heads: HashMap<Uuid, Head>) -> Self {
        Self { keys: Arc::new(keys), heads: Arc::new(Mutex::new(heads)) }
    }

    /// Returns the known heads, by [`Chain::id`], to be stored outside the database.
    pub fn heads(&self) -> HashMap<Uuid, Head> {
        self.heads.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the last event that this service added to a chain.
    fn known(&self, chain: Chain) -> Option<Head> {
        self.heads.lock().unwrap_or_else(PoisonError::into_inner).get(&chain.id()).copied()
    }

    /// Sets the head of a chain after its events were committed.
    pub(crate) fn advance(&self, chain: Uuid, head: Head) {
        let mut heads = self.heads.lock().unwrap_or_else(PoisonError::into_inner);
        let known = heads.entry(chain).or_insert(head);
        if known.seq < head.seq {
            *known = head;
        }
    }
}

impl Chain {
    /// Returns the project's id; nil for the service's chain.
    pub fn id(self) -> Uuid {
        match self {
            Self::Project(project) => project.0,
            Self::Service => Uuid::nil(),
        }
    }
}

impl From<Uuid> for Chain {
    fn from(id: Uuid) -> Self {
        if id.is_nil() { Self::Service } else { Self::Project(ProjectId(id)) }
    }
}

impl NewEvent {
    /// Returns an event without additional data.
    pub fn new(act: AuditAction, subject: impl Display) -> Self {
        Self { act, target: subject.to_string(), details: Value::Object(serde_json::Map::new()) }
    }

    /// Returns the event with additional data.
    pub fn with(self, detail: Value) -> Self {
        Self { details: detail, ..self }
    }
}

/// Records an event of the transaction's principal in the chain of its project; without a project,
/// in the service's chain. It is written at commit.
pub fn record(tx: &mut Tx, event: NewEvent) {
    let (chain, actor) = match tx.1.context {
        None => (Chain::Service, None),
        Some(RlsContext { principal, target: RlsTarget::Project(project) }) => {
            (Chain::Project(project), Some(principal))
        }
        Some(RlsContext { principal, target: RlsTarget::Audit(_) | RlsTarget::User }) => {
            (Chain::Service, Some(principal))
        }
    };
    tx.1.events.push(PendingEvent { chain, actor, event });
}

/// Records events of `actor` in a transaction of their own; `None` means the service itself or an
/// unauthenticated caller.
pub async fn record_in_own_tx(
    store: &Store,
    chain: Chain,
    actor: Option<UserId>,
    events: &[NewEvent],
) -> Result<()> {
    let mut tx = store.begin().await?;
    add(&mut tx, chain, actor, events);
    tx.commit().await
}

/// Records events of `actor` in a chain, to be written at commit.
pub fn add(tx: &mut Tx, chain: Chain, actor: Option<UserId>, events: &[NewEvent]) {
    tx.1.events.extend(events.iter().map(|event| PendingEvent {
        chain,
        actor,
        event: event.clone(),
    }));
}

/// An event that is written at the end of its transaction.
#[derive(Debug)]
pub(crate) struct PendingEvent {
    chain: Chain,
    actor: Option<UserId>,
    event: NewEvent,
}

/// Writes the transaction's events to their chains, right before the commit: each chain is locked
/// from here on. Chains are locked in one order everywhere, so that transactions can't deadlock.
pub(crate) async fn write(tx: &mut Tx) -> Result<()> {
    let mut events = std::mem::take(&mut tx.1.events);
    // A stable sort keeps the order within each chain.
    events.sort_by_key(|event| event.chain.id());
    for of_chain in events.chunk_by(|a, b| a.chain == b.chain) {
        append(tx, of_chain[0].chain, of_chain).await?;
    }
    Ok(())
}

/// Appends events to a chain, to the known head if it is the last event, or else to the actual one.
async fn append(tx: &mut Tx, chain: Chain, events: &[PendingEvent]) -> Result<()> {
    if let Some(known) = tx.1.chains.known(chain) {
        let (rows, head) = Rows::following(known, chain, events, &tx.1.chains.keys);
        if extend(tx, chain, Some(known), &rows).await? {
            tx.1.appended.push((chain.id(), head));
            return Ok(());
        }
    }
    let ending = lock_head(tx, chain).await?;
    let head = ending.head.unwrap_or(Head { seq: 0, mac: [0; MAC_LEN] });
    let (rows, head) = Rows::following(head, chain, events, &tx.1.chains.keys);
    extend(tx, chain, None, &rows).await?;
    if ending.is_known {
        tx.1.appended.push((chain.id(), head));
    } else {
        // The events are appended, and the known head stays, so that `verify` keeps reporting the
        // truncation.
        tracing::error!(audit.chain = %chain.id(), "end of the audit chain was changed");
    }
    Ok(())
}

/// Appends events. With an `end`, only if that is the last event of the chain; returns whether it
/// was.
async fn extend(tx: &mut Tx, chain: Chain, end: Option<Head>, rows: &Rows) -> Result<bool> {
    Ok(sqlx::query_scalar!(
        r#"select mc.append_audit_events($1, $2, $3, $4, $5, $6, $7, $8, $9, $10,
               $11) as "is_extended!""#,
        chain.id(),
        end.map(|end| end.seq),
        end.map(|end| end.mac.to_vec()),
        &rows.seqs,
        &rows.times,
        &rows.actors as &[Option<Uuid>],
        &rows.actions,
        &rows.subjects,
        &rows.details,
        &rows.key_ids,
        &rows.macs
    )
    .fetch_one(&mut *tx.0)
    .await?)
}

/// The result of claiming a database for the process's key.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one, at the start of the process")]
pub enum Claim {
    /// The database had no key. It has this one once the transaction is committed; until then other
    /// claims wait.
    First(Tx),
    /// The database has this process's key.
    Known,
    /// The database has a key that this process was not given.
    OtherKey,
}

/// Claims the database for the process's key. Of concurrent claims, one is the first.
pub async fn claim_key(store: &Store) -> Result<Claim> {
    let mut tx = store.begin().await?;
    // Locks the chain until the transaction ends: no other process can add to it or claim it.
    let ending = lock_head(&mut tx, Chain::Service).await?;
    match newest_key(&mut tx.0).await? {
        Some(key) if store.chains.keys.has(&key) => Ok(Claim::Known),
        Some(_) => Ok(Claim::OtherKey),
        // Retention deleted all events: the key was accepted before.
        None if ending.head.is_some() => Ok(Claim::Known),
        None => {
            let started = NewEvent::new(AuditAction::AuditStarted, "service");
            add(&mut tx, Chain::Service, None, &[started]);
            Ok(Claim::First(tx))
        }
    }
}

/// Events as columns.
#[derive(Default)]
struct Rows {
    seqs: Vec<i64>,
    times: Vec<DateTime<Utc>>,
    actors: Vec<Option<Uuid>>,
    actions: Vec<String>,
    subjects: Vec<String>,
    details: Vec<String>,
    key_ids: Vec<Vec<u8>>,
    macs: Vec<Vec<u8>>,
}

impl Rows {
    /// Returns the events that follow the head of a chain, and its head after them.
    fn following(
        mut head: Head,
        chain: Chain,
        events: &[PendingEvent],
        keys: &AuditMacKeys,
    ) -> (Self, Head) {
        let mut rows = Self::default();
        for PendingEvent { actor, event, .. } in events {
            let details = event.details.to_string();
            let link = Link {
                chain: chain.id(),
                seq: head.seq + 1,
                // The database's precision.
                occurred_at: Utc::now().trunc_subsecs(6),
                actor: actor.map(|user| user.0),
                action: event.act.as_str(),
                target: &event.target,
                details: &details,
            };
            let (key_id, mac) = link.parts(&head.mac, |parts| keys.sign(parts));
            head = Head { seq: link.seq, mac };
            rows.seqs.push(link.seq);
            rows.times.push(link.occurred_at);
            rows.actors.push(link.actor);
            rows.actions.push(link.action.to_owned());
            rows.subjects.push(event.target.clone());
            rows.details.push(details);
            rows.key_ids.push(key_id.to_vec());
            rows.macs.push(mac.to_vec());
        }
        (rows, head)
    }
}

/// The head of a chain in the database.
struct Ending {
    head: Option<Head>,
    /// Whether the chain still has the last event that this service added.
    is_known: bool,
}

/// Locks the head of a chain until the transaction ends, and returns it.
async fn lock_head(tx: &mut Tx, chain: Chain) -> Result<Ending> {
    let known = tx.1.chains.known(chain);
    let row = sqlx::query!(
        r#"select seq as "seq!", mac as "mac!", known_mac, is_pruned as "is_pruned!"
           from mc.lock_audit_head($1, $2)"#,
        chain.id(),
        known.map(|known| known.seq)
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    let Some(row) = row else { return Ok(Ending { head: None, is_known: known.is_none() }) };
    let is_known = known.is_none_or(|known| {
        row.is_pruned || row.known_mac.as_deref() == Some(known.mac.as_slice())
    });
    Ok(Ending { head: Some(Head { seq: row.seq, mac: mac(&row.mac)? }), is_known })
}

fn mac(bytes: &[u8]) -> Result<Mac> {
    bytes.try_into().map_err(|_| Error::UnknownStoredValue("audit_events.mac".into()))
}

/// An event at its position, as it is signed.
struct Link<'a> {
    chain: Uuid,
    seq: i64,
    occurred_at: DateTime<Utc>,
    actor: Option<Uuid>,
    action: &'a str,
    target: &'a str,
    details: &'a str,
}

impl Link<'_> {
    /// Passes the signed parts, which include the MAC of the event before, to `then`.
    fn parts<R>(&self, before: &Mac, then: impl FnOnce(&[&[u8]]) -> R) -> R {
        then(&[
            b"event",
            before,
            self.chain.as_bytes(),
            &self.seq.to_be_bytes(),
            &self.occurred_at.timestamp_micros().to_be_bytes(),
            self.actor.as_ref().map_or(&[][..], |actor| actor.as_bytes()),
            self.action.as_bytes(),
            self.target.as_bytes(),
            self.details.as_bytes(),
        ])
    }
}
