//! The position of a sync: where it resumes.

use mc_connectors::traits::Cursor;
use mc_store::Tx;
use mc_store::integrations::{self, SyncTarget};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::reconcile::Reconciliation;
use super::{SyncError, SyncSession};

/// The position of a sync with its stored form, by which the database detects that another worker
/// has moved it.
pub(super) struct Position<T> {
    pub(super) state: T,
    stored: Option<Value>,
}

impl<T: DeserializeOwned + Default> Position<T> {
    /// Parses the stored position of an integration. One that this version of the service can't
    /// parse becomes the beginning.
    pub(super) fn load(target: &SyncTarget) -> Self {
        let stored = target.sync_state.clone();
        let state = stored.as_ref().and_then(|value| T::deserialize(value).ok());
        Self { state: state.unwrap_or_default(), stored }
    }
}

/// The state of a sync of issues or pages.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct SyncState {
    /// Where the next page begins.
    pub(super) cursor: Cursor,
    /// Whether the pages before the cursor were requested with comments.
    #[serde(default)]
    pub(super) include_comments: bool,
    /// The reconciliation, while one is running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) sweep: Option<Reconciliation>,
}

impl SyncSession<'_> {
    /// Moves the position in the transaction; returns `false` if another worker has moved it.
    pub(super) async fn advance<T: Serialize>(
        &self,
        tx: &mut Tx,
        position: &mut Position<T>,
        next: T,
    ) -> Result<bool, SyncError> {
        let stored = serde_json::to_value(&next)
            .map_err(|error| SyncError::Other(format!("position can't be serialized: {error}")))?;
        let before = position.stored.as_ref();
        if !integrations::advance(tx, self.target.id, before, &stored).await? {
            return Ok(false);
        }
        *position = Position { state: next, stored: Some(stored) };
        Ok(true)
    }
}
