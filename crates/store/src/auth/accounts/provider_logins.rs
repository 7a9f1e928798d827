//! Logins of users at providers, to tie authors of pull requests to users.

use mc_contract::operations::user::ProviderLogin;
use mc_domain::UserId;

use crate::{Result, Store, Tx};

/// Returns the logins of a user, by host.
pub async fn list_provider_logins(store: &Store, user: UserId) -> Result<Vec<ProviderLogin>> {
    Ok(sqlx::query_as!(
        ProviderLogin,
        r#"select host, login, created_by is null as "is_verified!", created_at
           from provider_logins where user_id = $1 order by host"#,
        user.0
    )
    .fetch_all(&mut *store.plain().await?)
    .await?)
}

/// Sets the login of a user at a host, as an administrator states it;
/// [`crate::Error::AlreadyExists`] if it is another user's.
pub async fn set_provider_login(
    tx: &mut Tx,
    user: UserId,
    host: &str,
    login: &str,
    created_by: UserId,
) -> Result<ProviderLogin> {
    Ok(sqlx::query_as!(
        ProviderLogin,
        r#"insert into provider_logins (user_id, host, login, created_by) values ($1, $2, $3, $4)
           on conflict (user_id, host) do update set login = excluded.login,
               created_by = excluded.created_by, created_at = now()
           returning host, login, created_by is null as "is_verified!", created_at"#,
        user.0,
        host,
        login,
        created_by.0
    )
    .fetch_one(&mut *tx.0)
    .await?)
}

/// Sets the login with which a user signed in at a host. The sign-in proves it, so another user
/// loses it. Returns whether that is new. Nothing is stored for a disabled account.
pub async fn verify_provider_login(
    tx: &mut Tx,
    user: UserId,
    host: &str,
    login: &str,
) -> Result<bool> {
    tx.run(sqlx::query!(
        "delete from provider_logins
         where host = $2 and lower(login) = lower($3) and user_id <> $1
             and exists (select from users u where u.id = $1 and u.disabled_at is null)",
        user.0,
        host,
        login
    ))
    .await?;
    tx.has_changed(sqlx::query!(
        "insert into provider_logins as l (user_id, host, login)
         select u.id, $2, $3 from users u where u.id = $1 and u.disabled_at is null for share
         on conflict (user_id, host) do update set login = excluded.login, created_by = null,
             created_at = now()
         where l.login <> excluded.login or l.created_by is not null",
        user.0,
        host,
        login
    ))
    .await
}

/// Deletes the login of a user at a host; returns `false` if there is none.
pub async fn delete_provider_login(tx: &mut Tx, user: UserId, host: &str) -> Result<bool> {
    tx.has_changed(sqlx::query!(
        "delete from provider_logins where user_id = $1 and host = $2",
        user.0,
        host
    ))
    .await
}

/// Deletes all logins of a user at providers.
pub async fn delete_provider_logins(tx: &mut Tx, user: UserId) -> Result<()> {
    tx.run(sqlx::query!("delete from provider_logins where user_id = $1", user.0)).await
}
