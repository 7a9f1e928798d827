//! Who comes in: users and their tokens.

use chrono::{DateTime, Utc};
use mc_domain::{Scopes, TokenId, UserId};

use crate::error::word;
use crate::{Error, Store, Tx, sessions};

/// What the names of local tokens begin with.
const LOCAL_NAME: &str = "local token of ";

/// sha256 of a secret.
pub type SecretHash = [u8; 32];

/// The holder of a valid token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenOwner {
    /// Who it is.
    pub user: UserId,
    /// The name to come in with.
    pub login: String,
    /// By which token: a personal one, or the session of an issued one.
    pub token: TokenId,
    /// What sort of token it is.
    pub by: CredentialKind,
    /// Whether the user administers the service itself.
    pub is_admin: bool,
    /// What the token may be used for.
    pub scopes: Scopes,
}

/// What somebody came in by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialKind {
    /// A login: somebody was there to sign in.
    Login,
    /// The token of the service's own host.
    Local,
    /// A personal access token, or what it was exchanged for.
    Token,
}

/// Who holds the token with this hash, if it is neither revoked nor expired and its owner may still come
/// in. Its use is noted, once a minute at most.
pub async fn holder(store: &Store, hash: &SecretHash) -> Result<Option<TokenOwner>, Error> {
    let mut session = store.plain().await?;
    let row = sqlx::query!(
        "with found as (
             select t.id, t.user_id, t.name, t.scopes, u.login, u.is_admin, t.last_used_at
             from access_tokens t join users u on u.id = t.user_id
             where t.hash = $1 and t.revoked_at is null
                 and (t.expires_at is null or t.expires_at > now()) and u.disabled_at is null),
         noted as (
             update access_tokens t set last_used_at = now() from found f
             where t.id = f.id
                 and (f.last_used_at is null or f.last_used_at < now() - interval '1 minute'))
         select id, user_id, name, scopes, login, is_admin from found",
        hash.as_slice()
    )
    .fetch_optional(&mut *session)
    .await?;
    session.done();
    row.map(|row| {
        Ok(TokenOwner {
            user: row.user_id.into(),
            login: row.login,
            is_admin: row.is_admin,
            token: row.id.into(),
            by: if row.user_id == UserId::LOCAL.0 && row.name.starts_with(LOCAL_NAME) {
                CredentialKind::Local
            } else {
                CredentialKind::Token
            },
            scopes: read_scopes(&row.scopes)?,
        })
    })
    .transpose()
}

/// Makes this the one local token of a service's place (host and folder): the one that was there before
/// no longer lets in. One that was revoked stays so: a new file makes a new one.
pub async fn set_local_token(
    store: &Store,
    place: &str,
    hash: &SecretHash,
    hint: &str,
) -> Result<(), Error> {
    sqlx::query!(
        "with replaced as (
             update access_tokens set revoked_at = now()
             where user_id = $2 and name = $6 and hash <> $3 and revoked_at is null)
         insert into access_tokens (id, user_id, name, hash, hint, scopes)
         values ($1, $2, $6, $3, $4, $5)
         on conflict (hash) do update set name = excluded.name, scopes = excluded.scopes",
        TokenId::generate().0,
        UserId::LOCAL.0,
        hash.as_slice(),
        hint,
        &scope_words(Scopes::ALL),
        format!("{LOCAL_NAME}{place}")
    )
    .execute(&mut *store.plain().await?)
    .await?;
    Ok(())
}

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

/// A personal access token as its owner sees it; the secret itself is not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessToken {
    /// Identifier.
    pub id: TokenId,
    /// What its owner calls it.
    pub name: String,
    /// The secret's last characters.
    pub hint: String,
    /// What it may be used for.
    pub scopes: Scopes,
    /// Creation.
    pub created_at: DateTime<Utc>,
    /// When it ends; `None`: never.
    pub expires_at: Option<DateTime<Utc>>,
    /// Last use, to the minute.
    pub last_used_at: Option<DateTime<Utc>>,
    /// When it was revoked.
    pub revoked_at: Option<DateTime<Utc>>,
}

/// A token to add.
#[derive(Debug, Clone)]
pub struct NewToken<'a> {
    /// Who comes in by it.
    pub user: UserId,
    /// What its owner calls it.
    pub name: &'a str,
    /// sha256 of the secret.
    pub hash: &'a SecretHash,
    /// The secret's last characters.
    pub hint: &'a str,
    /// What it may be used for.
    pub scopes: Scopes,
    /// When it ends.
    pub expires_at: Option<DateTime<Utc>>,
}

/// Adds a token.
pub async fn create_token(tx: &mut Tx, token: &NewToken<'_>) -> Result<AccessToken, Error> {
    let row = sqlx::query_as!(
        TokenRow,
        "insert into access_tokens (id, user_id, name, hash, hint, scopes, expires_at)
         values ($1, $2, $3, $4, $5, $6, $7)
         returning id, name, hint, scopes, created_at, expires_at, last_used_at, revoked_at",
        TokenId::generate().0,
        token.user.0,
        token.name,
        token.hash.as_slice(),
        token.hint,
        &scope_words(token.scopes),
        token.expires_at
    )
    .fetch_one(&mut *tx.0)
    .await?;
    row.into_token()
}

/// A user's tokens, newest first, those that were revoked among them.
pub async fn tokens(store: &Store, user: UserId) -> Result<Vec<AccessToken>, Error> {
    let rows = sqlx::query_as!(
        TokenRow,
        "select id, name, hint, scopes, created_at, expires_at, last_used_at, revoked_at
         from access_tokens where user_id = $1 order by id desc",
        user.0
    )
    .fetch_all(&mut *store.plain().await?)
    .await?;
    rows.into_iter().map(TokenRow::into_token).collect()
}

/// Revokes a token of the user at once; `false` when there is none that was valid.
pub async fn revoke(tx: &mut Tx, user: UserId, token: TokenId) -> Result<bool, Error> {
    let done = sqlx::query!(
        "update access_tokens set revoked_at = now()
         where id = $1 and user_id = $2 and revoked_at is null",
        token.0,
        user.0
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Revokes a token at once, whoever's it is, for those who administer the service; answers whose it was,
/// and `None` when there is none that was valid.
pub async fn revoke_any(tx: &mut Tx, token: TokenId) -> Result<Option<UserId>, Error> {
    let user = sqlx::query_scalar!(
        "update access_tokens set revoked_at = now() where id = $1 and revoked_at is null
         returning user_id",
        token.0
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    Ok(user.map(UserId))
}

struct TokenRow {
    id: uuid::Uuid,
    name: String,
    hint: String,
    scopes: Vec<String>,
    created_at: DateTime<Utc>,
    expires_at: Option<DateTime<Utc>>,
    last_used_at: Option<DateTime<Utc>>,
    revoked_at: Option<DateTime<Utc>>,
}

impl TokenRow {
    fn into_token(self) -> Result<AccessToken, Error> {
        Ok(AccessToken {
            id: self.id.into(),
            name: self.name,
            hint: self.hint,
            scopes: read_scopes(&self.scopes)?,
            created_at: self.created_at,
            expires_at: self.expires_at,
            last_used_at: self.last_used_at,
            revoked_at: self.revoked_at,
        })
    }
}

/// The words of a set, as a column holds them.
pub(crate) fn scope_words(scopes: Scopes) -> Vec<String> {
    scopes.iter().map(|scope| scope.as_str().to_owned()).collect()
}

/// The set that a column holds.
pub(crate) fn read_scopes(words: &[String]) -> Result<Scopes, Error> {
    words.iter().map(|scope| word(scope)).collect()
}
