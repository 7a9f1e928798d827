//! Into a project: the one place where it is decided whether a caller may do something there.

use std::sync::Arc;

use mc_domain::{Act, Action, ProjectKey, Role, UserId};
use mc_memory::MemoryContext;
use mc_store::Store;
use mc_store::audit::{self, Chain, NewEvent};
use mc_store::projects::{self, Belonging, Project};
use serde_json::json;

use crate::ApiState;
use crate::auth::Principal;
use crate::problem::Problem;

/// A project that a caller has entered: all that is read or written through this is read or written
/// there, with the caller's role.
pub struct Here {
    /// The project.
    pub project: Project,
    /// The database, as far as the caller may see it.
    pub store: Store,
    /// The use-cases of the memory, over that.
    pub memory: MemoryContext,
}

impl ApiState {
    /// Lets the caller into the project with this key to do something there. One that the caller may
    /// not see is answered like one that does not exist.
    pub async fn enter(
        &self,
        caller: &Principal,
        key: &ProjectKey,
        action: Action,
    ) -> Result<Here, Problem> {
        caller.require(action.scope())?;
        if let Some(project) = projects::find(&self.store, caller.user, key).await? {
            return self.admit(caller, project, action).await;
        }
        let event = NewEvent::new(Act::Refused, key).with(json!({ "why": "no role" }));
        self.note(caller, event).await;
        Err(unknown(key))
    }

    /// Lets the caller into the project that holds something; `None` where that does not exist, or
    /// the caller may not see it.
    pub async fn enter_holding(
        &self,
        caller: &Principal,
        what: Belonging,
        action: Action,
    ) -> Result<Option<Here>, Problem> {
        caller.require(action.scope())?;
        let project = projects::holding(&self.store, caller.user, what).await?;
        match project {
            Some(project) => self.admit(caller, project, action).await.map(Some),
            None => Ok(None),
        }
    }

    async fn admit(
        &self,
        caller: &Principal,
        project: Project,
        action: Action,
    ) -> Result<Here, Problem> {
        let store = self.store.enter(caller.user, project.id);
        let policy = Arc::new(project.policy.clone());
        let memory = self.memory.over(store.clone(), policy);
        let here = Here { project, store, memory };
        let needed = here.project.policy.least_role(action);
        if here.project.role < needed {
            let why = json!({ "why": "role", "is": here.project.role, "needs": needed });
            let event = NewEvent::new(Act::Refused, format!("{action:?}").to_lowercase());
            here.note(event.with(why)).await;
            return Err(too_low(&here.project, needed));
        }
        Ok(here)
    }

    /// Notes in the service's own audit what somebody did to what belongs to no project.
    pub async fn note(&self, caller: &Principal, event: NewEvent) {
        self.note_as(Some(caller.user), event).await;
    }

    /// The same for one who has just come in, or never did.
    pub async fn note_as(&self, actor: Option<UserId>, event: NewEvent) {
        noted(audit::note_alone(&self.store, Chain::Service, actor, &[event]).await);
    }
}

impl Here {
    /// Notes in the project's audit what the caller did.
    pub async fn note(&self, event: NewEvent) {
        let (chain, actor) = (Chain::Project(self.project.id), self.store.principal());
        noted(audit::note_alone(&self.store, chain, actor, &[event]).await);
    }
}

/// What was done is done: that it could not be noted is for the operator.
fn noted(outcome: Result<(), mc_store::Error>) {
    if let Err(error) = outcome {
        let error = &error as &dyn std::error::Error;
        tracing::error!(error, "an event of the audit could not be written");
    }
}

fn unknown(key: &ProjectKey) -> Problem {
    Problem::not_found(format!("there is no project \"{key}\", or it is not yours to see"))
        .field("project_key")
        .hint(format!(
            "create it with POST /projects {{\"key\": \"{key}\"}}, or index a repository into it: \
             memory-copilot ingest --project {key} <path or URL>; if it exists, ask one of its \
             administrators for a role on it"
        ))
}

fn too_low(project: &Project, needed: Role) -> Problem {
    let Project { key, role, .. } = project;
    Problem::forbidden(format!("this takes the role {needed}, and yours on \"{key}\" is {role}"))
        .hint("an administrator of the project can give you another role")
}
