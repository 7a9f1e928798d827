//! Whose key a database is sealed with: that of whoever first added to the service's chain.

use mc_domain::AuditAction;
use mc_postgres::audit::newest_key;

use super::{Chain, NewEvent, add, lock_head};
use crate::{Error, Store, Tx};

/// What a process finds that would use its key for a database.
#[derive(Debug)]
pub enum Claim {
    /// The database has known none. It is this process's once the transaction is committed; until then others that
    /// ask wait.
    First(Tx),
    /// It knows this process's key.
    Known,
    /// It knows a key that this process was not given.
    Anothers,
}

/// Asks for the database in the name of this process's key. Of several that ask at the same moment one is the first.
pub async fn claim_key(store: &Store) -> Result<Claim, Error> {
    let mut tx = store.begin().await?;
    // Until this transaction ends nobody else adds to the chain, nor looks at its end in order to do so.
    let ending = lock_head(&mut tx, Chain::Service).await?;
    match newest_key(&mut tx.0).await? {
        Some(key) if store.chains.keys.has(&key) => Ok(Claim::Known),
        Some(_) => Ok(Claim::Anothers),
        // All of it was dropped, as the policy has it: whoever has come this far was let in before.
        None if ending.head.is_some() => Ok(Claim::Known),
        None => {
            let begun = NewEvent::new(AuditAction::AuditStarted, "service");
            add(&mut tx, Chain::Service, None, &[begun]);
            Ok(Claim::First(tx))
        }
    }
}
