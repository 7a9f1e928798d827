//! Users.

use chrono::{DateTime, Utc};
use mc_domain::UserId;

use crate::{Error, Store, Tx, sessions};

/// A person, or a program that acts by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// Identifier.
    pub id: UserId,
    /// The name to come in with; unique whatever the case.
    pub login: String,
    /// Name for people; may be empty.
    pub name: String,
    /// Address; for people to see, never to decide by.
    pub email: Option<String>,
    /// A program: its role is nowhere above `agent`.
    pub is_agent: bool,
    /// Administers the service itself.
    pub is_admin: bool,
    /// Creation.
    pub created_at: DateTime<Utc>,
    /// Since when the user may no longer come in.
    pub disabled_at: Option<DateTime<Utc>>,
}

/// A user to add.
#[derive(Debug, Clone)]
pub struct NewUser<'a> {
    /// The name to come in with.
    pub login: &'a str,
    /// Name for people.
    pub name: &'a str,
    /// Address.
    pub email: Option<&'a str>,
    /// A program.
    pub is_agent: bool,
    /// Administers the service itself; no program does.
    pub is_admin: bool,
}

/// Adds a user; a login that is taken is [`Error::Exists`].
pub async fn create(tx: &mut Tx, user: &NewUser<'_>) -> Result<User, Error> {
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

/// What becomes of a user; what is `None` stays.
#[derive(Debug, Clone, Default)]
pub struct UserUpdate<'a> {
    /// Name for people.
    pub name: Option<&'a str>,
    /// Whether the user administers the service.
    pub is_admin: Option<bool>,
    /// Whether the user may no longer come in.
    pub is_disabled: Option<bool>,
}

/// Changes a user. Who is disabled comes in by nothing from that moment on. When enabled again, their
/// personal access tokens let them in as before; their sessions have ended for good, so that whoever had
/// got hold of one stays outside, and they sign in anew.
pub async fn change(
    tx: &mut Tx,
    login: &str,
    change: &UserUpdate<'_>,
) -> Result<Option<User>, Error> {
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

/// The user with this login.
pub async fn find(store: &Store, login: &str) -> Result<Option<User>, Error> {
    Ok(sqlx::query_as!(
        User,
        "select id, login, name, email, is_agent, is_admin, created_at, disabled_at
         from users where lower(login) = lower($1)",
        login
    )
    .fetch_optional(&mut *store.plain().await?)
    .await?)
}

/// Users after a login, by login.
pub async fn list(store: &Store, after: &str, limit: i64) -> Result<Vec<User>, Error> {
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
