//! `/projects/{key}/policy`, its versions, and `/projects/{key}/notification-settings`.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use mc_domain::Policy;
use mc_domain::policy::SettingChange;
use mc_sanitizer::Sanitizer;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::number::{PageLimit, VersionNumber};
use crate::{Request, ValidationError, rules};

/// A policy that replaces a project's.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub struct SetPolicy(Policy);

impl SetPolicy {
    /// The policy, with its commands as they are stored.
    pub fn into_inner(self) -> Policy {
        let Self(mut policy) = self;
        for command in &mut policy.allowed_commands {
            *command = command.trim().to_owned();
        }
        policy
    }
}

impl Request for SetPolicy {
    fn check(&self) -> Result<(), ValidationError> {
        let Self(policy) = self;
        for (index, command) in policy.allowed_commands.iter().enumerate() {
            let checked = rules::command(command);
            checked.map_err(|error| error.at(format!("allowed_commands[{index}]")))?;
        }
        policy.check().map_err(|invalid| ValidationError::new(invalid.field, invalid.rule))?;
        let known: BTreeSet<_> = Sanitizer::default().categories().collect();
        let mut names = policy.sanitizer.categories.keys();
        let Some(name) = names.find(|name| !known.contains(name.as_str())) else { return Ok(()) };
        let known = known.into_iter().collect::<Vec<_>>().join(", ");
        let rule = format!("{name:?} is not a category of the sanitizer; use one of: {known}");
        Err(ValidationError::new("sanitizer.categories", rule))
    }
}

query! {
    /// Which versions of a policy to list.
    VersionQuery {
        /// The `next_cursor` of the previous page.
        cursor: Option<VersionNumber>,
        /// Maximum number of versions, 1 to 200; 50 by default.
        limit: Option<PageLimit>,
    }
}

/// The policy in force.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"version": 0, "policy": Policy::default()}))]
pub struct ProjectPolicy {
    /// The policy's version, which is the response's `ETag`; 0 for the default policy.
    pub version: i32,
    /// All settings, also those that have their defaults.
    pub policy: Policy,
}

/// A version of a policy.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "version": 1, "policy": Policy {
        tokens: mc_domain::policy::TokenLimits { recall: 8_000, ..Default::default() },
        ..Policy::default()
    },
    "changed_by": "vera", "changed_at": "2026-11-20T10:00:00Z",
    "changes": [{"field": "tokens.recall", "before": 32_000, "after": 8_000}]
}))]
pub struct PolicyVersion {
    /// The version, from 1.
    pub version: i32,
    /// All settings.
    pub policy: Policy,
    /// Login of the user who set it; absent if the user was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed_by: Option<String>,
    /// When it was set.
    pub changed_at: DateTime<Utc>,
    /// The settings that differ from the version before.
    pub changes: Vec<SettingChange>,
}

/// How a project's notifications are signed.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "secret": "example-signing-key-of-this-project",
    "webhook_url": "https://hooks.example.org/memory"
}))]
pub struct NotificationSettings {
    /// The key of the HMAC-SHA256 over `<X-Memory-Copilot-Timestamp>.<body>`, which the header
    /// `X-Memory-Copilot-Signature` contains as `sha256=<hexadecimal digits>`.
    pub secret: String,
    /// The URL to which notifications are sent; none are if it is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook_url: Option<String>,
}
