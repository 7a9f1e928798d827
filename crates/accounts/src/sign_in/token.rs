//! Exchange of grants for access tokens (RFC 6749, RFC 8628, RFC 8693), and revocation (RFC 7009).

use chrono::{DateTime, Utc};
use mc_auth::client::{ClientId, InvalidClientId};
use mc_auth::jwt::Grant;
use mc_auth::secret::{DeviceCode, PersonalAccessToken, RefreshToken};
use mc_domain::{AuditAction, Scopes, SessionId, UserId};
use mc_store::audit::{self, Chain, NewEvent};
use mc_store::sessions::{self, DeviceCodeKey, DeviceGrant, NewSession};
use mc_store::{Tx, accounts};
use secrecy::SecretString;
use serde_json::{Value, json};

use super::device_grant::{self, Answer};
use super::refresh::{self, Verdict};
use super::{SignIn, browser};
use crate::{Error, Principal, commit, invitations};

/// Client id of the command line, which is the default.
const CLI: &str = "memory-copilot-cli";
/// Error code of a grant that is not valid (RFC 6749, section 5.2).
pub const INVALID_GRANT: &str = "invalid_grant";

/// A grant to exchange for an access token.
#[derive(Debug)]
pub enum TokenGrant {
    /// The text of a refresh token, which is rotated.
    RefreshToken(String),
    /// The code of a device login.
    DeviceCode(String),
    /// The code of an invitation, which is used up.
    Invitation(String),
    /// The owner of a personal access token (token exchange), from [`find_subject`].
    PersonalAccessToken(Principal),
}

/// An access token, with the refresh token of a session.
#[derive(Debug)]
pub struct IssuedTokens {
    /// The access token, a JWT of 15 minutes.
    pub access_token: SecretString,
    /// When the access token expires.
    pub expires_at: DateTime<Utc>,
    /// Scopes of the access token.
    pub scopes: Scopes,
    /// The refresh token for the next exchange.
    pub refresh_token: Option<RefreshToken>,
}

/// Why a grant yields no token.
#[derive(Debug, thiserror::Error)]
pub enum GrantError {
    /// The client id is malformed.
    #[error(transparent)]
    InvalidClient(#[from] InvalidClientId),
    /// The client id is the service's own.
    #[error("this client id is reserved for the service")]
    ReservedClient,
    /// More scopes are requested than the grant has.
    #[error("the grant has only the scopes: {0}")]
    ExcessiveScopes(Scopes),
    /// The grant is unknown, used, revoked or expired.
    #[error("the grant is not valid, or no longer; sign in again")]
    InvalidGrant,
    /// A device login yields no token, or not yet.
    #[error("{}", describe(*.0))]
    Device(Answer),
    /// The service failed.
    #[error(transparent)]
    Failed(#[from] Error),
}

impl GrantError {
    /// Returns the error code of the protocol; `None` if the service failed.
    pub fn code(&self) -> Option<&'static str> {
        match self {
            Self::InvalidClient(_) | Self::ReservedClient => Some("invalid_client"),
            Self::ExcessiveScopes(_) => Some("invalid_scope"),
            Self::InvalidGrant => Some(INVALID_GRANT),
            Self::Device(answer) => answer.error().or(Some(INVALID_GRANT)),
            Self::Failed(_) => None,
        }
    }
}

impl From<mc_store::Error> for GrantError {
    fn from(error: mc_store::Error) -> Self {
        Self::Failed(error.into())
    }
}

fn describe(answer: Answer) -> &'static str {
    match answer {
        Answer::Pending => "the login waits for a decision",
        Answer::SlowDown => "poll less often",
        Answer::Denied => "the login was denied",
        Answer::Expired => "the code has expired; start the login again",
        _ => "the code is not valid, or no longer; start the login again",
    }
}

/// Parses the id of a client; without one it is the command line.
pub fn parse_client(id: Option<&str>) -> Result<ClientId, GrantError> {
    let client = ClientId::parse(id.unwrap_or(CLI))?;
    if client.as_str() == browser::CLIENT {
        return Err(GrantError::ReservedClient);
    }
    Ok(client)
}

