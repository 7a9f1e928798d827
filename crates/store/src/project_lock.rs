//! Advisory locks on parts of a project. Saves take another one, with the statement that starts
//! their transaction ([`Store::begin_with_memory_lock`](crate::Store::begin_with_memory_lock)).

use mc_domain::ProjectId;

use crate::{Result, Tx};

/// A part of a project that one transaction at a time may change.
#[derive(Debug, Clone, Copy)]
#[repr(i32)]
pub(crate) enum ProjectPart {
    /// The daily budget of chat models.
    ChatBudget = 1,
    /// Its reasoning schemas.
    SgrSchemas = 2,
    /// The versions of its system prompt.
    Prompt = 3,
    /// The space of its workspaces.
    Workspaces = 4,
}

/// Locks a part of a project until the transaction ends. Statements after it see the changes of
/// those who had the lock before.
pub(crate) async fn lock(tx: &mut Tx, project: ProjectId, part: ProjectPart) -> Result<()> {
    // A second project with the same hash only waits without need.
    sqlx::query!(
        "select pg_advisory_xact_lock($1, hashtext($2::uuid::text))",
        part as i32,
        project.0
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(())
}
