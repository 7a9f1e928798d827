//! Projects.

use mc_contract::operations::project::{CreateProject, UpdateProject};
use mc_contract::text::DisplayName;
use mc_domain::AuditAction;
use mc_store::Store;
use mc_store::audit::{self, NewEvent};
use mc_store::projects::{self, Project};
use serde_json::json;

use crate::{Error, Principal};

/// Creates a project that the principal administers, or returns the one with that key. The flag
/// tells which. Agents only get projects on which they have a role: one of their own would have
/// no administrator.
pub async fn create(
    store: &Store,
    principal: &Principal,
    request: &CreateProject,
) -> Result<(Project, bool), Error> {
    let key = &*request.key;
    let name = request.name.as_ref().map_or(key.as_str(), DisplayName::as_str);
    if !projects::may_create(store, principal.user).await? {
        let project = projects::find(store, principal.user, key).await?;
        // The same error whether the key is taken or not.
        return Ok((project.ok_or_else(|| Error::ProjectByAgent(key.clone()))?, false));
    }
    projects::create(store, principal.user, key, name).await.map_err(Error::exists_in("key"))
}

/// Renames a project.
pub async fn rename(
    store: &Store,
    project: Project,
    request: &UpdateProject,
) -> Result<Project, Error> {
    let name = request.name.as_str().to_owned();
    let mut tx = store.begin().await?;
    projects::rename(&mut tx, project.id, &name).await?;
    let details = json!({ "name": name, "before": project.name });
    let event = NewEvent::new(AuditAction::ProjectUpdated, &project.key).with(details);
    audit::record(&mut tx, event);
    tx.commit().await?;
    Ok(Project { name, ..project })
}
