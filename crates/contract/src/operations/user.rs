//! `/users` and `/whoami`: the users of the service.

use chrono::{DateTime, Utc};
use mc_domain::{Scope, UserId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::number::{InvitationDays, PageLimit};
use crate::text::{DisplayName, Email, Login, ProviderHost, ProviderUser};
use crate::{Request, ValidationError};

/// A user to create.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"login": "ann", "name": "Ann Example", "email": "ann@example.com"}))]
pub struct CreateUser {
    /// 1 to 64 letters, digits, ".", "_" or "-", starting with a letter or digit. It is unique
    /// regardless of case.
    pub login: Login,
    /// Display name; empty when absent.
    pub name: Option<DisplayName>,
    /// Email address. A first sign-in with it finds this account.
    pub email: Option<Email>,
    /// Whether it is a program that acts by itself. It proposes, and confirms nothing.
    #[serde(default)]
    pub is_agent: bool,
    /// Whether it administers the service. No agent does.
    #[serde(default)]
    pub is_admin: bool,
}

impl Request for CreateUser {
    fn check(&self) -> Result<(), ValidationError> {
        if self.is_agent && self.is_admin {
            return Err(ValidationError::new("is_admin", "can't be set for an agent"));
        }
        Ok(())
    }
}

/// Changes of a user. Fields that are absent keep their value.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"is_disabled": true}))]
pub struct UpdateUser {
    /// Display name.
    pub name: Option<DisplayName>,
    /// Whether the user administers the service.
    pub is_admin: Option<bool>,
    /// Whether the account is disabled.
    pub is_disabled: Option<bool>,
}

impl Request for UpdateUser {}

path! {
    /// A user, in a path.
    UserPath {
        /// The user's login.
        login: Login,
    }
}

query! {
    /// Which users to list.
    UserQuery {
        /// The `next_cursor` of the previous page.
        cursor: Option<Login>,
        /// Maximum number of users, 1 to 200; 50 by default.
        limit: Option<PageLimit>,
    }
}

/// An invitation of a person who has an account.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"expires_in_days": 7}))]
pub struct CreateInvitation {
    /// 1 to 30 days; 7 by default.
    pub expires_in_days: Option<InvitationDays>,
}

impl Request for CreateInvitation {}

/// An invitation with its code, which is shown once.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "login": "ann", "code": "example-invitation-code",
    "url": "https://memory.example.org/auth/invitation", "expires_at": "2026-11-27T10:00:00Z"
}))]
pub struct Invitation {
    /// Login of the account.
    pub login: String,
    /// The code, which signs in once. Whoever has it takes over the account.
    pub code: String,
    /// The page on which the person types the code.
    pub url: String,
    /// When the code expires.
    pub expires_at: DateTime<Utc>,
}

/// How a user leaves.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"successor_login": "vera"}))]
pub struct OffboardUser {
    /// Login of the person who takes over the records that name the user as their owner, and the
    /// projects and teams that have no other administrator.
    pub successor_login: Option<Login>,
}

impl Request for OffboardUser {}

/// What was taken from a user who left.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "login": "ann", "sessions": 2, "tokens": 1, "private_records": 4, "owned_records": 12,
    "projects": ["shop"], "teams": []
}))]
pub struct OffboardResponse {
    /// Login of the account, which is disabled.
    pub login: String,
    /// Sessions that were revoked.
    pub sessions: u64,
    /// Personal access tokens that were revoked.
    pub tokens: u64,
    /// Private records that were deleted permanently.
    pub private_records: u64,
    /// Records that named the user as their owner; they have the successor now, or no owner.
    pub owned_records: u64,
    /// Keys of the projects that had no other administrator. The successor is theirs now; without
    /// one, only service administrators manage their members.
    pub projects: Vec<String>,
    /// Keys of the teams that had no other administrator, like `projects`.
    pub teams: Vec<String>,
}

/// A user.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "id": "019a0000-0000-7000-8000-000000000010", "login": "vera", "name": "Vera Example",
    "email": "vera@example.com", "is_agent": false, "is_admin": false,
    "created_at": "2026-11-20T10:00:00Z", "disabled_at": null
}))]
pub struct User {
    /// The user's id.
    pub id: UserId,
    /// Unique login, regardless of case.
    pub login: String,
    /// Display name; may be empty.
    pub name: String,
    /// Email address.
    pub email: Option<String>,
    /// Whether it is a program that acts by itself.
    pub is_agent: bool,
    /// Whether the user administers the service.
    pub is_admin: bool,
    /// When the account was created.
    pub created_at: DateTime<Utc>,
    /// When the account was disabled.
    pub disabled_at: Option<DateTime<Utc>>,
}

/// The user of the token.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "id": "019a0000-0000-7000-8000-000000000010", "login": "vera", "is_admin": false,
    "scopes": ["memory:read", "memory:write"]
}))]
pub struct CurrentUser {
    /// The user's id.
    pub id: UserId,
    /// The user's login.
    pub login: String,
    /// Whether the user administers the service.
    pub is_admin: bool,
    /// Scopes of the token.
    pub scopes: Vec<Scope>,
}

path! {
    /// A user and the host of a provider, in a path.
    ProviderLoginPath {
        /// The user's login here.
        login: Login,
        /// Host of the provider's pages, such as `github.com`.
        host: ProviderHost,
    }
}

/// The login of a user at a provider.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"login": "vera-example"}))]
pub struct SetProviderLogin {
    /// The name of the user's account there, as pull requests have it.
    pub login: ProviderUser,
}

impl Request for SetProviderLogin {}

/// A login of a user at a provider, to tie authors of pull requests to users.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "host": "github.com", "login": "vera-example", "is_verified": true,
    "created_at": "2026-11-20T10:00:00Z"
}))]
pub struct ProviderLogin {
    /// Host of the provider's pages.
    pub host: String,
    /// Name of the account there.
    pub login: String,
    /// Whether the user signed in with it; otherwise an administrator set it.
    pub is_verified: bool,
    /// When it was set.
    pub created_at: DateTime<Utc>,
}
