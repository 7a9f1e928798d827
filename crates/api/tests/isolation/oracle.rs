//! The small oracle: the permissions of all persons, written independently of the product.
//!
//! [`role`] returns the role of each person of the world in each project, as the world was set up.
//! An operation has a minimum role and a scope. The expected response follows from both:
//! [`Refusal`].

use crate::world::{Person, Post, Project};

/// A role, in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    Viewer,
    Agent,
    Member,
    Maintainer,
    Admin,
}

/// The scope of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Read,
    Write,
    Ingest,
    IngestLocal,
    Coding,
    Github,
    Admin,
}

impl Scope {
    pub const ALL: [(Self, &'static str); 7] = [
        (Self::Read, "memory:read"),
        (Self::Write, "memory:write"),
        (Self::Ingest, "ingest"),
        (Self::IngestLocal, "ingest:local"),
        (Self::Coding, "coding"),
        (Self::Github, "github:write"),
        (Self::Admin, "admin"),
    ];

    /// The bit of the scope in a set of scopes.
    pub const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// Something that is done in a project, as the table of roles has it.
pub type Action = (Rank, Scope);

pub const READ: Action = (Rank::Viewer, Scope::Read);
pub const PROPOSE: Action = (Rank::Agent, Scope::Write);
/// Changing the files of a workspace.
pub const CODE: Action = (Rank::Agent, Scope::Coding);
pub const WRITE: Action = (Rank::Member, Scope::Write);
/// Confirming data that leaves the service.
pub const CONFIRM: Action = (Rank::Member, Scope::Github);
pub const CURATE: Action = (Rank::Maintainer, Scope::Write);
/// The audit, and the policy with all that belongs to it.
pub const OVERSEE: Action = (Rank::Maintainer, Scope::Admin);
pub const MANAGE: Action = (Rank::Admin, Scope::Admin);

/// The minimum role for decisions for the team, by the policy of the project.
pub fn least_to_decide(project: &Project) -> Rank {
    if project.is_strict() { Rank::Maintainer } else { Rank::Member }
}

/// Reviewing proposals and confirming records.
pub fn review(project: &Project) -> Action {
    (least_to_decide(project), Scope::Write)
}

/// Ingesting documents, which every member finds at once.
pub fn ingest(project: Option<&Project>) -> Action {
    (project.map_or(Rank::Member, least_to_decide), Scope::Ingest)
}

/// Returns whether a save of the person is a team record at once.
pub fn decides(person: &Person, project: &Project) -> bool {
    role(person, project) >= Some(least_to_decide(project))
}

/// Returns whether the person may create projects; agents may not.
pub fn makes_projects(person: &Person) -> bool {
    person.post != Post::Agent
}

/// Returns the role of a person in a project; `None` for a person to whom it does not exist.
pub fn role(person: &Person, project: &Project) -> Option<Rank> {
    let (post, is_main) = (person.post, project.is_main);
    if matches!(post, Post::Root | Post::Local) {
        return Some(Rank::Admin);
    }
    let tenant = person.tenant?;
    if tenant == project.tenant {
        return match (post, is_main) {
            (Post::Viewer, true) | (Post::Member, false) => Some(Rank::Viewer),
            // Given `maintainer` in the main project: a program is never more than an agent.
            (Post::Agent, _) => Some(Rank::Agent),
            // A member of the team, which was given `maintainer`.
            (Post::Member | Post::Teammate, true) | (Post::Maintainer, false) => Some(Rank::Member),
            (Post::Maintainer, true) => Some(Rank::Maintainer),
            (Post::Admin, _) => Some(Rank::Admin),
            _ => None,
        };
    }
    // The team of the next tenant was given the main project to read, whatever they are in the
    // team.
    let is_shared = is_main && tenant == (project.tenant + 1) % crate::world::TENANTS;
    let is_in_team = matches!(post, Post::Teammate | Post::Admin);
    (is_shared && is_in_team).then_some(Rank::Viewer)
}

/// Returns the role of a person in the team of a tenant.
pub fn team_role(person: &Person, tenant: usize) -> Option<Rank> {
    match person.post {
        _ if person.tenant != Some(tenant) => None,
        Post::Admin => Some(Rank::Admin),
        Post::Teammate => Some(Rank::Member),
        _ => None,
    }
}
