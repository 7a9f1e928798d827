//! Logins: those that are under way, and the sessions and keys that come of them. What the rows mean is
//! for the caller to judge; here they are kept, found and locked.

use chrono::{DateTime, Utc};
use mc_domain::{Scopes, SessionId, TokenId, UserId};

use crate::accounts::{CredentialKind, SecretHash, TokenOwner, User, read_scopes, scope_words};
use crate::{Error, Store, Tx};

/// Keeps a login that was begun in a browser, under the hash of its state.
pub async fn keep_pending(
    store: &Store,
    state: &SecretHash,
    provider: &str,
    sealed: &[u8],
    expires_at: DateTime<Utc>,
) -> Result<(), Error> {
    sqlx::query!(
        "insert into pending_logins (state_hash, provider, ciphertext, expires_at)
         values ($1, $2, $3, $4)",
        state.as_slice(),
        provider,
        sealed,
        expires_at
    )
    .execute(&mut *store.plain().await?)
    .await?;
    Ok(())
}

/// Takes what was sealed of a login that has come back: it is found once.
pub async fn take_pending(store: &Store, state: &SecretHash) -> Result<Option<Vec<u8>>, Error> {
    Ok(sqlx::query_scalar!(
        "delete from pending_logins where state_hash = $1 returning ciphertext",
        state.as_slice()
    )
    .fetch_optional(&mut *store.plain().await?)
    .await?)
}

