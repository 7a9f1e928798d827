//! Refresh tokens of sessions.

use chrono::{DateTime, Utc};
use mc_domain::{Scopes, SessionId, UserId};

use crate::accounts::{SecretHash, read_scopes};
use crate::row::read;
use crate::{Result, Tx};

/// Adds a refresh token to a session.
pub async fn add_refresh(
    tx: &mut Tx,
    session: SessionId,
    hash: &SecretHash,
    expires_at: DateTime<Utc>,
) -> Result<()> {
    tx.run(sqlx::query!(
        "insert into refresh_tokens (hash, session_id, expires_at) values ($1, $2, $3)",
        hash.as_slice(),
        session.0,
        expires_at
    ))
    .await
}

/// A refresh token with its session.
#[derive(Debug, Clone)]
pub struct Refresh {
    /// Session that the token belongs to.
    pub session: SessionId,
    /// Id of the user of the session.
    pub user: UserId,
    /// The client program of the session.
    pub client: String,
    /// Scopes of the session.
    pub scopes: Scopes,
    /// Expiry of the token.
    pub expires_at: DateTime<Utc>,
    /// When the token was exchanged; `None` before.
    pub used_at: Option<DateTime<Utc>>,
    /// End of the session.
    pub session_expires_at: DateTime<Utc>,
    /// Whether the session is revoked, or its user disabled.
    pub is_revoked: bool,
}

/// Returns the token with this hash. Locks it and its session until the transaction ends.
pub async fn refresh(tx: &mut Tx, hash: &SecretHash) -> Result<Option<Refresh>> {
    let row = sqlx::query!(
        r#"select s.id, s.user_id, s.client, s.scopes, t.expires_at, t.used_at,
               s.expires_at as session_expires_at,
                  (s.revoked_at is not null or u.disabled_at is not null) as "is_revoked!"
           from refresh_tokens t
           join sessions s on s.id = t.session_id
           join users u on u.id = s.user_id
           where t.hash = $1 for update of s, t"#,
        hash.as_slice()
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    read!(optional row => Refresh {
        session: row.id.into(), user: row.user_id.into(), client, scopes: read_scopes(&row.scopes)?,
        expires_at, used_at, session_expires_at, is_revoked
    })
}

/// Marks a token as exchanged.
pub async fn spend(tx: &mut Tx, hash: &SecretHash) -> Result<()> {
    tx.run(sqlx::query!(
        "update refresh_tokens set used_at = now() where hash = $1",
        hash.as_slice()
    ))
    .await
}
