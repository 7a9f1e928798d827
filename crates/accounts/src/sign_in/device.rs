//! Device logins (RFC 8628): a terminal shows a code, and a person approves it elsewhere.

use chrono::{TimeDelta, Utc};
use mc_auth::client::ClientId;
use mc_auth::secret::{DeviceCode, UserCode};
use mc_domain::{AuditAction, Scope, Scopes, TokenId, UserId};
use mc_store::sessions::{self, DeviceCodeKey, DeviceGrant, DeviceState};
use serde_json::json;

use super::browser::BrowserSession;
use super::{DecisionError, SignIn, device_grant};
use crate::{Error, Principal, commit};

/// How long a person has to decide.
pub const LIFETIME: TimeDelta = device_grant::LIFETIME;
/// Scopes of a login that requests none: daily work without administration.
const DEFAULT_SCOPES: [Scope; 3] = [Scope::MemoryRead, Scope::MemoryWrite, Scope::Ingest];

/// A started device login, with the codes of RFC 8628.
#[derive(Debug)]
pub struct StartedDeviceLogin {
    /// The code with which the device polls.
    pub device_code: DeviceCode,
    /// The code that the device shows.
    pub user_code: UserCode,
    /// Seconds between two polls.
    pub interval_seconds: u32,
}

/// A device login that waits for a decision.
#[derive(Debug)]
pub struct PendingDeviceLogin {
    /// The client id of the program on the device.
    pub client: String,
    /// The scopes that it requests.
    pub scopes: Scopes,
}

/// A decision about a device login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Sign the device in with these scopes, as far as it requests them and the decider has them.
    /// `None` is every scope except [`Scopes::BY_NAME_ONLY`].
    Approve(Option<Scopes>),
    /// Do not sign the device in.
    Deny,
}

/// The user who decides about a device login, and the credential for that.
#[derive(Debug, Clone, Copy)]
pub struct Decider {
    user: UserId,
    credential: TokenId,
    scopes: Scopes,
}

impl From<&Principal> for Decider {
    fn from(principal: &Principal) -> Self {
        let (user, credential) = (principal.user, principal.credential());
        Self { user, credential, scopes: principal.scopes() }
    }
}

impl From<&BrowserSession> for Decider {
    fn from(session: &BrowserSession) -> Self {
        let credential = session.session.0.into();
        Self { user: session.user, credential, scopes: session.scopes }
    }
}

/// Starts a device login.
pub async fn start(
    sign_in: &SignIn,
    client: &ClientId,
    scopes: Option<Scopes>,
) -> Result<StartedDeviceLogin, Error> {
    let scopes = scopes.unwrap_or_else(|| DEFAULT_SCOPES.into_iter().collect());
    let row = device_grant::begin(client, scopes, Utc::now());
    let (device_code, user_code) = (DeviceCode::generate(), UserCode::generate());
    let (device_hash, user_hash) = (device_code.hash(), user_code.hash());
    let (device_hash, user_hash) = (device_hash.as_bytes(), user_hash.as_bytes());
    sessions::begin_device(sign_in.store(), device_hash, user_hash, &row).await?;
    let interval_seconds = row.interval.unsigned_abs();
    Ok(StartedDeviceLogin { device_code, user_code, interval_seconds })
}

/// Returns the device login with this user code, if it waits for a decision.
pub async fn find_pending(
    sign_in: &SignIn,
    code: &UserCode,
) -> Result<Option<PendingDeviceLogin>, Error> {
    let hash = code.hash();
    let mut tx = sign_in.store().begin().await?;
    let row = sessions::device(&mut tx, DeviceCodeKey::User(hash.as_bytes())).await?;
    let is_pending =
        |row: &DeviceGrant| row.state == DeviceState::Pending && row.expires_at > Utc::now();
    let row = row.filter(is_pending);
    Ok(row.map(|row| PendingDeviceLogin { client: row.client, scopes: row.requested_scopes }))
}

/// Approves a device login with at most the decider's scopes, or denies it. An approval without a
/// common scope also denies it, and returns [`DecisionError::NoCommonScope`].
pub async fn decide(
    sign_in: &SignIn,
    code: &UserCode,
    decider: Decider,
    decision: Decision,
) -> Result<(), Error> {
    let hash = code.hash();
    let key = DeviceCodeKey::User(hash.as_bytes());
    let mut tx = sign_in.store().begin().await?;
    let mut row = sessions::device(&mut tx, key).await?.ok_or(Error::UnknownUserCode)?;
    let outcome = match decision {
        Decision::Approve(named) => {
            let named = named.unwrap_or(Scopes::ALL.without(Scopes::BY_NAME_ONLY));
            device_grant::approve(&mut row, decider.user, decider.scopes, named, Utc::now())
        }
        Decision::Deny => device_grant::deny(&mut row, Utc::now()),
    };
    // An approval that can grant nothing is a denial, which is stored.
    if let Err(error) = outcome
        && !matches!(error, DecisionError::NoCommonScope { .. })
    {
        return Err(error.into());
    }
    // After the row is locked: a revocation of all sessions denies approved logins, and must not
    // wait for a login that still waits for a decision.
    if !sessions::is_credential_valid(&mut tx, decider.user, decider.credential).await? {
        return Err(Error::CredentialRevoked);
    }
    sessions::put_device(&mut tx, key, &row).await?;
    let is_approved = row.state == DeviceState::Approved;
    let details = json!({ "approved": is_approved, "client": row.client });
    commit(tx, decider.user, AuditAction::DeviceLoginDecided, "device", details).await?;
    Ok(outcome?)
}
