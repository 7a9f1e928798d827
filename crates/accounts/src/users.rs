//! Users of the service.

use mc_contract::operations::user::{
    CreateUser, ProviderLogin, SetProviderLogin, UpdateUser, User,
};
use mc_contract::text::{DisplayName, Email, ProviderHost};
use mc_domain::{AuditAction, UserId};
use mc_store::accounts::{self, NewUser, UserUpdate};
use mc_store::{Store, sessions};
use serde_json::json;

use crate::{Error, Principal, commit};

/// Creates a user.
pub async fn create(
    store: &Store,
    principal: &Principal,
    request: &CreateUser,
) -> Result<User, Error> {
    let new = NewUser {
        login: request.login.as_str(),
        name: request.name.as_ref().map_or("", DisplayName::as_str),
        email: request.email.as_ref().map(Email::as_str),
        is_agent: request.is_agent,
        is_admin: request.is_admin,
    };
    let mut tx = store.begin().await?;
    let user = accounts::create(&mut tx, &new).await.map_err(Error::exists_in("login"))?;
    let details =
        json!({ "change": "added", "is_agent": user.is_agent, "is_admin": user.is_admin });
    commit(tx, principal.user, AuditAction::UserChanged, user.id, details).await?;
    Ok(user)
}

/// Updates a user. Disabling an account revokes its sessions permanently; its access tokens
/// work again once the account is enabled. Administrators can't disable or demote themselves.
pub async fn update(
    store: &Store,
    principal: &Principal,
    login: &str,
    request: &UpdateUser,
) -> Result<User, Error> {
    let user = get(store, login).await?;
    if user.is_agent && request.is_admin == Some(true) {
        return Err(Error::AgentAsAdmin);
    }
    let gives_up_access = request.is_disabled == Some(true) || request.is_admin == Some(false);
    if user.id == principal.user && gives_up_access {
        return Err(Error::OwnAccount);
    }
    let update = UserUpdate {
        name: request.name.as_ref().map(DisplayName::as_str),
        is_admin: request.is_admin,
        is_disabled: request.is_disabled,
    };
    let mut tx = store.begin().await?;
    let user = accounts::change(&mut tx, login, &update).await?;
    let user = user.ok_or_else(|| Error::UnknownUser(login.to_owned()))?;
    let is_disabled = user.disabled_at.is_some();
    let details = json!({ "is_admin": user.is_admin, "is_disabled": is_disabled });
    commit(tx, principal.user, AuditAction::UserChanged, user.id, details).await?;
    Ok(user)
}

/// Revokes all sessions of a user and the device logins that the user approved and no device has
/// fetched. Users do that for themselves, service administrators for anyone.
pub async fn revoke_sessions(
    store: &Store,
    principal: &Principal,
    login: &str,
) -> Result<(), Error> {
    let user = own_or_administered(store, principal, login).await?;
    let mut tx = store.begin().await?;
    let count = sessions::revoke_all(&mut tx, user).await?;
    commit(tx, principal.user, AuditAction::SessionRevoked, user, json!({ "sessions": count }))
        .await
}

/// Lists the logins of a user at providers. Users do that for themselves, service administrators
/// for anyone.
pub async fn list_provider_logins(
    store: &Store,
    principal: &Principal,
    login: &str,
) -> Result<Vec<ProviderLogin>, Error> {
    let user = own_or_administered(store, principal, login).await?;
    Ok(accounts::list_provider_logins(store, user).await?)
}

/// Sets the login of a user at a provider. Callers require a service administrator: a user could
/// claim the pull requests of another.
pub async fn set_provider_login(
    store: &Store,
    principal: &Principal,
    (login, host): (&str, &ProviderHost),
    request: &SetProviderLogin,
) -> Result<ProviderLogin, Error> {
    let user = get(store, login).await?;
    if user.disabled_at.is_some() {
        return Err(Error::LoginOfDisabled(user.login));
    }
    let user = user.id;
    let (host, name) = (host.as_str(), request.login.as_str());
    let mut tx = store.begin().await?;
    let set = accounts::set_provider_login(&mut tx, user, host, name, principal.user).await;
    let set = set.map_err(Error::exists_in("login"))?;
    let details = json!({ "change": "provider_login_set", "host": host });
    commit(tx, principal.user, AuditAction::UserChanged, user, details).await?;
    Ok(set)
}

/// Deletes the login of a user at a provider. Users do that for themselves, service administrators
/// for anyone; the next sign-in with it sets it again.
pub async fn delete_provider_login(
    store: &Store,
    principal: &Principal,
    (login, host): (&str, &ProviderHost),
) -> Result<(), Error> {
    let user = own_or_administered(store, principal, login).await?;
    let mut tx = store.begin().await?;
    if !accounts::delete_provider_login(&mut tx, user, host.as_str()).await? {
        return Err(Error::NoProviderLogin(host.as_str().to_owned()));
    }
    let details = json!({ "change": "provider_login_deleted", "host": host.as_str() });
    commit(tx, principal.user, AuditAction::UserChanged, user, details).await
}

/// Returns the user with this login.
pub async fn get(store: &Store, login: &str) -> Result<User, Error> {
    let user = accounts::find(store, login).await?;
    user.ok_or_else(|| Error::UnknownUser(login.to_owned()))
}

/// Returns the id to filter by; an unused id for an unknown login, which callers do not learn.
pub async fn filter_id(store: &Store, login: &str) -> Result<UserId, Error> {
    let user = accounts::find(store, login).await?;
    Ok(user.map_or(UserId(uuid::Uuid::max()), |user| user.id))
}

/// Returns the id of a user that the principal may act for: the principal itself, or any user for
/// service administrators. Others do not learn whether the login exists.
pub(crate) async fn own_or_administered(
    store: &Store,
    principal: &Principal,
    login: &str,
) -> Result<UserId, Error> {
    if principal.name().eq_ignore_ascii_case(login) {
        return Ok(principal.user);
    }
    principal.require_service_admin()?;
    Ok(get(store, login).await?.id)
}