/// Exchanges a grant for an access token. An invalid grant is counted as a denial.
pub async fn exchange(
    sign_in: &SignIn,
    client: ClientId,
    grant: &TokenGrant,
    scopes: Option<Scopes>,
) -> Result<IssuedTokens, GrantError> {
    let issued = match grant {
        TokenGrant::RefreshToken(token) => rotate(sign_in, client, token, scopes).await,
        TokenGrant::DeviceCode(code) => poll_device_login(sign_in, client, code).await,
        TokenGrant::Invitation(code) => accept_invitation(sign_in, client, code, scopes).await,
        TokenGrant::PersonalAccessToken(subject) => {
            exchange_access_token(sign_in, client, subject, scopes).await
        }
    };
    if issued.as_ref().is_err_and(|error| error.code() == Some(INVALID_GRANT)) {
        sign_in.denials().token();
    }
    issued
}

/// Rotates a refresh token. A used one was stolen by someone, so its session is revoked.
async fn rotate(
    sign_in: &SignIn,
    client: ClientId,
    token: &str,
    scopes: Option<Scopes>,
) -> Result<IssuedTokens, GrantError> {
    let hash = RefreshToken::parse(token).ok_or(GrantError::InvalidGrant)?.hash();
    let hash = hash.as_bytes();
    let mut tx = sign_in.store().begin().await?;
    let row = sessions::refresh(&mut tx, hash).await?.ok_or(GrantError::InvalidGrant)?;
    match refresh::judge(&row, &client, scopes, Utc::now()) {
        Verdict::Rotate { scopes, next_expires_at } => {
            let next = RefreshToken::generate();
            sessions::spend(&mut tx, hash).await?;
            sessions::add_refresh(&mut tx, row.session, next.hash().as_bytes(), next_expires_at)
                .await?;
            let (user, session) = (row.user, row.session);
            let session_ends_at = Some(row.session_expires_at);
            let grant = Grant { user, client, session, scopes, session_ends_at };
            // Issued before the commit: if that fails, the old refresh token stays valid.
            let issued = sign_in.issue(grant, Some(next)).await?;
            tx.commit().await?;
            Ok(issued)
        }
        Verdict::Refuse(_) => Err(GrantError::InvalidGrant),
        Verdict::RevokeFamily(reuse) => {
            revoke_reused(&mut tx, row.session, Some(row.user), "a refresh token was reused")
                .await?;
            tx.commit().await?;
            tracing::warn!(
                session.id = %row.session, ?reuse,
                "refresh token reused; session revoked"
            );
            Err(GrantError::InvalidGrant)
        }
        Verdict::BeyondScope => Err(GrantError::ExcessiveScopes(row.scopes)),
    }
}

/// Answers the poll of a device: with tokens once a person has approved the login. A code that was
/// redeemed before revokes the session, as a reused refresh token does.
async fn poll_device_login(
    sign_in: &SignIn,
    client: ClientId,
    code: &str,
) -> Result<IssuedTokens, GrantError> {
    let hash = DeviceCode::parse(code).ok_or(GrantError::InvalidGrant)?.hash();
    let key = DeviceCodeKey::Device(hash.as_bytes());
    let mut tx = sign_in.store().begin().await?;
    let mut row = sessions::device(&mut tx, key).await?.ok_or(GrantError::InvalidGrant)?;
    let answer = device_grant::poll(&mut row, &client, Utc::now());
    if let Answer::Redeem { user, scopes } = answer {
        return redeem(sign_in, tx, key, row, client, user, scopes).await;
    }
    if let (Answer::Replayed, Some(session)) = (answer, row.session)
        && revoke_reused(&mut tx, session, row.user, "a device code was reused").await?
    {
        tracing::warn!(session.id = %session, "device code reused; session revoked");
    }
    sessions::put_device(&mut tx, key, &row).await?;
    tx.commit().await?;
    Err(GrantError::Device(answer))
}

/// Starts the session of an approved device login.
async fn redeem(
    sign_in: &SignIn,
    mut tx: Tx,
    key: DeviceCodeKey<'_>,
    mut row: DeviceGrant,
    client: ClientId,
    user: UserId,
    scopes: Scopes,
) -> Result<IssuedTokens, GrantError> {
    let details = session_details(&client, scopes);
    let (session, issued) = begin_session(sign_in, &mut tx, client, user, scopes).await?;
    row.session = Some(session);
    sessions::put_device(&mut tx, key, &row).await?;
    commit(tx, user, AuditAction::SessionCreated, session, details).await?;
    Ok(issued)
}

