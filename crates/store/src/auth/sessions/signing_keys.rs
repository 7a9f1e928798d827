//! Keys that sign access tokens.

use chrono::{DateTime, Utc};

use crate::row::read;
use crate::{Error, Result, Store};

/// A key that signs access tokens.
#[derive(Debug, Clone)]
pub struct Key {
    /// Public half of the Ed25519 key.
    pub public: [u8; 32],
    /// Private key, encrypted.
    pub private: Vec<u8>,
    /// When it starts to sign.
    pub active_from: DateTime<Utc>,
    /// When it was retired.
    pub retired_at: Option<DateTime<Utc>>,
}

/// Returns all keys, by the time from which they sign.
pub async fn keys(store: &Store) -> Result<Vec<Key>> {
    let rows = sqlx::query!(
        "select public_key, private_key, active_from, retired_at from signing_keys
             order by active_from"
    )
    .fetch_all(&mut *store.plain().await?)
    .await?;
    let unknown = |_| Error::UnknownStoredValue("signing_keys.public_key".into());
    read!(each row in rows => Key {
        public: row.public_key.try_into().map_err(unknown)?, private: row.private_key, active_from,
        retired_at
    })
}

/// Adds a key, unless another node has just added one that signs from a time after `newest`. Each
/// key signs until the next one does.
pub async fn rotate_keys(store: &Store, newest: Option<DateTime<Utc>>, key: &Key) -> Result<()> {
    let mut tx =
        store.begin_with("select pg_advisory_xact_lock(hashtext('signing_keys'));").await?;
    let latest = sqlx::query_scalar!(r#"select max(active_from) from signing_keys"#)
        .fetch_one(&mut *tx.0)
        .await?;
    if latest > newest {
        return Ok(());
    }
    tx.run(sqlx::query!(
        "insert into signing_keys (public_key, private_key, active_from) values ($1, $2, $3)",
        key.public.as_slice(),
        key.private,
        key.active_from
    ))
    .await?;
    tx.commit().await
}
