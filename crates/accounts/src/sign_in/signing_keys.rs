//! The keys that sign access tokens, cached by each node.

use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};
use mc_auth::jwt;
use mc_auth::keys::{KeySet, KeyState, SigningKey, VerifyingKey};
use mc_crypto::Encryptor;
use mc_store::Store;
use mc_store::sessions::{self, Key};

use crate::Error;

/// How long a key signs.
const SIGNING_PERIOD: TimeDelta = TimeDelta::days(30);
/// How long before it signs a key is stored, so that other nodes have read it by then.
const ANNOUNCEMENT: TimeDelta = TimeDelta::minutes(5);
/// Maximum age of the cached keys.
const MAX_AGE: TimeDelta = TimeDelta::minutes(1);
/// Minimum age before the keys are read for an unknown key id, which may be invented.
const MIN_AGE: TimeDelta = TimeDelta::seconds(1);

/// The keys of the service, which nodes share through the database.
pub struct Keyring {
    store: Store,
    encryptor: Encryptor,
    cached: Mutex<Arc<CachedKeys>>,
}

/// The keys at the time when they were read.
pub struct CachedKeys {
    /// The keys that verify tokens.
    pub verifying: KeySet,
    stored: Vec<Key>,
    read_at: DateTime<Utc>,
}

impl Keyring {
    /// Reads the keys, and creates one if none signs.
    pub async fn open(store: Store, encryptor: Encryptor) -> Result<Self, Error> {
        let now = Utc::now();
        let cached = Mutex::new(Arc::new(read(&store, now).await?));
        let keyring = Self { store, encryptor, cached };
        // First: a rotation would encrypt a key with the wrong encryption key, and hide the others.
        keyring.check_encryption_key()?;
        keyring.rotate(now).await?;
        Ok(keyring)
    }

    fn check_encryption_key(&self) -> Result<(), Error> {
        let keys = self.cached();
        let Some(newest) = keys.stored.iter().max_by_key(|key| key.active_from) else {
            return Ok(());
        };
        SigningKey::decrypt(&self.encryptor, &newest.public, &newest.private)
            .map(drop)
            .map_err(Error::WrongEncryptionKey)
    }

    /// Returns the keys as they were at most [`MAX_AGE`] ago.
    pub async fn current(&self, now: DateTime<Utc>) -> Result<Arc<CachedKeys>, Error> {
        self.read_if_older(MAX_AGE, now).await
    }

    /// Returns the keys as they are now, for a token with an unknown key id.
    pub async fn newest(&self, now: DateTime<Utc>) -> Result<Arc<CachedKeys>, Error> {
        self.read_if_older(MIN_AGE, now).await
    }

    /// Returns the key that signs.
    pub async fn signer(&self, now: DateTime<Utc>) -> Result<SigningKey, Error> {
        let keys = self.current(now).await?;
        let public = keys.verifying.signer(now).map(|key| *key.public());
        let stored = keys.stored.iter().find(|key| Some(key.public) == public);
        let stored = stored.ok_or(Error::NoSigningKey)?;
        Ok(SigningKey::decrypt(&self.encryptor, &stored.public, &stored.private)?)
    }

    /// Adds a key when the signing period of the newest one is nearly over.
    pub async fn rotate(&self, now: DateTime<Utc>) -> Result<(), Error> {
        let keys = self.newest(now).await?;
        let newest = keys.stored.iter().map(|key| key.active_from).max();
        let active_from = match newest {
            None => now,
            Some(newest) if newest + SIGNING_PERIOD - ANNOUNCEMENT <= now => now + ANNOUNCEMENT,
            Some(_) => return Ok(()),
        };
        let key = SigningKey::generate()?;
        let private = key.encrypt(&self.encryptor);
        let key = Key { public: *key.public(), private, active_from, retired_at: None };
        sessions::rotate_keys(&self.store, newest, &key).await?;
        self.cache(read(&self.store, now).await?);
        Ok(())
    }

    async fn read_if_older(
        &self,
        age: TimeDelta,
        now: DateTime<Utc>,
    ) -> Result<Arc<CachedKeys>, Error> {
        let cached = self.cached();
        if now - cached.read_at < age {
            return Ok(cached);
        }
        Ok(self.cache(read(&self.store, now).await?))
    }

    fn cached(&self) -> Arc<CachedKeys> {
        Arc::clone(&self.cached.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn cache(&self, keys: CachedKeys) -> Arc<CachedKeys> {
        let keys = Arc::new(keys);
        *self.cached.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&keys);
        keys
    }
}

async fn read(store: &Store, now: DateTime<Utc>) -> Result<CachedKeys, Error> {
    let stored = sessions::keys(store).await?;
    let verifying =
        stored.iter().map(|key| VerifyingKey::new(key.public, state(key, &stored, now)));
    Ok(CachedKeys { verifying: KeySet::new(verifying.collect()), stored, read_at: now })
}

/// Returns the state: a key signs until its successor does, and then verifies its last tokens.
fn state(key: &Key, all: &[Key], now: DateTime<Utc>) -> KeyState {
    if key.retired_at.is_some() {
        return KeyState::Retired;
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

    fn key(n: u8, active_from: DateTime<Utc>) -> Key {
        Key { public: [n; 32], private: Vec::new(), active_from, retired_at: None }
    }

    #[test]
    fn a_key_signs_until_its_successor_and_verifies_longer() {
        let now = DateTime::from_timestamp(1_800_000_000, 0).expect("a time");
        let keys = [key(1, now - SIGNING_PERIOD), key(2, now + ANNOUNCEMENT)];
        assert_eq!(state(&keys[0], &keys, now), KeyState::Active { since: now - SIGNING_PERIOD });
        let replaced = now + ANNOUNCEMENT;
        let until = replaced + jwt::LIFETIME + jwt::LEEWAY;
        assert_eq!(state(&keys[0], &keys, replaced), KeyState::Retiring { until });
        assert_eq!(state(&keys[1], &keys, replaced), KeyState::Active { since: replaced });
    }

    #[test]
    fn a_key_signs_again_when_its_successor_is_retired() {
        let now = DateTime::from_timestamp(1_800_000_000, 0).expect("a time");
        let mut keys = [key(1, now - SIGNING_PERIOD), key(2, now)];
        keys[1].retired_at = Some(now);
        assert_eq!(state(&keys[0], &keys, now), KeyState::Active { since: now - SIGNING_PERIOD });
        assert_eq!(state(&keys[1], &keys, now), KeyState::Retired);
    }
}
