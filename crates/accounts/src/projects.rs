//! Projects.

use mc_contract::operations::project::CreateProject;
use mc_contract::text::DisplayName;
use mc_store::Store;
use mc_store::projects::{self, Project};

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
