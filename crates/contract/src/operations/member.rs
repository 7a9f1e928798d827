//! `/teams`, and the members of teams and projects.

use chrono::{DateTime, Utc};
use mc_domain::{Role, TeamId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::text::{DisplayName, Login, TeamKey};
use crate::{ProjectKey, Request};

/// A team to create.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"key": "platform", "name": "Platform"}))]
pub struct CreateTeam {
    /// 1 to 64 of `A-Z a-z 0-9 . _ -`, starting with a letter or digit; stored in lower case.
    pub key: TeamKey,
    /// Display name; the key by default.
    pub name: Option<DisplayName>,
}

impl Request for CreateTeam {}

/// The role of a user or team.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"role": "member"}))]
pub struct SetRole {
    /// `viewer`, `agent`, `member`, `maintainer` or `admin`. For a team it is the highest role that
    /// the team gives its members.
    pub role: Role,
}

impl Request for SetRole {}

path! {
    /// A team, in a path.
    TeamPath {
        /// The team's key.
        team: TeamKey,
    }

    /// A member of a team, in a path.
    TeamMemberPath {
        /// The team's key.
        team: TeamKey,
        /// The user's login.
        login: Login,
    }

    /// A member of a project, in a path.
    MemberPath {
        /// The project's key.
        key: ProjectKey,
        /// The user's login.
        login: Login,
    }

    /// A team that a project is shared with, in a path.
    SharePath {
        /// The project's key.
        key: ProjectKey,
        /// The team's key.
        team: TeamKey,
    }
}

/// A team.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "id": "019a0000-0000-7000-8000-000000000017", "key": "platform", "name": "Platform",
    "created_at": "2026-11-20T10:00:00Z"
}))]
pub struct Team {
    /// The team's id.
    pub id: TeamId,
    /// Its key, unique.
    pub key: String,
    /// Display name.
    pub name: String,
    /// When it was created.
    pub created_at: DateTime<Utc>,
}

/// A user or team with its role.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Member {
    /// A user's login or a team's key.
    pub name: String,
    /// The role; of a team the highest that it gives its members.
    pub role: Role,
    /// When the role was granted.
    pub added_at: DateTime<Utc>,
}

/// The members of a team.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "users": [{"name": "vera", "role": "maintainer", "added_at": "2026-11-20T10:00:00Z"}]
}))]
pub struct TeamMembers {
    /// Its users, by login.
    pub users: Vec<Member>,
}

/// The members of a project.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "users": [{"name": "vera", "role": "maintainer", "added_at": "2026-11-20T10:00:00Z"}],
    "teams": [{"name": "platform", "role": "member", "added_at": "2026-11-20T10:00:00Z"}]
}))]
pub struct ProjectMembers {
    /// Users with a role of their own.
    pub users: Vec<Member>,
    /// Teams that give their members a role.
    pub teams: Vec<Member>,
}
