//! Logins: those that are under way, and the sessions and keys that come of them. What the rows mean is
//! for the caller to judge; here they are kept, found and locked.

mod device_grants;
mod pending_logins;
mod refresh_tokens;
mod signing_keys;

use chrono::{DateTime, Utc};
use mc_domain::{Scopes, SessionId, TokenId, UserId};

use crate::accounts::{CredentialKind, TokenOwner, read_scopes, scope_words};
use crate::{Error, Store, Tx};

pub use device_grants::{Device, DeviceCodeKey, DeviceState, begin_device, device, put_device};
pub use pending_logins::{identified, identify, invited, keep_pending, take_pending};
pub use refresh_tokens::{Refresh, add_refresh, refresh, spend};
pub use signing_keys::{Key, keys, rotate_keys};

/// A session to begin.
#[derive(Debug, Clone)]
pub struct NewSession<'a> {
    /// Whose.
    pub user: UserId,
    /// The program that it is for.
    pub client: &'a str,
    /// What it may be used for.
    pub scopes: Scopes,
    /// When it ends, however often it is refreshed.
    pub expires_at: DateTime<Utc>,
}

/// Begins a session; its first refresh token is added by [`add_refresh`]. There is none for a user who may
/// no longer come in: it would let them in once they may again.
pub async fn begin(tx: &mut Tx, session: &NewSession<'_>) -> Result<Option<SessionId>, Error> {
    if hold(tx, session.user).await? { begin_granted(tx, session).await } else { Ok(None) }
}

/// The same for a login at a terminal that is locked ([`device`]) and was agreed to. [`revoke_all`] waits for
/// that with the user locked, so that the user is not waited for here.
pub async fn begin_granted(
    tx: &mut Tx,
    session: &NewSession<'_>,
) -> Result<Option<SessionId>, Error> {
    let id = SessionId::generate();
    let begun = sqlx::query!(
        "insert into sessions (id, user_id, client, scopes, expires_at)
         select $1, u.id, $3, $4, $5 from users u where u.id = $2 and u.disabled_at is null",
        id.0,
        session.user.0,
        session.client,
        &scope_words(session.scopes),
        session.expires_at
    )
    .execute(&mut *tx.0)
    .await?;
    Ok((begun.rows_affected() == 1).then_some(id))
}

/// Ends a session at once, with all its tokens.
pub async fn revoke(tx: &mut Tx, session: SessionId) -> Result<(), Error> {
    sqlx::query!(
        "update sessions set revoked_at = now() where id = $1 and revoked_at is null",
        session.0
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(())
}

/// Ends every session of a user at once: logins with all their tokens, visits of browsers, and the logins at
/// terminals that somebody agreed to and no terminal has fetched yet. Answers how many sessions there were.
pub async fn revoke_all(tx: &mut Tx, user: UserId) -> Result<u64, Error> {
    // First: it waits for those who come in by these sessions and are about to let somebody else in.
    sqlx::query_scalar!("select id from users where id = $1 for no key update", user.0)
        .fetch_optional(&mut *tx.0)
        .await?;
    // Then: it waits for a terminal that fetches its tokens just now, whose session the next one then sees.
    sqlx::query!(
        "update device_grants set state = 'denied' where user_id = $1 and state = 'approved'",
        user.0
    )
    .execute(&mut *tx.0)
    .await?;
    let revoked = sqlx::query!(
        "update sessions set revoked_at = now()
         where user_id = $1 and revoked_at is null and expires_at > now()",
        user.0
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(revoked.rows_affected())
}

/// Whether the user may come in; if so, it stays so until the transaction ends: who shuts them out, or ends
/// their sessions, waits.
async fn hold(tx: &mut Tx, user: UserId) -> Result<bool, Error> {
    let found = sqlx::query_scalar!(
        "select id from users where id = $1 and disabled_at is null for share",
        user.0
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    Ok(found.is_some())
}

/// Whether what a caller came in by, a session or a personal access token, still lets them in; if so, it stays
/// so until the transaction ends. For what lets somebody in for longer: between a request's headers, by which
/// the caller was told, and the end of its body there is time to end the session.
pub async fn is_credential_valid(
    tx: &mut Tx,
    user: UserId,
    credential: TokenId,
) -> Result<bool, Error> {
    // In the order of `revoke_all`, of which each statement sees what came before it.
    if !hold(tx, user).await? {
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

/// Who holds an access token of this session, if neither the session nor the personal access token that
/// it is named after was revoked or is over, and the user may still come in.
pub async fn holder(
    store: &Store,
    user: UserId,
    session: SessionId,
) -> Result<Option<TokenOwner>, Error> {
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