/// Starts the session of an invited person, who has just typed the code. Without named scopes, it
/// has all.
async fn accept_invitation(
    sign_in: &SignIn,
    client: ClientId,
    code: &str,
    scopes: Option<Scopes>,
) -> Result<IssuedTokens, GrantError> {
    let scopes = scopes.unwrap_or(Scopes::ALL);
    let mut tx = sign_in.store().begin().await?;
    let user = invitations::accept(&mut tx, code).await?.ok_or(GrantError::InvalidGrant)?;
    let mut details = session_details(&client, scopes);
    details["invitation"] = true.into();
    let (session, issued) = begin_session(sign_in, &mut tx, client, user, scopes).await?;
    commit(tx, user, AuditAction::SessionCreated, session, details).await?;
    Ok(issued)
}

/// Starts a session in a transaction that has locked its grant or user, and issues its first
/// tokens.
async fn begin_session(
    sign_in: &SignIn,
    tx: &mut Tx,
    client: ClientId,
    user: UserId,
    scopes: Scopes,
) -> Result<(SessionId, IssuedTokens), GrantError> {
    let now = Utc::now();
    let ends_at = now + refresh::FAMILY;
    let token = RefreshToken::generate();
    let new = NewSession { user, client: client.as_str(), scopes, expires_at: ends_at };
    let session = sessions::begin_granted(tx, &new).await?;
    let session = session.ok_or(GrantError::InvalidGrant)?;
    let expires_at = refresh::expiry(now, ends_at);
    sessions::add_refresh(tx, session, token.hash().as_bytes(), expires_at).await?;
    let grant = Grant { user, client, session, scopes, session_ends_at: Some(ends_at) };
    Ok((session, sign_in.issue(grant, Some(token)).await?))
}

/// Returns the owner of a personal access token to exchange. An invalid token is counted as a
/// denial.
pub async fn find_subject(sign_in: &SignIn, token: &str) -> Result<Principal, GrantError> {
    let hash = PersonalAccessToken::parse(token).map(|token| token.hash());
    let owner = match &hash {
        Some(hash) => accounts::holder(sign_in.store(), hash.as_bytes()).await?,
        None => None,
    };
    owner.map(Principal::from).ok_or_else(|| {
        sign_in.denials().token();
        GrantError::InvalidGrant
    })
}

/// Exchanges a personal access token. Its id is the session, so both are revoked together.
async fn exchange_access_token(
    sign_in: &SignIn,
    client: ClientId,
    subject: &Principal,
    scopes: Option<Scopes>,
) -> Result<IssuedTokens, GrantError> {
    let scopes = scopes.unwrap_or(subject.scopes());
    if !scopes.is_subset_of(subject.scopes()) {
        return Err(GrantError::ExcessiveScopes(subject.scopes()));
    }
    let (user, session) = (subject.user, SessionId(subject.credential().0));
    let details = session_details(&client, scopes);
    let event = NewEvent::new(AuditAction::SessionCreated, session).with(details);
    let grant = Grant { user, client, session, scopes, session_ends_at: None };
    let issued = sign_in.issue(grant, None).await?;
    audit::record_in_own_tx(sign_in.store(), Chain::Service, Some(user), &[event]).await?;
    Ok(issued)
}

/// Revokes the session of a refresh token. An unknown token is no error.
pub async fn revoke(sign_in: &SignIn, token: &str) -> Result<(), Error> {
    let Some(token) = RefreshToken::parse(token) else { return Ok(()) };
    let mut tx = sign_in.store().begin().await?;
    let Some(row) = sessions::refresh(&mut tx, token.hash().as_bytes()).await? else {
        return Ok(());
    };
    if !sessions::revoke(&mut tx, row.session).await? {
        // Revoked before: another event for each call would let its caller fill the audit.
        return Ok(());
    }
    commit(tx, row.user, AuditAction::SessionRevoked, row.session, json!({})).await
}

/// Revokes the session of a grant that was used twice. Returns `false` if it was revoked before:
/// each later use is counted as a denial, and has no event of its own.
async fn revoke_reused(
    tx: &mut Tx,
    session: SessionId,
    user: Option<UserId>,
    reason: &str,
) -> Result<bool, Error> {
    if !sessions::revoke(tx, session).await? {
        return Ok(false);
    }
    let details = json!({ "reason": reason, "session_revoked": true });
    let event = NewEvent::new(AuditAction::AccessDenied, session).with(details);
    audit::add(tx, Chain::Service, user, &[event]);
    Ok(true)
}

fn session_details(client: &ClientId, scopes: Scopes) -> Value {
    json!({ "client": client.as_str(), "scopes": scopes.to_string() })
}
