//! Dependencies of jobs.

use mc_store::Store;

use crate::hygiene::Embedding;
use crate::settings::JobSettings;
use crate::sync_integration::SyncContext;

/// Dependencies of jobs, besides their arguments; cheap to clone.
#[derive(Debug, Clone)]
pub struct JobContext {
    /// The database, with access to every project.
    pub store: Store,
    /// Dependencies of jobs that send requests to providers.
    pub sync: SyncContext,
    /// The active embedding model.
    pub embedding: Embedding,
    /// Settings of the job kinds.
    pub settings: JobSettings,
}
