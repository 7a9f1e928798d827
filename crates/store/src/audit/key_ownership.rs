//! Ownership of the encryption key: a database accepts the key that first added to the service's
//! chain.

use mc_domain::AuditAction;
use mc_postgres::audit::newest_key;

use super::{Chain, NewEvent, add, lock_head};
use crate::{Error, Store, Tx};

/// The result of claiming a database for the process's key.
#[derive(Debug)]
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
pub async fn claim_key(store: &Store) -> Result<Claim, Error> {
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
