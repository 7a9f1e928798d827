//! Logins in a browser that are not completed, and the identities of users at identity providers.

use chrono::{DateTime, Utc};
use mc_contract::operations::user::User;
use mc_domain::UserId;

use crate::accounts::SecretHash;
use crate::{Result, Store, Tx};

/// Stores a login that a browser has started, by the hash of its state parameter.
pub async fn keep_pending(
    store: &Store,
    state: &SecretHash,
    provider: &str,
    ciphertext: &[u8],
    expires_at: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "insert into pending_logins (state_hash, provider, ciphertext, expires_at)
         values ($1, $2, $3, $4)",
        state.as_slice(),
        provider,
        ciphertext,
        expires_at
    )
    .execute(&mut *store.plain().await?)
    .await?;
    Ok(())
}

/// Deletes a pending login and returns its encrypted data, so that each is used once.
pub async fn take_pending(store: &Store, state: &SecretHash) -> Result<Option<Vec<u8>>> {
    Ok(sqlx::query_scalar!(
        "delete from pending_logins where state_hash = $1 returning ciphertext",
        state.as_slice()
    )
    .fetch_optional(&mut *store.plain().await?)
    .await?)
}

/// Returns the user with this subject at the identity provider.
pub async fn identified(store: &Store, provider: &str, subject: &str) -> Result<Option<User>> {
    Ok(sqlx::query_as!(
        User,
        "select id, login, name, email, is_agent, is_admin, u.created_at, disabled_at
         from identities i join users u on u.id = i.user_id
         where i.provider = $1 and i.subject = $2",
        provider,
        subject
    )
    .fetch_optional(&mut *store.plain().await?)
    .await?)
}

/// Returns the only enabled person with this email address who has no identity at any provider.
pub async fn invited(store: &Store, email: &str) -> Result<Option<User>> {
    let mut users = sqlx::query_as!(
        User,
        "select id, login, name, email, is_agent, is_admin, created_at, disabled_at
         from users u
         where lower(email) = lower($1) and not is_agent and disabled_at is null
             and not exists (select from identities i where i.user_id = u.id)
         limit 2",
        email
    )
    .fetch_all(&mut *store.plain().await?)
    .await?;
    Ok(if users.len() == 1 { users.pop() } else { None })
}

/// Adds an identity to a user.
pub async fn identify(store: &Store, provider: &str, subject: &str, user: UserId) -> Result<()> {
    sqlx::query!(
        "insert into identities (provider, subject, user_id) values ($1, $2, $3)",
        provider,
        subject,
        user.0
    )
    .execute(&mut *store.plain().await?)
    .await?;
    Ok(())
}

/// Deletes the identities of a user, so that no identity provider signs the user in.
pub async fn forget_identities(tx: &mut Tx, user: UserId) -> Result<()> {
    tx.run(sqlx::query!("delete from identities where user_id = $1", user.0)).await
}
