//! Invitations: how a person comes in without an identity provider. An administrator creates the
//! account and sends the person a code, which signs in once.

use chrono::{DateTime, TimeDelta, Utc};
use mc_auth::secret::InvitationCode;
use mc_contract::operations::user::{CreateInvitation, User};
use mc_domain::{AuditAction, UserId};
use mc_store::{Store, Tx, invitations, sessions};
use serde_json::json;

use crate::{Error, Principal, commit, users};

/// Creates an invitation of a person, which replaces the former one.
pub async fn create(
    store: &Store,
    principal: &Principal,
    login: &str,
    request: &CreateInvitation,
) -> Result<(User, InvitationCode, DateTime<Utc>), Error> {
    let user = users::get(store, login).await?;
    if user.is_agent {
        return Err(Error::InvitedAgent);
    }
    if user.disabled_at.is_some() {
        return Err(Error::InvitedDisabled);
    }
    let expires_at =
        Utc::now() + TimeDelta::days(request.expires_in_days.unwrap_or_default().get());
    let code = InvitationCode::generate();
    let mut tx = store.begin().await?;
    invitations::put(&mut tx, user.id, code.hash().as_bytes(), principal.user, expires_at).await?;
    let details = json!({ "expires_at": expires_at });
    commit(tx, principal.user, AuditAction::UserInvited, user.id, details).await?;
    Ok((user, code, expires_at))
}

/// Uses an invitation up and returns its user; `None` if the code is not valid. It ends all
/// sessions of the user, so that nobody takes over an account in use without being noticed.
pub(crate) async fn accept(tx: &mut Tx, code: &str) -> Result<Option<UserId>, Error> {
    let Some(code) = InvitationCode::parse(code.trim()) else { return Ok(None) };
    let hash = code.hash();
    let Some(user) = invitations::find(tx, hash.as_bytes()).await? else { return Ok(None) };
    // Locks the user before the invitation, as off-boarding does.
    sessions::revoke_all(tx, user).await?;
    Ok(invitations::consume(tx, hash.as_bytes()).await?.then_some(user))
}
