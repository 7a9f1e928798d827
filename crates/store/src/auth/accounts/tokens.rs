//! Personal access tokens.

use chrono::{DateTime, Utc};
use mc_contract::operations::token::AccessToken;
use mc_domain::{Scopes, TokenId, UserId};
use uuid::Uuid;

use super::{SecretHash, read_scopes, scope_words};
use crate::row::read;
use crate::{Result, Store, Tx};

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
    /// Scopes that the token grants.
    pub scopes: Scopes,
    /// Expiry.
    pub expires_at: Option<DateTime<Utc>>,
}

/// Adds a token.
pub async fn create_token(tx: &mut Tx, token: &NewToken<'_>) -> Result<AccessToken> {
    let row = sqlx::query_as!(
        Row,
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
pub async fn tokens(store: &Store, user: UserId) -> Result<Vec<AccessToken>> {
    let rows = sqlx::query_as!(
        Row,
        "select id, name, hint, scopes, created_at, expires_at, last_used_at, revoked_at
         from access_tokens where user_id = $1 order by id desc",
        user.0
    )
    .fetch_all(&mut *store.plain().await?)
    .await?;
    rows.into_iter().map(Row::into_token).collect()
}

/// Revokes a token of the user; returns `false` if there is no valid one.
pub async fn revoke(tx: &mut Tx, user: UserId, token: TokenId) -> Result<bool> {
    tx.has_changed(sqlx::query!(
        "update access_tokens set revoked_at = now()
         where id = $1 and user_id = $2 and revoked_at is null",
        token.0,
        user.0
    ))
    .await
}

/// Revokes all valid tokens of a user; returns their number.
pub async fn revoke_all_tokens(tx: &mut Tx, user: UserId) -> Result<u64> {
    tx.count_changed(sqlx::query!(
        "update access_tokens set revoked_at = now() where user_id = $1 and revoked_at is null",
        user.0
    ))
    .await
}

/// Revokes a token of any user, for service administrators; returns its owner, or `None` if there
/// is no valid one.
pub async fn revoke_any(tx: &mut Tx, token: TokenId) -> Result<Option<UserId>> {
    let user = sqlx::query_scalar!(
        "update access_tokens set revoked_at = now() where id = $1 and revoked_at is null
         returning user_id",
        token.0
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    Ok(user.map(UserId))
}

struct Row {
    id: Uuid,
    name: String,
    hint: String,
    scopes: Vec<String>,
    created_at: DateTime<Utc>,
    expires_at: Option<DateTime<Utc>>,
    last_used_at: Option<DateTime<Utc>>,
    revoked_at: Option<DateTime<Utc>>,
}

impl Row {
    fn into_token(self) -> Result<AccessToken> {
        read!(self => AccessToken {
            id: self.id.into(), name, hint, scopes: read_scopes(&self.scopes)?.iter().collect(),
            created_at, expires_at, last_used_at, revoked_at
        })
    }
}
