//! `/users` and `/whoami`: the users of the service.

use chrono::{DateTime, Utc};
use mc_domain::{Scope, UserId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::number::PageLimit;
use crate::text::{DisplayName, Email, Login};
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
