//! Users: people and agents.

use mc_contract::operations::user::User;
use mc_domain::UserId;

use crate::{Result, Store, Tx, sessions};

/// A user to add.
#[derive(Debug, Clone)]
pub struct NewUser<'a> {
    /// Login name.
    pub login: &'a str,
    /// Display name.
    pub name: &'a str,
    /// Email address.
    pub email: Option<&'a str>,
    /// Whether the user is an agent.
    pub is_agent: bool,
    /// Whether the user is a service administrator; an agent can't be.
    pub is_admin: bool,
}

/// Adds a user; [`crate::Error::AlreadyExists`] if the login is taken.
pub async fn create(tx: &mut Tx, user: &NewUser<'_>) -> Result<User> {
    Ok(sqlx::query_as!(
        User,
        "insert into users (id, login, name, email, is_agent, is_admin)
         values ($1, $2, $3, $4, $5, $6)
         returning id, login, name, email, is_agent, is_admin, created_at, disabled_at",
        UserId::generate().0,
        user.login,
        user.name,
        user.email,
        user.is_agent,
        user.is_admin
    )
    .fetch_one(&mut *tx.0)
    .await?)
}

/// An update of a user; `None` keeps a value.
#[derive(Debug, Clone, Default)]
pub struct UserUpdate<'a> {
    /// Display name.
    pub name: Option<&'a str>,
    /// Whether the user is a service administrator.
    pub is_admin: Option<bool>,
    /// Whether the user is disabled.
    pub is_disabled: Option<bool>,
}

/// Updates a user. A disabled user can't authenticate. After it is enabled again, its personal
/// access tokens work as before, but its sessions have ended: a stolen one stays invalid, and the
/// user signs in again.
pub async fn change(tx: &mut Tx, login: &str, change: &UserUpdate<'_>) -> Result<Option<User>> {
    let changed = sqlx::query_as!(
        User,
        "update users set name = coalesce($2, name), is_admin = coalesce($3, is_admin),
             disabled_at = case when $4 then coalesce(disabled_at, now())
                                when not $4 then null else disabled_at end
         where lower(login) = lower($1)
         returning id, login, name, email, is_agent, is_admin, created_at, disabled_at",
        login,
        change.name,
        change.is_admin,
        change.is_disabled
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    if let Some(user) = changed.as_ref().filter(|user| user.disabled_at.is_some()) {
        sessions::revoke_all(tx, user.id).await?;
    }
    Ok(changed)
}

/// Returns the user with this login.
pub async fn find(store: &Store, login: &str) -> Result<Option<User>> {
    Ok(sqlx::query_as!(
        User,
        "select id, login, name, email, is_agent, is_admin, created_at, disabled_at
         from users where lower(login) = lower($1)",
        login
    )
    .fetch_optional(&mut *store.plain().await?)
    .await?)
}

/// Returns users after a login, by login.
pub async fn list(store: &Store, after: &str, limit: i64) -> Result<Vec<User>> {
    Ok(sqlx::query_as!(
        User,
        "select id, login, name, email, is_agent, is_admin, created_at, disabled_at
         from users where lower(login) > lower($1) order by lower(login) limit $2",
        after,
        limit
    )
    .fetch_all(&mut *store.plain().await?)
    .await?)
}
