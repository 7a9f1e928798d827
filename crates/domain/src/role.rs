//! Roles, permissions, and the minimum role and scope of each permission.

use crate::kinds::vocabularies;
use crate::scope::{Scope, Scopes};

vocabularies! {
    /// A role in a project. Each role has the permissions of the previous one, and more.
    Role, "role", {
        /// Reads.
        Viewer = "viewer",
        /// A program that acts for a user: reads, proposes, drafts code; never decides.
        Agent = "agent",
        /// A person of the team: writes, and accepts proposals of agents.
        Member = "member",
        /// Maintains the memory and its sources, and sets the project's policy.
        Maintainer = "maintainer",
        /// Manages the members of the project.
        Admin = "admin",
    }

    /// A permission in a project.
    Permission, "permission", {
        /// Recall, search and read.
        Read = "read",
        /// Propose a record for a person to accept.
        Propose = "propose",
        /// Draft, preview or review a patch inside the service.
        Draft = "draft",
        /// Save a team record without review, or delete one.
        Write = "write",
        /// Index repositories, ingest documents, sync tasks: all are searchable at once.
        Ingest = "ingest",
        /// Accept a proposal. Only a person may.
        Accept = "accept",
        /// Approve a write that leaves the service. Only a person may.
        Confirm = "confirm",
        /// Push, open, approve or merge; each needs an approval as well.
        Publish = "publish",
        /// Restore deleted records, erase the data of a source, and decide about quarantine items.
        Curate = "curate",
        /// Read the audit.
        Audit = "audit",
        /// Change the project's policy.
        ManagePolicy = "manage_policy",
        /// Manage memberships and roles.
        ManageMembers = "manage_members",
    }
}

impl Role {
    /// Whether the role has the permission. [`is_allowed`] checks the token's scopes as well.
    pub fn allows(self, permission: Permission) -> bool {
        self >= permission.min_role()
    }

    /// Returns the role that a team's grant on a project gives to one of its members. The member's
    /// role in the team caps it, so an agent stays an agent.
    pub fn capped_by_team(granted: Self, in_team: Self) -> Self {
        granted.min(in_team)
    }
}

impl Permission {
    /// Returns the minimum role.
    pub fn min_role(self) -> Role {
        self.requirements().0
    }

    /// Returns the scope that a token needs.
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

/// Whether both the role in the project and the scopes of the token allow the permission.
pub fn is_allowed(role: Role, scopes: Scopes, permission: Permission) -> bool {
    role.allows(permission) && scopes.contains(permission.scope())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lists the whole table, so that every change of it is reviewed here.
    #[test]
    fn roles_have_the_permissions_of_the_table() {
        use Permission::{
            Accept, Audit, Confirm, Curate, Draft, Ingest, ManageMembers, ManagePolicy, Propose,
            Publish, Read, Write,
        };
        let viewer = vec![Read];
        let agent = [viewer.clone(), vec![Propose, Draft]].concat();
        let member_only = vec![Write, Ingest, Accept, Confirm, Publish];
        let member = [agent.clone(), member_only].concat();
        let maintainer = [member.clone(), vec![Curate, Audit, ManagePolicy]].concat();
        let admin = [maintainer.clone(), vec![ManageMembers]].concat();
        let table = Role::ALL.iter().copied().zip([viewer, agent, member, maintainer, admin]);
        for (role, allowed) in table {
            for permission in Permission::ALL.iter().copied() {
                assert_eq!(
                    role.allows(permission),
                    allowed.contains(&permission),
                    "{role} {permission:?}"
                );
            }
        }
    }

    #[test]
    fn agents_never_decide_whatever_their_team_is_granted() {
        for granted in Role::ALL.iter().copied() {
            let role = Role::capped_by_team(granted, Role::Agent);
            for permission in
                [Permission::Accept, Permission::Confirm, Permission::Publish, Permission::Write]
            {
                assert!(!is_allowed(role, Scopes::ALL, permission), "{granted} {permission:?}");
            }
        }
    }

    #[test]
    fn team_grant_never_raises_a_member() {
        for granted in Role::ALL.iter().copied() {
            for own in Role::ALL.iter().copied() {
                let role = Role::capped_by_team(granted, own);
                assert!(role <= granted && role <= own, "{granted} {own}");
            }
        }
    }

    #[test]
    fn role_without_the_scope_is_not_enough() {
        for permission in Permission::ALL.iter().copied() {
            let others: Scopes =
                Scopes::ALL.iter().filter(|one| *one != permission.scope()).collect();
            assert!(!is_allowed(Role::Admin, others, permission), "{permission:?}");
            assert!(is_allowed(Role::Admin, Scopes::ALL, permission), "{permission:?}");
        }
    }
}
