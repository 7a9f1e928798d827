//! Browser sessions: login at an identity provider, and a short session to approve devices.

use chrono::{TimeDelta, Utc};
use hmac::{Hmac, Mac as _};
use mc_auth::login::{
    self, AuthorizationRequest, Callback, ExternalIdentity, HostAccount, Pending, ProviderName,
};
use mc_auth::secret::{LoginState, RefreshToken};
use mc_contract::operations::user::User;
use mc_domain::{AuditAction, Scopes, SessionId, UserId};
use mc_store::sessions::{self, NewSession, Refresh};
use mc_store::{Tx, accounts};
use serde_json::json;
use sha2::Sha256;

use super::SignIn;
use crate::{Error, commit, invitations};

/// How long a browser session lasts.
pub const SESSION_LIFETIME: TimeDelta = TimeDelta::hours(8);
/// How long a login at a provider may take.
pub const LOGIN_LIFETIME: TimeDelta = login::LIFETIME;
/// Client id of browser sessions. Their secrets are exchanged for no token.
pub(super) const CLIENT: &str = "browser";

/// The outcome of a login at a provider.
#[derive(Debug)]
pub enum FinishedLogin {
    /// A session, by its secret.
    Session(RefreshToken),
    /// No account has the identity or, if known, its email address.
    NoAccount(Option<String>),
}

/// A browser session, identified by a cookie.
#[derive(Debug)]
pub struct BrowserSession {
    /// Id of the user who signed in.
    pub user: UserId,
    /// The scopes that the user can approve for devices.
    pub scopes: Scopes,
    /// The session's id.
    pub session: SessionId,
    /// The token for the forms of this session's pages.
    pub csrf_token: String,
}

impl BrowserSession {
    /// Whether a form comes from a page of this session; compared in constant time.
    pub fn is_csrf_token(&self, token: &str) -> bool {
        use subtle::ConstantTimeEq as _;
        self.csrf_token.as_bytes().ct_eq(token.as_bytes()).into()
    }
}

/// Starts a login at a provider, and stores its pending state encrypted.
pub async fn start_login(sign_in: &SignIn, provider: &str) -> Result<AuthorizationRequest, Error> {
    let name = ProviderName::parse(provider).map_err(|_| Error::UnknownProvider)?;
    let redirect_uri = sign_in.url(&format!("/auth/oauth/{name}/callback"));
    let request = sign_in.provider(&name).await?.start(&redirect_uri, Utc::now());
    let ciphertext = request.pending.encrypt(&sign_in.0.encryptor, &request.state);
    let (hash, expires_at) = (request.state.hash(), request.pending.expires_at());
    let (store, hash) = (sign_in.store(), hash.as_bytes());
    sessions::keep_pending(store, hash, name.as_str(), &ciphertext, expires_at).await?;
    Ok(request)
}

/// Finishes a login at a provider with the query of its redirect and the state that this browser
/// stored, and starts a session. A pending login is used once, whatever its outcome.
pub async fn finish_login(
    sign_in: &SignIn,
    provider: &str,
    query: &str,
    stored_state: Option<&str>,
) -> Result<FinishedLogin, Error> {
    let name = ProviderName::parse(provider).map_err(|_| Error::UnknownProvider)?;
    let provider = sign_in.provider(&name).await?;
    let callback = Callback::from_query(query)?;
    let state = callback.state();
    let stored_state = stored_state.and_then(LoginState::parse);
    if stored_state.is_none_or(|stored| stored.hash() != state.hash()) {
        sign_in.denials().token();
        return Err(login::Error::WrongState.into());
    }
    let ciphertext = sessions::take_pending(sign_in.store(), state.hash().as_bytes()).await?;
    let ciphertext = ciphertext.ok_or(login::Error::WrongState)?;
    let pending = Pending::decrypt(&sign_in.0.encryptor, state, &ciphertext)?;
    let identity = provider.finish(&callback, pending, Utc::now()).await?;
    let Some(user) = find_account(sign_in, &identity).await? else {
        sign_in.denials().token();
        return Ok(FinishedLogin::NoAccount(identity.email));
    };
    tracing::info!(user.id = %user.id, provider = %name, "signed in");
    if let Some(account) = &identity.account {
        verify_account(sign_in, user.id, account).await?;
    }
    let tx = sign_in.store().begin().await?;
    Ok(FinishedLogin::Session(start_session(tx, user.id).await?))
}

