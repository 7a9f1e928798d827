//! Logins at a terminal: device grants (RFC 8628).

use chrono::{DateTime, Utc};
use mc_domain::{Scopes, SessionId, UserId};

use crate::accounts::{SecretHash, read_scopes, scope_words};
use crate::{Error, Store, Tx};

/// What has become of a login that was begun at a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceState {
    /// Nobody has decided.
    Pending,
    /// Somebody agreed.
    Approved,
    /// Somebody refused.
    Denied,
    /// Its tokens were handed out.
    Consumed,
}

/// A login that was begun at a terminal.
#[derive(Debug, Clone)]
pub struct Device {
    /// The program that asks.
    pub client: String,
    /// What it asks for.
    pub requested_scopes: Scopes,
    /// When both codes expire.
    pub expires_at: DateTime<Utc>,
    /// Seconds between two polls.
    pub interval: i32,
    /// The last poll.
    pub last_polled_at: Option<DateTime<Utc>>,
    /// What has become of it.
    pub state: DeviceState,
    /// Who agreed.
    pub user: Option<UserId>,
    /// To what.
    pub scopes: Scopes,
    /// The session that its tokens are of.
    pub session: Option<SessionId>,
}

/// Which code a login is looked for by; both as hashes.
#[derive(Debug, Clone, Copy)]
pub enum DeviceCodeKey<'a> {
    /// The terminal's.
    Device(&'a SecretHash),
    /// The person's.
    User(&'a SecretHash),
}

/// Keeps a login that is begun.
pub async fn begin_device(
    store: &Store,
    device: &SecretHash,
    user_code: &SecretHash,
    grant: &Device,
) -> Result<(), Error> {
    sqlx::query!(
        "insert into device_grants (device_code_hash, user_code_hash, client, requested_scopes, expires_at,
             interval_seconds)
         values ($1, $2, $3, $4, $5, $6)",
        device.as_slice(),
        user_code.as_slice(),
        grant.client,
        &scope_words(grant.requested_scopes),
        grant.expires_at,
        grant.interval
    )
    .execute(&mut *store.plain().await?)
    .await?;
    Ok(())
}

/// The login with this code, locked until the transaction ends.
pub async fn device(tx: &mut Tx, code: DeviceCodeKey<'_>) -> Result<Option<Device>, Error> {
    let (device, user_code) = hashes(code);
    let row = sqlx::query!(
        "select client, requested_scopes, expires_at, interval_seconds, last_polled_at, state, user_id, scopes,
             session_id
         from device_grants where device_code_hash = $1 or user_code_hash = $2 for update",
        device,
        user_code
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    row.map(|row| {
        Ok(Device {
            client: row.client,
            requested_scopes: read_scopes(&row.requested_scopes)?,
            expires_at: row.expires_at,
            interval: row.interval_seconds,
            last_polled_at: row.last_polled_at,
            state: match row.state.as_str() {
                "approved" => DeviceState::Approved,
                "denied" => DeviceState::Denied,
                "consumed" => DeviceState::Consumed,
                _ => DeviceState::Pending,
            },
            user: row.user_id.map(UserId),
            scopes: read_scopes(&row.scopes)?,
            session: row.session_id.map(SessionId),
        })
    })
    .transpose()
}

/// Writes what has become of the login with this code.
pub async fn put_device(tx: &mut Tx, code: DeviceCodeKey<'_>, grant: &Device) -> Result<(), Error> {
    let (device, user_code) = hashes(code);
    let state = match grant.state {
        DeviceState::Pending => "pending",
        DeviceState::Approved => "approved",
        DeviceState::Denied => "denied",
        DeviceState::Consumed => "consumed",
    };
    sqlx::query!(
        "update device_grants set interval_seconds = $3, last_polled_at = $4, state = $5, user_id = $6,
             scopes = $7, session_id = $8
         where device_code_hash = $1 or user_code_hash = $2",
        device,
        user_code,
        grant.interval,
        grant.last_polled_at,
        state,
        grant.user.map(|user| user.0),
        &scope_words(grant.scopes),
        grant.session.map(|session| session.0)
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(())
}

fn hashes(code: DeviceCodeKey<'_>) -> (Option<&[u8]>, Option<&[u8]>) {
    match code {
        DeviceCodeKey::Device(hash) => (Some(hash.as_slice()), None),
        DeviceCodeKey::User(hash) => (None, Some(hash.as_slice())),
    }
}
