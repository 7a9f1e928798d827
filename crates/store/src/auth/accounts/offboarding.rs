//! What a user who leaves has in projects and teams.

use mc_domain::UserId;
use serde::Deserialize;
use sqlx::Row as _;
use sqlx::types::Json;

use crate::{Result, Tx};

/// What was taken from a user in all projects and teams.
#[derive(Debug, Deserialize)]
pub struct LeftBehind {
    /// Deleted private records.
    pub private_records: u64,
    /// Records that named the user as their owner.
    pub owned_records: u64,
    /// Keys of the projects that had no other administrator.
    pub projects: Vec<String>,
    /// Keys of the teams that had no other administrator.
    pub teams: Vec<String>,
}

/// Deletes the private records of a user in all projects, ends all roles, and gives the principal
/// of the transaction what the user owned; if that is the user, nobody gets it.
pub async fn offboard(tx: &mut Tx, user: UserId) -> Result<LeftBehind> {
    let row = tx.call_proven("offboard_user", user.0).await?;
    let Json(left) = row.try_get::<Json<LeftBehind>, _>(0)?;
    Ok(left)
}