/// The user that goes by this id at the provider.
pub async fn identified(
    store: &Store,
    provider: &str,
    subject: &str,
) -> Result<Option<User>, Error> {
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

/// The one person with this address who has no identity at any provider yet.
pub async fn invited(store: &Store, email: &str) -> Result<Option<User>, Error> {
    let mut users = sqlx::query_as!(
        User,
        "select id, login, name, email, is_agent, is_admin, created_at, disabled_at
         from users u
         where lower(email) = lower($1) and not is_agent
             and not exists (select from identities i where i.user_id = u.id)
         limit 2",
        email
    )
    .fetch_all(&mut *store.plain().await?)
    .await?;
    Ok(if users.len() == 1 { users.pop() } else { None })
}

/// From now on the user goes by this id at the provider.
pub async fn identify(
    store: &Store,
    provider: &str,
    subject: &str,
    user: UserId,
) -> Result<(), Error> {
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

/// Adds a refresh token to a session.
pub async fn add_refresh(
    tx: &mut Tx,
    session: SessionId,
    hash: &SecretHash,
    expires_at: DateTime<Utc>,
) -> Result<(), Error> {
    sqlx::query!(
        "insert into refresh_tokens (hash, session_id, expires_at) values ($1, $2, $3)",
        hash.as_slice(),
        session.0,
        expires_at
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(())
}

/// A refresh token with its session.
#[derive(Debug, Clone)]
pub struct Refresh {
    /// Session.
    pub session: SessionId,
    /// Whose.
    pub user: UserId,
    /// The program that the session is for.
    pub client: String,
    /// What the session may be used for.
    pub scopes: Scopes,
    /// When the token expires.
    pub expires_at: DateTime<Utc>,
    /// When it was exchanged.
    pub used_at: Option<DateTime<Utc>>,
    /// When the session ends.
    pub session_expires_at: DateTime<Utc>,
    /// Whether the session was revoked, or its user may no longer come in.
    pub is_revoked: bool,
}

/// The token with this hash, locked with its session until the transaction ends.
pub async fn refresh(tx: &mut Tx, hash: &SecretHash) -> Result<Option<Refresh>, Error> {
    let row = sqlx::query!(
        r#"select s.id, s.user_id, s.client, s.scopes, t.expires_at, t.used_at, s.expires_at as session_expires_at,
                  (s.revoked_at is not null or u.disabled_at is not null) as "is_revoked!"
           from refresh_tokens t
           join sessions s on s.id = t.session_id
           join users u on u.id = s.user_id
           where t.hash = $1 for update of s, t"#,
        hash.as_slice()
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    row.map(|row| {
        Ok(Refresh {
            session: row.id.into(),
            user: row.user_id.into(),
            client: row.client,
            scopes: read_scopes(&row.scopes)?,
            expires_at: row.expires_at,
            used_at: row.used_at,
            session_expires_at: row.session_expires_at,
            is_revoked: row.is_revoked,
        })
    })
    .transpose()
}

/// Notes that the token was exchanged.
pub async fn spend(tx: &mut Tx, hash: &SecretHash) -> Result<(), Error> {
    sqlx::query!("update refresh_tokens set used_at = now() where hash = $1", hash.as_slice())
        .execute(&mut *tx.0)
        .await?;
    Ok(())
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

/// What has become of a login that was begun at a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceState {
    /// Nobody has decided.
    Pending,
    /// Somebody agreed.
    Approved,
    /// Somebody refused.
    Denied,
    /// Its tokens were handed out.
    Consumed,
}

/// A login that was begun at a terminal.
#[derive(Debug, Clone)]
pub struct Device {
    /// The program that asks.
    pub client: String,
    /// What it asks for.
    pub requested_scopes: Scopes,
    /// When both codes expire.
    pub expires_at: DateTime<Utc>,
    /// Seconds between two polls.
    pub interval: i32,
    /// The last poll.
    pub last_polled_at: Option<DateTime<Utc>>,
    /// What has become of it.
    pub state: DeviceState,
    /// Who agreed.
    pub user: Option<UserId>,
    /// To what.
    pub scopes: Scopes,
    /// The session that its tokens are of.
    pub session: Option<SessionId>,
}

/// Which code a login is looked for by; both as hashes.
#[derive(Debug, Clone, Copy)]
pub enum DeviceCodeKey<'a> {
    /// The terminal's.
    Device(&'a SecretHash),
    /// The person's.
    User(&'a SecretHash),
}

/// Keeps a login that is begun.
pub async fn begin_device(
    store: &Store,
    device: &SecretHash,
    user_code: &SecretHash,
    grant: &Device,
) -> Result<(), Error> {
    sqlx::query!(
        "insert into device_grants (device_code_hash, user_code_hash, client, requested_scopes, expires_at,
             interval_seconds)
         values ($1, $2, $3, $4, $5, $6)",
        device.as_slice(),
        user_code.as_slice(),
        grant.client,
        &scope_words(grant.requested_scopes),
        grant.expires_at,
        grant.interval
    )
    .execute(&mut *store.plain().await?)
    .await?;
    Ok(())
}

/// The login with this code, locked until the transaction ends.
pub async fn device(tx: &mut Tx, code: DeviceCodeKey<'_>) -> Result<Option<Device>, Error> {
    let (device, user_code) = hashes(code);
    let row = sqlx::query!(
        "select client, requested_scopes, expires_at, interval_seconds, last_polled_at, state, user_id, scopes,
             session_id
         from device_grants where device_code_hash = $1 or user_code_hash = $2 for update",
        device,
        user_code
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    row.map(|row| {
        Ok(Device {
            client: row.client,
            requested_scopes: read_scopes(&row.requested_scopes)?,
            expires_at: row.expires_at,
            interval: row.interval_seconds,
            last_polled_at: row.last_polled_at,
            state: match row.state.as_str() {
                "approved" => DeviceState::Approved,
                "denied" => DeviceState::Denied,
                "consumed" => DeviceState::Consumed,
                _ => DeviceState::Pending,
            },
            user: row.user_id.map(UserId),
            scopes: read_scopes(&row.scopes)?,
            session: row.session_id.map(SessionId),
        })
    })
    .transpose()
}

/// Writes what has become of the login with this code.
pub async fn put_device(tx: &mut Tx, code: DeviceCodeKey<'_>, grant: &Device) -> Result<(), Error> {
    let (device, user_code) = hashes(code);
    let state = match grant.state {
        DeviceState::Pending => "pending",
        DeviceState::Approved => "approved",
        DeviceState::Denied => "denied",
        DeviceState::Consumed => "consumed",
    };
    sqlx::query!(
        "update device_grants set interval_seconds = $3, last_polled_at = $4, state = $5, user_id = $6,
             scopes = $7, session_id = $8
         where device_code_hash = $1 or user_code_hash = $2",
        device,
        user_code,
        grant.interval,
        grant.last_polled_at,
        state,
        grant.user.map(|user| user.0),
        &scope_words(grant.scopes),
        grant.session.map(|session| session.0)
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(())
}

fn hashes(code: DeviceCodeKey<'_>) -> (Option<&[u8]>, Option<&[u8]>) {
    match code {
        DeviceCodeKey::Device(hash) => (Some(hash.as_slice()), None),
        DeviceCodeKey::User(hash) => (None, Some(hash.as_slice())),
    }
}

/// A key that signs access tokens.
#[derive(Debug, Clone)]
pub struct Key {
    /// Its public half.
    pub public: [u8; 32],
    /// Its private half, sealed.
    pub private: Vec<u8>,
    /// When it begins to sign.
    pub active_from: DateTime<Utc>,
    /// When it was retired.
    pub retired_at: Option<DateTime<Utc>>,
}

/// Every key there is.
pub async fn keys(store: &Store) -> Result<Vec<Key>, Error> {
    let rows = sqlx::query!(
        "select public_key, private_key, active_from, retired_at from signing_keys order by active_from"
    )
    .fetch_all(&mut *store.plain().await?)
    .await?;
    rows.into_iter()
        .map(|row| {
            let public = row.public_key.try_into();
            Ok(Key {
                public: public.map_err(|_| Error::Unreadable("signing_keys.public_key".into()))?,
                private: row.private_key,
                active_from: row.active_from,
                retired_at: row.retired_at,
            })
        })
        .collect()
}

/// Adds a key, unless another node has just added one that begins to sign after `newest`. Each signs
/// until the next begins to.
pub async fn rotate_keys(
    store: &Store,
    newest: Option<DateTime<Utc>>,
    key: &Key,
) -> Result<(), Error> {
    let mut tx = store.begin_with("select pg_advisory_xact_lock(hashtext('signing_keys'))").await?;
    let latest = sqlx::query_scalar!(r#"select max(active_from) from signing_keys"#)
        .fetch_one(&mut *tx.0)
        .await?;
    if latest > newest {
        return Ok(());
    }
    sqlx::query!(
        "insert into signing_keys (public_key, private_key, active_from) values ($1, $2, $3)",
        key.public.as_slice(),
        key.private,
        key.active_from
    )
    .execute(&mut *tx.0)
    .await?;
    tx.commit().await
}
