//! Personal access tokens.

use chrono::{TimeDelta, Utc};
use mc_auth::secret::{PersonalAccessToken, hint};
use mc_contract::operations::token::{AccessToken, CreateToken};
use mc_contract::text::Login;
use mc_domain::{AuditAction, Scopes, TokenId, UserId};
use mc_store::accounts::{self, NewToken};
use mc_store::{Store, sessions};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::{Error, Principal, commit, users};

/// Creates a personal access token. Service administrators may create tokens for agents.
pub async fn create(
    store: &Store,
    principal: &Principal,
    request: &CreateToken,
) -> Result<(PersonalAccessToken, AccessToken), Error> {
    let scopes: Scopes = request.scopes.iter().copied().collect();
    if !scopes.is_subset_of(principal.scopes()) {
        return Err(Error::ExcessiveScopes(principal.scopes()));
    }
    let user = owner(store, principal, request.agent_login.as_ref()).await?;
    let lifetime = TimeDelta::days(request.expires_in_days.unwrap_or_default().get());
    let secret = PersonalAccessToken::generate();
    let hash = secret.hash();
    let new = NewToken {
        user,
        name: request.name.as_str(),
        hash: hash.as_bytes(),
        hint: hint(secret.expose()),
        scopes,
        expires_at: Some(Utc::now() + lifetime),
    };
    let mut tx = store.begin().await?;
    // A credential that was revoked while the request was read creates no other.
    if !sessions::is_credential_valid(&mut tx, principal.user, principal.credential()).await? {
        return Err(Error::CredentialRevoked);
    }
    let token = accounts::create_token(&mut tx, &new).await?;
    let details = json!({ "user": user, "scopes": scopes, "expires_at": token.expires_at });
    commit(tx, principal.user, AuditAction::TokenCreated, token.id, details).await?;
    Ok((secret, token))
}

async fn owner(
    store: &Store,
    principal: &Principal,
    agent_login: Option<&Login>,
) -> Result<UserId, Error> {
    let Some(login) = agent_login else { return Ok(principal.user) };
    principal.require_service_admin()?;
    let user = users::get(store, login.as_str()).await?;
    if user.is_agent { Ok(user.id) } else { Err(Error::TokenForPerson) }
}

/// Lists the principal's tokens, newest first; for service administrators those of any user.
pub async fn list(
    store: &Store,
    principal: &Principal,
    login: Option<&str>,
) -> Result<Vec<AccessToken>, Error> {
    let user = match login {
        None => principal.user,
        Some(login) => users::own_or_administered(store, principal, login).await?,
    };
    Ok(accounts::tokens(store, user).await?)
}

/// Revokes a token of the principal at once; for service administrators a token of any user.
pub async fn revoke(store: &Store, principal: &Principal, id: TokenId) -> Result<(), Error> {
    let mut tx = store.begin().await?;
    let owner = if accounts::revoke(&mut tx, principal.user, id).await? {
        Some(principal.user)
    } else if principal.is_service_admin() {
        accounts::revoke_any(&mut tx, id).await?
    } else {
        None
    };
    let owner = owner.ok_or(Error::UnknownToken)?;
    commit(tx, principal.user, AuditAction::TokenRevoked, id, json!({ "user": owner })).await
}

/// Replaces the local token of a node, which is a host with a data directory.
pub async fn set_local(store: &Store, node: &str, secret: &str) -> Result<(), Error> {
    let hash = Sha256::digest(secret).into();
    Ok(accounts::set_local_token(store, node, &hash, hint(secret)).await?)
}
