//! Invitations: codes by which a person takes over an account.

use chrono::{DateTime, Utc};
use mc_domain::UserId;
use uuid::Uuid;

use crate::accounts::SecretHash;
use crate::{Result, Tx};

/// Stores an invitation of a user, which replaces the former one.
pub async fn put(
    tx: &mut Tx,
    user: UserId,
    code: &SecretHash,
    created_by: UserId,
    expires_at: DateTime<Utc>,
) -> Result<()> {
    tx.run(sqlx::query!(
        "insert into invitations (id, user_id, hash, created_by, expires_at)
         values ($1, $2, $3, $4, $5)
         on conflict (user_id) do update
             set id = excluded.id, hash = excluded.hash, created_by = excluded.created_by,
                 created_at = now(), expires_at = excluded.expires_at",
        Uuid::now_v7(),
        user.0,
        code.as_slice(),
        created_by.0,
        expires_at
    ))
    .await
}

/// Returns the user of the invitation with this code; `None` if there is none, or it has expired.
pub async fn find(tx: &mut Tx, code: &SecretHash) -> Result<Option<UserId>> {
    let user = sqlx::query_scalar!(
        "select user_id from invitations where hash = $1 and expires_at > now()",
        code.as_slice()
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    Ok(user.map(UserId))
}

/// Deletes the invitation with this code, so that it is used once; returns `false` if another
/// transaction has used or replaced it.
pub async fn consume(tx: &mut Tx, code: &SecretHash) -> Result<bool> {
    tx.has_changed(sqlx::query!("delete from invitations where hash = $1", code.as_slice())).await
}

/// Deletes the invitation of a user, if there is one.
pub async fn delete(tx: &mut Tx, user: UserId) -> Result<()> {
    tx.run(sqlx::query!("delete from invitations where user_id = $1", user.0)).await
}
