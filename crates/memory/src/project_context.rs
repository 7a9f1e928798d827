//! The context of one project.

use mc_domain::{Permission, ReadKind, Role};
use mc_store::projects::Project;
use mc_store::vectors::{self, EmbeddingBacklog};
use mc_store::{Error, Store};

use crate::MemoryContext;
use crate::usage_log::record_read;
use crate::uses::{Opened, note_opened};

/// Authorized handle on one project, whose store acts only there and with the caller's role.
pub struct ProjectContext {
    /// The project, with the policy at the time of authorization.
    pub project: Project,
    /// The database, under the row-level security of the caller and the project.
    pub store: Store,
    /// The use-cases of the memory over that store.
    pub memory: MemoryContext,
}

impl ProjectContext {
    /// Returns how many passages of the project wait for a vector of the active model.
    pub async fn queue(&self) -> Result<EmbeddingBacklog, Error> {
        let model = self.memory.search.models.current();
        vectors::queue(&self.store, Some(self.project.id), &model.model, model.is_remote).await
    }

    /// Whether the caller's role has a permission in the project.
    pub fn allows(&self, permission: Permission) -> bool {
        self.project.role >= self.project.policy.min_role(permission)
    }

    /// Counts a read of the caller for the audit.
    pub fn count_read(&self, kind: ReadKind) {
        record_read(&self.memory, self.project.id, kind);
    }

    /// Records that the caller, if no viewer, opened an item that a recall may have returned.
    pub fn note_opened(&self, item: Opened) {
        if self.project.role >= Role::Agent {
            note_opened(&self.memory, self.project.id, item);
        }
    }
}
