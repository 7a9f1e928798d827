//! What jobs need besides their arguments.

use mc_store::Store;

use crate::hygiene::Embedding;
use crate::settings::JobSettings;
use crate::sync_integration::SyncContext;

/// What jobs need besides their arguments; cheap to clone.
#[derive(Debug, Clone)]
pub struct JobContext {
    /// Connections that see every project.
    pub store: Store,
    /// What jobs need to send requests to providers.
    pub sync: SyncContext,
    /// The active embedding model.
    pub embedding: Embedding,
    /// Settings of the job kinds.
    pub settings: JobSettings,
}
