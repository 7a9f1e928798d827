//! What a principal may do in a project: roles in one order, and the least role for each action.

use crate::kinds::vocabulary;
use crate::scope::{Scope, Scopes};

vocabulary!(
    /// A role in a project. Each may do what the one before it may, and more.
    Role, "role", {
        /// Reads.
        Viewer = "viewer",
        /// A program that works for somebody: reads, proposes, has code drafted; never decides.
        Agent = "agent",
        /// A person of the team: writes, and confirms what agents propose.
        Member = "member",
        /// Keeps the memory and its sources in order, and sets the project's policies.
        Maintainer = "maintainer",
        /// Decides who belongs to the project.
        Admin = "admin",
    }
);

/// Something that is done in a project and may be refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Permission {
    /// Recall, search and read what the project knows.
    Read,
    /// Suggest a record that a person has yet to accept.
    Propose,
    /// Have a patch drafted, previewed or reviewed inside the service.
    Draft,
    /// Save a record that counts at once, or take one out.
    Write,
    /// Index a repository, send documents, and take over what a tracker says: everybody finds it at once.
    Ingest,
    /// Make a proposed record count. Only a person does that.
    Accept,
    /// Agree to a write that leaves the service. Only a person does that.
    Confirm,
    /// Push, open, approve or merge; each takes a confirmation besides.
    Publish,
    /// Bring back what was taken out, forget what came from somewhere, and decide about the
    /// quarantine.
    Curate,
    /// See who did what.
    Audit,
    /// Change what the project keeps, masks and runs.
    ManagePolicy,
    /// Give and take memberships and roles.
    ManageMembers,
}

impl Role {
    /// Whether the role is enough for `action`; the token's scopes are another matter
    /// ([`is_allowed`]).
    pub fn allows(self, action: Permission) -> bool {
        self >= action.min_role()
    }

    /// The role that a team's grant on a project gives to one of its members: never above the role
    /// that the member has in the team. So an agent stays one, whatever its team was granted.
    pub fn capped_by_team(granted: Self, in_team: Self) -> Self {
        granted.min(in_team)
    }
}

impl Permission {
    /// Every action.
    pub const ALL: [Self; 12] = [
        Self::Read,
        Self::Propose,
        Self::Draft,
        Self::Write,
        Self::Ingest,
        Self::Accept,
        Self::Confirm,
        Self::Publish,
        Self::Curate,
        Self::Audit,
        Self::ManagePolicy,
        Self::ManageMembers,
    ];

    /// The least role that may do it.
    pub fn min_role(self) -> Role {
        self.requirements().0
    }

    /// The scope that a token must have for it.
    pub fn scope(self) -> Scope {
        self.requirements().1
    }

    fn requirements(self) -> (Role, Scope) {
        match self {
            Self::Read => (Role::Viewer, Scope::MemoryRead),
            Self::Propose => (Role::Agent, Scope::MemoryWrite),
            Self::Draft => (Role::Agent, Scope::Coding),
            Self::Write | Self::Accept => (Role::Member, Scope::MemoryWrite),
            Self::Ingest => (Role::Member, Scope::Ingest),
            Self::Confirm | Self::Publish => (Role::Member, Scope::GithubWrite),
            Self::Curate => (Role::Maintainer, Scope::MemoryWrite),
            Self::Audit | Self::ManagePolicy => (Role::Maintainer, Scope::Admin),
            Self::ManageMembers => (Role::Admin, Scope::Admin),
        }
    }
}

/// Whether a principal with `role` in the project may do `action` with a token of these `scopes`.
pub fn is_allowed(role: Role, scopes: Scopes, action: Permission) -> bool {
    role.allows(action) && scopes.contains(action.scope())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole table, so that a change of it is a change here.
    #[test]
    fn each_role_may_do_what_its_line_says() {
        use Permission::{
            Accept, Audit, Confirm, Curate, Draft, Ingest, ManageMembers, ManagePolicy, Propose,
            Publish, Read, Write,
        };
        let viewer = vec![Read];
        let agent = [viewer.clone(), vec![Propose, Draft]].concat();
        let persons = vec![Write, Ingest, Accept, Confirm, Publish];
        let member = [agent.clone(), persons].concat();
        let maintainer = [member.clone(), vec![Curate, Audit, ManagePolicy]].concat();
        let admin = [maintainer.clone(), vec![ManageMembers]].concat();
        let table = Role::ALL.iter().copied().zip([viewer, agent, member, maintainer, admin]);
        for (role, allowed) in table {
            for action in Permission::ALL {
                assert_eq!(role.allows(action), allowed.contains(&action), "{role} {action:?}");
            }
        }
    }

    #[test]
    fn an_agent_never_decides_whatever_its_team_was_granted() {
        for granted in Role::ALL.iter().copied() {
            let role = Role::capped_by_team(granted, Role::Agent);
            for action in
                [Permission::Accept, Permission::Confirm, Permission::Publish, Permission::Write]
            {
                assert!(!is_allowed(role, Scopes::ALL, action), "{granted} {action:?}");
            }
        }
    }

    #[test]
    fn a_teams_grant_never_raises_a_member() {
        for granted in Role::ALL.iter().copied() {
            for own in Role::ALL.iter().copied() {
                let role = Role::capped_by_team(granted, own);
                assert!(role <= granted && role <= own, "{granted} {own}");
            }
        }
    }

    #[test]
    fn a_role_without_the_scope_is_not_enough() {
        for action in Permission::ALL {
            let others: Scopes = Scopes::ALL.iter().filter(|one| *one != action.scope()).collect();
            assert!(!is_allowed(Role::Admin, others, action), "{action:?}");
            assert!(is_allowed(Role::Admin, Scopes::ALL, action), "{action:?}");
        }
    }
}
