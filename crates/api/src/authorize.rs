//! Into a project: the one place where it is decided whether a caller may do something there.

use std::sync::Arc;

use mc_domain::{Permission, ProjectKey, Role, Scope};
use mc_memory::MemoryContext;
use mc_memory::uses::{Opened, note_opened};
use mc_store::audit::{self, Chain, NewEvent};
use mc_store::projects::{self, Project, ProjectResource};
use mc_store::vectors::{self, EmbeddingBacklog};
use mc_store::{Store, Tx};

use crate::ApiState;
use crate::authenticate::{Authenticate as _, Principal};
use crate::problem::Problem;

/// A project that a caller has entered: all that is read or written through this is read or written
/// there, with the caller's role.
pub struct ProjectContext {
    /// The project.
    pub project: Project,
    /// The database, as far as the caller may see it.
    pub store: Store,
    /// The use-cases of the memory, over that.
    pub memory: MemoryContext,
}

impl ProjectContext {
    /// How many passages of the project wait for a vector of the model in use.
    pub async fn queue(&self) -> Result<EmbeddingBacklog, Problem> {
        let model = self.memory.search.models.current();
        Ok(vectors::queue(&self.store, Some(self.project.id), model.is_remote).await?)
    }

    /// Notes that the caller opened something that a recall may have handed them. Of those who may only read nothing is
    /// kept.
    pub fn note_opened(&self, item: Opened) {
        if self.project.role >= Role::Agent {
            note_opened(&self.memory, self.project.id, item);
        }
    }
}

impl ApiState {
    /// Lets the caller into the project with this key to do something there. One that the caller may
    /// not see is answered like one that does not exist.
    pub async fn authorize(
        &self,
        caller: &Principal,
        key: &ProjectKey,
        action: Permission,
    ) -> Result<ProjectContext, Problem> {
        caller.require(action.scope())?;
        match projects::find(&self.store, caller.user, key).await? {
            Some(project) => self.build_context(caller, project, action),
            None => Err(unknown(key, &self.own_projects(caller).await?)),
        }
    }

    /// The projects that the caller may list; none for a token that may not read.
    async fn own_projects(&self, caller: &Principal) -> Result<Vec<Project>, Problem> {
        if caller.require(Scope::MemoryRead).is_err() {
            return Ok(Vec::new());
        }
        Ok(projects::list(&self.store, caller.user).await?)
    }

    /// Lets the caller into the project that holds something; `None` where that does not exist, or
    /// the caller may not see it.
    pub async fn authorize_resource(
        &self,
        caller: &Principal,
        what: ProjectResource,
        action: Permission,
    ) -> Result<Option<ProjectContext>, Problem> {
        caller.require(action.scope())?;
        let project = projects::find_by_resource(&self.store, caller.user, what).await?;
        project.map(|project| self.build_context(caller, project, action)).transpose()
    }

    fn build_context(
        &self,
        caller: &Principal,
        project: Project,
        action: Permission,
    ) -> Result<ProjectContext, Problem> {
        let store = self.store.for_project(caller.user, project.id);
        let policy = Arc::new(project.policy.clone());
        let memory = self.memory.with_store(store.clone(), policy);
        self.require(caller, &project, action)?;
        Ok(ProjectContext { project, store, memory })
    }

    /// Refuses a caller whose role in the project is not enough for something, and counts that.
    pub fn require(
        &self,
        caller: &Principal,
        project: &Project,
        action: Permission,
    ) -> Result<(), Problem> {
        let needed = project.policy.min_role(action);
        if project.role >= needed {
            return Ok(());
        }
        self.sign_in.refusals().role_too_low(project.id, caller.user, action);
        Err(insufficient_role(project, action, needed))
    }
}

/// Commits what somebody did to what belongs to no project; the service's audit has it, or it did not
/// happen.
pub async fn commit(mut tx: Tx, caller: &Principal, event: NewEvent) -> Result<(), Problem> {
    audit::add(&mut tx, Chain::Service, Some(caller.user), &[event]);
    Ok(tx.commit().await?)
}

/// Most projects that a refusal names.
const NAMED_PROJECTS: usize = 20;

/// A refusal that names the projects on which the caller has a role.
fn unknown(key: &ProjectKey, own: &[Project]) -> Problem {
    let mut keys: Vec<_> = own.iter().take(NAMED_PROJECTS).map(|own| own.key.as_str()).collect();
    if own.len() > NAMED_PROJECTS {
        keys.push("...");
    }
    let own = if keys.is_empty() {
        String::new()
    } else {
        format!("use one of yours: {}, or ", keys.join(", "))
    };
    Problem::not_found(format!("there is no project \"{key}\", or it is not yours to see"))
        .field("project_key")
        .hint(format!(
            "{own}create it with POST /projects {{\"key\": \"{key}\"}}, or index a repository into it: \
             memory-copilot ingest --project {key} <path or URL>; if it exists, ask one of its \
             administrators for a role on it"
        ))
}

fn insufficient_role(project: &Project, action: Permission, needed: Role) -> Problem {
    let Project { key, role, policy, .. } = project;
    let by = policy.min_role_setting(action);
    let by = by.map(|setting| format!(" here (`{setting}` of the project's policy)"));
    let by = by.unwrap_or_default();
    let hint = match action {
        Permission::Ingest => {
            "have somebody send it who has that role, or propose what it says with POST /save"
        }
        _ => "an administrator of the project can give you another role",
    };
    let detail = format!("this takes the role {needed}{by}, and yours on \"{key}\" is {role}");
    Problem::forbidden(detail).hint(hint)
}
