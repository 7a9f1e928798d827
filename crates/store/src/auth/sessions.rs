//! Sessions, and the logins, tokens and keys around them. This module stores, finds and locks rows;
//! the caller decides what they mean.

mod device_grants;
mod pending_logins;
mod refresh_tokens;
mod signing_keys;

use chrono::{DateTime, Utc};
use mc_domain::{Scopes, SessionId, TokenId, UserId};

use crate::accounts::{CredentialKind, TokenOwner, read_scopes, scope_words};
use crate::{Result, Store, Tx};

pub use device_grants::{
    DeviceCodeKey, DeviceGrant, DeviceState, begin_device, device, put_device,
};
pub use pending_logins::{
    forget_identities, identified, identify, invited, keep_pending, take_pending,
};
pub use refresh_tokens::{Refresh, add_refresh, refresh, spend};
pub use signing_keys::{Key, keys, rotate_keys};

/// A session to start.
#[derive(Debug, Clone)]
pub struct NewSession<'a> {
    /// Id of the user who signed in.
    pub user: UserId,
    /// The client program.
    pub client: &'a str,
    /// Scopes that its tokens may have.
    pub scopes: Scopes,
    /// End of the session, however often it is refreshed.
    pub expires_at: DateTime<Utc>,
}

/// Starts a session; [`add_refresh`] adds its first refresh token. Returns `None` for a disabled
/// user: the session would be valid once the user is enabled again.
pub async fn begin(tx: &mut Tx, session: &NewSession<'_>) -> Result<Option<SessionId>> {
    if lock_enabled_user(tx, session.user).await? {
        begin_granted(tx, session).await
    } else {
        Ok(None)
    }
}

/// Starts a session for an approved device grant that [`device`] has locked. It does not lock the
/// user, because [`revoke_all`] locks the user first and then waits for the grant.
pub async fn begin_granted(tx: &mut Tx, session: &NewSession<'_>) -> Result<Option<SessionId>> {
    let id = SessionId::generate();
    let is_enabled = tx
        .has_changed(sqlx::query!(
            "insert into sessions (id, user_id, client, scopes, expires_at)
         select $1, u.id, $3, $4, $5 from users u where u.id = $2 and u.disabled_at is null",
            id.0,
            session.user.0,
            session.client,
            &scope_words(session.scopes),
            session.expires_at
        ))
        .await?;
    Ok(is_enabled.then_some(id))
}

/// Revokes a session with all its tokens; returns `false` if it was revoked before.
pub async fn revoke(tx: &mut Tx, session: SessionId) -> Result<bool> {
    tx.has_changed(sqlx::query!(
        "update sessions set revoked_at = now() where id = $1 and revoked_at is null",
        session.0
    ))
    .await
}

/// Revokes all sessions of a user, in clients and browsers, and denies approved device grants that
/// were not consumed. Returns the number of sessions.
pub async fn revoke_all(tx: &mut Tx, user: UserId) -> Result<u64> {
    // Locked first: waits for requests of these sessions that are about to issue another
    // credential.
    sqlx::query_scalar!("select id from users where id = $1 for no key update", user.0)
        .fetch_optional(&mut *tx.0)
        .await?;
    // Second: waits for a device that consumes its grant; the next statement then sees its session.
    tx.run(sqlx::query!(
        "update device_grants set state = 'denied' where user_id = $1 and state = 'approved'",
        user.0
    ))
    .await?;
    tx.count_changed(sqlx::query!(
        "update sessions set revoked_at = now()
         where user_id = $1 and revoked_at is null and expires_at > now()",
        user.0
    ))
    .await
}

/// Locks the user against being disabled and against [`revoke_all`] until the transaction ends.
/// Returns `false` for a disabled user.
async fn lock_enabled_user(tx: &mut Tx, user: UserId) -> Result<bool> {
    let found = sqlx::query_scalar!(
        "select id from users where id = $1 and disabled_at is null for share",
        user.0
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    Ok(found.is_some())
}

/// Returns whether the session or personal access token of a request is still valid, and keeps it
/// so until the transaction ends. Used where a request issues another credential: the session may
/// end between the request's headers, which authenticate it, and the end of its body.
pub async fn is_credential_valid(tx: &mut Tx, user: UserId, credential: TokenId) -> Result<bool> {
    // In the order of `revoke_all`, whose statements each see what preceded them.
    if !lock_enabled_user(tx, user).await? {
        return Ok(false);
    }
    let session = sqlx::query_scalar!(
        "select id from sessions
         where id = $1 and user_id = $2 and revoked_at is null and expires_at > now() for share",
        credential.0,
        user.0
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    if session.is_some() {
        return Ok(true);
    }
    let token = sqlx::query_scalar!(
        "select id from access_tokens
         where id = $1 and user_id = $2 and revoked_at is null
             and (expires_at is null or expires_at > now())
         for share",
        credential.0,
        user.0
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    Ok(token.is_some())
}

/// Returns the owner of an access token of this session, unless the session (or the personal access
/// token whose id it has) is revoked or expired, or the user is disabled.
pub async fn holder(store: &Store, user: UserId, session: SessionId) -> Result<Option<TokenOwner>> {
    let mut reading = store.plain().await?;
    let row = sqlx::query!(
        r#"select u.login, u.is_admin, coalesce(s.scopes, t.scopes) as "scopes!",
                  s.id is not null as "is_login!"
           from users u
           left join sessions s on s.id = $2 and s.user_id = u.id
               and s.revoked_at is null and s.expires_at > now()
           left join access_tokens t on t.id = $2 and t.user_id = u.id
               and t.revoked_at is null and (t.expires_at is null or t.expires_at > now())
           where u.id = $1 and u.disabled_at is null and coalesce(s.id, t.id) is not null"#,
        user.0,
        session.0
    )
    .fetch_optional(&mut *reading)
    .await?;
    reading.done();
    row.map(|row| {
        Ok(TokenOwner {
            user,
            login: row.login,
            token: session.0.into(),
            by: if row.is_login { CredentialKind::Login } else { CredentialKind::Token },
            is_admin: row.is_admin,
            scopes: read_scopes(&row.scopes)?,
        })
    })
    .transpose()
}
