//! Personal access tokens.

use chrono::{DateTime, Utc};
use mc_domain::{Scopes, TokenId, UserId};

use super::{SecretHash, read_scopes, scope_words};
use crate::{Error, Store, Tx};

/// A personal access token, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessToken {
    /// Identifier.
    pub id: TokenId,
    /// Name given by the owner.
    pub name: String,
    /// The secret's last characters.
    pub hint: String,
    /// Scopes.
    pub scopes: Scopes,
    /// Creation.
    pub created_at: DateTime<Utc>,
    /// Expiry; `None` for never.
    pub expires_at: Option<DateTime<Utc>>,
    /// Last use, to the minute.
    pub last_used_at: Option<DateTime<Utc>>,
    /// Time of revocation.
    pub revoked_at: Option<DateTime<Utc>>,
}

/// A token to add.
#[derive(Debug, Clone)]
pub struct NewToken<'a> {
    /// The owner.
    pub user: UserId,
    /// Name given by the owner.
    pub name: &'a str,
    /// sha256 of the secret.
    pub hash: &'a SecretHash,
    /// The secret's last characters.
    pub hint: &'a str,
    /// Scopes.
    pub scopes: Scopes,
    /// Expiry.
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

/// Returns a user's tokens, newest first, with the revoked ones.
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

/// Revokes a token of the user; returns `false` if there is no valid one.
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

/// Revokes a token of any user, for service administrators; returns its owner, or `None` if there
/// is no valid one.
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