/// Starts a session with the code of an invitation, which is used up; `None` if it is not valid.
pub async fn accept_invitation(
    sign_in: &SignIn,
    code: &str,
) -> Result<Option<RefreshToken>, Error> {
    let mut tx = sign_in.store().begin().await?;
    let Some(user) = invitations::accept(&mut tx, code).await? else {
        sign_in.denials().token();
        return Ok(None);
    };
    Ok(Some(start_session(tx, user).await?))
}

/// Returns the enabled account that is linked to the identity. If there is none, the account that
/// an administrator created for its email address is linked. Accounts are never created by
/// signing in.
async fn find_account(
    sign_in: &SignIn,
    identity: &ExternalIdentity,
) -> Result<Option<User>, Error> {
    let (store, provider) = (sign_in.store(), identity.provider.as_str());
    let mut user = sessions::identified(store, provider, &identity.subject).await?;
    if let (None, Some(email)) = (&user, &identity.email) {
        user = sessions::invited(store, email).await?;
        if let Some(user) = &user {
            sessions::identify(store, provider, &identity.subject, user.id).await?;
        }
    }
    Ok(user.filter(|user| user.disabled_at.is_none()))
}

/// Stores the account at a git host with which the user signed in.
async fn verify_account(
    sign_in: &SignIn,
    user: UserId,
    HostAccount { host, login }: &HostAccount,
) -> Result<(), Error> {
    let mut tx = sign_in.store().begin().await?;
    if !accounts::verify_provider_login(&mut tx, user, host, login).await? {
        return Ok(());
    }
    let details = json!({ "change": "provider_login_verified", "host": host });
    commit(tx, user, AuditAction::UserChanged, user, details).await
}

async fn start_session(mut tx: Tx, user: UserId) -> Result<RefreshToken, Error> {
    let expires_at = Utc::now() + SESSION_LIFETIME;
    let secret = RefreshToken::generate();
    let new = NewSession { user, client: CLIENT, scopes: Scopes::ALL, expires_at };
    let session = sessions::begin(&mut tx, &new).await?.ok_or(Error::AccountDisabled)?;
    sessions::add_refresh(&mut tx, session, secret.hash().as_bytes(), expires_at).await?;
    commit(tx, user, AuditAction::SessionCreated, session, json!({ "client": CLIENT })).await?;
    Ok(secret)
}

/// Returns the browser session with this secret, if it is valid.
pub async fn find_session(sign_in: &SignIn, secret: &str) -> Result<Option<BrowserSession>, Error> {
    let Some(secret) = RefreshToken::parse(secret) else { return Ok(None) };
    let mut tx = sign_in.store().begin().await?;
    let row = sessions::refresh(&mut tx, secret.hash().as_bytes()).await?;
    let is_valid = |row: &Refresh| {
        let is_unused = row.used_at.is_none() && row.expires_at > Utc::now();
        row.client == CLIENT && !row.is_revoked && is_unused
    };
    Ok(row.filter(is_valid).map(|row| BrowserSession {
        user: row.user,
        scopes: row.scopes,
        session: row.session,
        csrf_token: csrf_token(&secret),
    }))
}

/// Revokes a browser session. Device logins that were approved in it stay.
pub async fn end_session(sign_in: &SignIn, session: &BrowserSession) -> Result<(), Error> {
    let mut tx = sign_in.store().begin().await?;
    sessions::revoke(&mut tx, session.session).await?;
    commit(
        tx,
        session.user,
        AuditAction::SessionRevoked,
        session.session,
        json!({ "client": CLIENT }),
    )
    .await
}

/// Derives the token of a session's forms from its secret, so that it is stored nowhere.
fn csrf_token(secret: &RefreshToken) -> String {
    let key = secret.expose().as_bytes();
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(b"memory-copilot form");
    hex::encode(mac.finalize().into_bytes())
}
