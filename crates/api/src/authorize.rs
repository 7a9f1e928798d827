//! Authorization in projects: the only place that decides whether a caller may act in one.

use std::sync::Arc;

use chrono::Utc;
use mc_domain::{Permission, ProjectKey, Role, Scope};
pub use mc_memory::ProjectContext;
use mc_store::projects::{self, Project, ProjectResource};

use crate::ApiState;
use crate::authenticate::Principal;
use crate::problem::Problem;

impl ApiState {
    /// Authorizes the caller in the project with this key. A project that the caller may not see
    /// gives the same error as one that does not exist.
    pub async fn authorize(
        &self,
        caller: &Principal,
        key: &ProjectKey,
        permission: Permission,
    ) -> Result<ProjectContext, Problem> {
        caller.require(permission.scope())?;
        match projects::find(&self.store, caller.user, key).await? {
            Some(project) => self.build_context(caller, project, permission),
            None => Err(unknown(key, &self.own_projects(caller).await?)),
        }
    }

    /// Authorizes the caller in the project that the parameter `key` of the path names.
    pub async fn authorize_path(
        &self,
        caller: &Principal,
        key: &ProjectKey,
        permission: Permission,
    ) -> Result<ProjectContext, Problem> {
        self.authorize(caller, key, permission).await.map_err(|problem| problem.field("key"))
    }

    /// Authorizes the caller in all projects in which the caller's role has the permission.
    pub async fn authorize_all(
        &self,
        caller: &Principal,
        permission: Permission,
    ) -> Result<Vec<ProjectContext>, Problem> {
        caller.require(permission.scope())?;
        let projects = projects::list(&self.store, caller.user).await?.into_iter();
        let allowed =
            projects.filter(|project| project.role >= project.policy.min_role(permission));
        allowed.map(|project| self.build_context(caller, project, permission)).collect()
    }

    /// Returns the projects that the caller may list; none for a token without `memory:read`.
    async fn own_projects(&self, caller: &Principal) -> Result<Vec<Project>, Problem> {
        if caller.require(Scope::MemoryRead).is_err() {
            return Ok(Vec::new());
        }
        Ok(projects::list(&self.store, caller.user).await?)
    }

    /// Authorizes the caller in the project of a resource; `None` if the resource does not exist,
    /// or the caller may not see it.
    pub async fn authorize_resource(
        &self,
        caller: &Principal,
        resource: ProjectResource,
        permission: Permission,
    ) -> Result<Option<ProjectContext>, Problem> {
        caller.require(permission.scope())?;
        let project = projects::find_by_resource(&self.store, caller.user, resource).await?;
        project.map(|project| self.build_context(caller, project, permission)).transpose()
    }

    fn build_context(
        &self,
        caller: &Principal,
        project: Project,
        permission: Permission,
    ) -> Result<ProjectContext, Problem> {
        let store = self.store.for_project(caller.user, project.id);
        let policy = Arc::new(project.policy.clone());
        let named = caller.named_session();
        let session = self.client_sessions.session_of(caller.caller(), named, Utc::now());
        let memory = self.memory.with_store(store.clone(), policy).in_session(session);
        self.require(caller, &project, permission)?;
        Ok(ProjectContext { project, store, memory })
    }

    /// Requires a permission of the caller's role in a project, and counts a denial.
    pub fn require(
        &self,
        caller: &Principal,
        project: &Project,
        permission: Permission,
    ) -> Result<(), Problem> {
        let needed = project.policy.min_role(permission);
        if project.role >= needed {
            return Ok(());
        }
        self.sign_in.denials().insufficient_role(project.id, caller.user, permission);
        Err(insufficient_role(project, permission, needed))
    }
}

/// Maximum number of projects that an error lists.
const LISTED_PROJECTS: usize = 20;

/// Returns an error that lists the projects on which the caller has a role.
fn unknown(key: &ProjectKey, own: &[Project]) -> Problem {
    let mut keys: Vec<_> = own.iter().take(LISTED_PROJECTS).map(|own| own.key.as_str()).collect();
    if own.len() > LISTED_PROJECTS {
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
            "{own}create it with `memory-copilot projects create {key}`, or with POST /projects \
             {{\"key\": \"{key}\"}}, or ask one of its administrators for a role, if it exists"
        ))
}

fn insufficient_role(project: &Project, permission: Permission, needed: Role) -> Problem {
    let Project { key, role, policy, .. } = project;
    let setting = policy.min_role_setting(permission);
    let by = setting.map(|setting| format!(" (`{setting}` of the project's policy)"));
    let by = by.unwrap_or_default();
    let hint = match permission {
        Permission::Ingest => {
            "ask a person with that role to send it, or propose its content with POST /save"
        }
        _ => "ask an administrator of the project for another role",
    };
    let detail = format!("requires the role {needed}{by}; yours on \"{key}\" is {role}");
    Problem::forbidden(detail).hint(hint)
}
