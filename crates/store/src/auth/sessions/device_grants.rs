//! Device grants (RFC 8628): logins at a terminal.

use chrono::{DateTime, Utc};
use mc_domain::{Scopes, SessionId, UserId};

use crate::accounts::{SecretHash, read_scopes, scope_words};
use crate::{Result, Store, Tx};

/// State of a device grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceState {
    /// Not decided.
    Pending,
    /// Approved by a user.
    Approved,
    /// Denied by a user.
    Denied,
    /// Exchanged for tokens.
    Consumed,
}

/// A device grant.
#[derive(Debug, Clone)]
pub struct DeviceGrant {
    /// The client program.
    pub client: String,
    /// Scopes that the client requested.
    pub requested_scopes: Scopes,
    /// Expiry of both codes.
    pub expires_at: DateTime<Utc>,
    /// Least seconds between two polls.
    pub interval: i32,
    /// Time of the last poll.
    pub last_polled_at: Option<DateTime<Utc>>,
    /// Pending, approved, denied or consumed.
    pub state: DeviceState,
    /// The user who approved it.
    pub user: Option<UserId>,
    /// Approved scopes.
    pub scopes: Scopes,
    /// The session of its tokens.
    pub session: Option<SessionId>,
}

/// The code by which a device grant is found, as a hash.
#[derive(Debug, Clone, Copy)]
pub enum DeviceCodeKey<'a> {
    /// Hash of the device code, which the client has.
    Device(&'a SecretHash),
    /// Hash of the user code, which the user types.
    User(&'a SecretHash),
}

/// Stores a device grant.
pub async fn begin_device(
    store: &Store,
    device: &SecretHash,
    user_code: &SecretHash,
    grant: &DeviceGrant,
) -> Result<()> {
    sqlx::query!(
        "insert into device_grants (device_code_hash, user_code_hash, client, requested_scopes,
             expires_at,
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

/// Returns the device grant with this code, locked until the transaction ends.
pub async fn device(tx: &mut Tx, code: DeviceCodeKey<'_>) -> Result<Option<DeviceGrant>> {
    let (device, user_code) = hashes(code);
    let row = sqlx::query!(
        "select client, requested_scopes, expires_at, interval_seconds, last_polled_at, state,
             user_id, scopes,
             session_id
         from device_grants where device_code_hash = $1 or user_code_hash = $2 for update",
        device,
        user_code
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let state = match row.state.as_str() {
        "approved" => DeviceState::Approved,
        "denied" => DeviceState::Denied,
        "consumed" => DeviceState::Consumed,
        _ => DeviceState::Pending,
    };
    Ok(Some(DeviceGrant {
        client: row.client,
        requested_scopes: read_scopes(&row.requested_scopes)?,
        expires_at: row.expires_at,
        interval: row.interval_seconds,
        last_polled_at: row.last_polled_at,
        state,
        user: row.user_id.map(UserId),
        scopes: read_scopes(&row.scopes)?,
        session: row.session_id.map(SessionId),
    }))
}

/// Updates the device grant with this code.
pub async fn put_device(tx: &mut Tx, code: DeviceCodeKey<'_>, grant: &DeviceGrant) -> Result<()> {
    let (device, user_code) = hashes(code);
    let state = match grant.state {
        DeviceState::Pending => "pending",
        DeviceState::Approved => "approved",
        DeviceState::Denied => "denied",
        DeviceState::Consumed => "consumed",
    };
    tx.run(sqlx::query!(
        "update device_grants set interval_seconds = $3, last_polled_at = $4, state = $5,
             user_id = $6,
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
    ))
    .await
}

fn hashes(code: DeviceCodeKey<'_>) -> (Option<&[u8]>, Option<&[u8]>) {
    match code {
        DeviceCodeKey::Device(hash) => (Some(hash.as_slice()), None),
        DeviceCodeKey::User(hash) => (None, Some(hash.as_slice())),
    }
}
