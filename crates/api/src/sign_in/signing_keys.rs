//! The keys that sign access tokens, as this node has read them.

use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};
use mc_auth::jwt;
use mc_auth::keys::{KeySet, KeyState, SigningKey, VerifyingKey};
use mc_crypto::Encryptor;
use mc_store::Store;
use mc_store::sessions::{self, Key};

use crate::problem::Problem;

/// How long a key signs.
const TURN: TimeDelta = TimeDelta::days(30);
/// A new key is announced so long before it signs: the other nodes have read it by then.
const ANNOUNCED: TimeDelta = TimeDelta::minutes(5);
/// How old what was read may be.
const FRESH: TimeDelta = TimeDelta::minutes(1);
/// Tokens with made-up key ids make nobody read the keys more often than this.
const READ_AGAIN_AFTER: TimeDelta = TimeDelta::seconds(1);

/// The keys of the service; they are shared through the database.
pub struct Keyring {
    store: Store,
    sealer: Encryptor,
    read: Mutex<Arc<Read>>,
}

/// Keys as they were at a moment.
pub struct Read {
    /// What tokens are verified with.
    pub verifying: KeySet,
    stored: Vec<Key>,
    at: DateTime<Utc>,
}

impl Keyring {
    /// Reads the keys, and makes one where none signs.
    pub async fn open(store: Store, sealer: Encryptor) -> Result<Self, Problem> {
        let now = Utc::now();
        let read = read(&store, now).await?;
        let ring = Self { store, sealer, read: Mutex::new(Arc::new(read)) };
        // First, or a key that is due would be sealed with whatever there is, and hide the others.
        ring.check()?;
        ring.rotate(now).await?;
        Ok(ring)
    }

    /// Refuses to start with another encryption key than the one that the keys were sealed with.
    fn check(&self) -> Result<(), Problem> {
        let read = Arc::clone(&self.read.lock().unwrap_or_else(PoisonError::into_inner));
        let Some(newest) = read.stored.iter().max_by_key(|key| key.active_from) else {
            return Ok(());
        };
        SigningKey::decrypt(&self.sealer, &newest.public, &newest.private).map(drop).map_err(
            |error| {
                Problem::unavailable(format!(
                    "{error}; encryption.key_file must hold the key that the database was used with"
                ))
            },
        )
    }

    /// The keys, read a minute ago at most.
    pub async fn current(&self, now: DateTime<Utc>) -> Result<Arc<Read>, Problem> {
        self.read_within(FRESH, now).await
    }

    /// The keys as they are now, for a token whose key is unknown.
    pub async fn newest(&self, now: DateTime<Utc>) -> Result<Arc<Read>, Problem> {
        self.read_within(READ_AGAIN_AFTER, now).await
    }

    /// The key to sign with.
    pub async fn signer(&self, now: DateTime<Utc>) -> Result<SigningKey, Problem> {
        let read = self.current(now).await?;
        let id = read.verifying.signer(now).map(|key| *key.public());
        let stored = read.stored.iter().find(|key| Some(key.public) == id);
        let stored =
            stored.ok_or_else(|| Problem::unavailable("no key signs tokens at present"))?;
        Ok(SigningKey::decrypt(&self.sealer, &stored.public, &stored.private)?)
    }

    /// Adds a key when the newest one's turn is nearly over. To be called now and then.
    pub async fn rotate(&self, now: DateTime<Utc>) -> Result<(), Problem> {
        let read = self.newest(now).await?;
        let newest = read.stored.iter().map(|key| key.active_from).max();
        let since = match newest {
            None => now,
            Some(newest) if newest + TURN - ANNOUNCED <= now => now + ANNOUNCED,
            Some(_) => return Ok(()),
        };
        let key = SigningKey::generate()?;
        let private = key.encrypt(&self.sealer);
        let key = Key { public: *key.public(), private, active_from: since, retired_at: None };
        sessions::rotate_keys(&self.store, newest, &key).await?;
        self.put(self::read(&self.store, now).await?);
        Ok(())
    }

    async fn read_within(&self, age: TimeDelta, now: DateTime<Utc>) -> Result<Arc<Read>, Problem> {
        let known = Arc::clone(&self.read.lock().unwrap_or_else(PoisonError::into_inner));
        if now - known.at < age {
            return Ok(known);
        }
        Ok(self.put(read(&self.store, now).await?))
    }

    fn put(&self, read: Read) -> Arc<Read> {
        let read = Arc::new(read);
        *self.read.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&read);
        read
    }
}

async fn read(store: &Store, now: DateTime<Utc>) -> Result<Read, Problem> {
    let stored = sessions::keys(store).await?;
    let verifying =
        stored.iter().map(|key| VerifyingKey::new(key.public, state(key, &stored, now)));
    Ok(Read { verifying: KeySet::new(verifying.collect()), stored, at: now })
}

/// A key signs until the next begins to, and what it signed is accepted until that has expired.
fn state(key: &Key, all: &[Key], now: DateTime<Utc>) -> KeyState {
    if let Some(since) = key.retired_at {
        return KeyState::Retired { since };
    }
    let successors = all
        .iter()
        .filter(|other| other.retired_at.is_none() && other.active_from > key.active_from);
    match successors.map(|other| other.active_from).min() {
        Some(replaced) if replaced <= now => {
            KeyState::Retiring { until: replaced + jwt::LIFETIME + jwt::LEEWAY }
        }
        _ => KeyState::Active { since: key.active_from },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u8, since: DateTime<Utc>) -> Key {
        Key { public: [n; 32], private: Vec::new(), active_from: since, retired_at: None }
    }

    #[test]
    fn a_key_signs_until_the_next_begins_and_is_accepted_a_little_longer() {
        let now = DateTime::from_timestamp(1_800_000_000, 0).expect("a time");
        let keys = [key(1, now - TURN), key(2, now + ANNOUNCED)];
        assert_eq!(state(&keys[0], &keys, now), KeyState::Active { since: now - TURN });
        let begun = now + ANNOUNCED;
        let until = begun + jwt::LIFETIME + jwt::LEEWAY;
        assert_eq!(state(&keys[0], &keys, begun), KeyState::Retiring { until });
        assert_eq!(state(&keys[1], &keys, begun), KeyState::Active { since: begun });
    }

    #[test]
    fn a_retired_successor_gives_the_turn_back() {
        let now = DateTime::from_timestamp(1_800_000_000, 0).expect("a time");
        let mut keys = [key(1, now - TURN), key(2, now)];
        keys[1].retired_at = Some(now);
        assert_eq!(state(&keys[0], &keys, now), KeyState::Active { since: now - TURN });
        assert_eq!(state(&keys[1], &keys, now), KeyState::Retired { since: now });
    }
}
