//! `/audit`: the audit of a project, or of the service.

use chrono::{DateTime, Utc};
use mc_domain::{AuditAction, ProjectId, UserId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

use crate::number::{EventNumber, PageLimit};
use crate::text::{ExternalId, Login};
use crate::{ProjectKey, Request};

/// Which audit to read.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ChainQuery {
    /// The project's key. By default it is the service's audit, with logins, users, teams, and
    /// created and deleted projects; for service administrators.
    #[param(inline)]
    pub project_key: Option<ProjectKey>,
    /// The id of a deleted project, as in the event `project.deleted`; for service administrators.
    #[param(inline)]
    pub project_id: Option<ProjectId>,
}

impl Request for ChainQuery {}

/// Which audit events to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AuditQuery {
    /// The project's key. By default it is the service's audit; for service administrators.
    #[param(inline)]
    pub project_key: Option<ProjectKey>,
    /// The id of a deleted project, as in the event `project.deleted`; for service administrators.
    #[param(inline)]
    pub project_id: Option<ProjectId>,
    /// Only events of this user.
    #[param(inline)]
    pub actor: Option<Login>,
    /// Only events of this action, such as `record.saved`.
    #[param(inline)]
    pub action: Option<AuditAction>,
    /// Only events with this target: an id or a key.
    #[param(inline)]
    pub target: Option<ExternalId>,
    /// Only events at or after this time (RFC 3339).
    pub since: Option<DateTime<Utc>>,
    /// Only events before this time (RFC 3339).
    pub until: Option<DateTime<Utc>>,
    /// The `next_cursor` of the previous page.
    #[param(inline)]
    pub cursor: Option<EventNumber>,
    /// Maximum number of items, 1 to 200; 50 by default.
    #[param(inline)]
    pub limit: Option<PageLimit>,
}

impl Request for AuditQuery {}

/// An event of the audit.
#[skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "seq": 42, "occurred_at": "2026-11-20T10:00:00Z", "actor": "vera",
    "actor_id": "019a0000-0000-7000-8000-000000000010", "action": "record.saved",
    "target": "019a0000-0000-7000-8000-000000000002",
    "details": {"outcome": "created", "kind": "fact", "visibility": "team", "replaced": []},
    "mac": "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9"
}))]
pub struct AuditEvent {
    /// Its number in the chain, from 1, without gaps.
    pub seq: i64,
    /// When it occurred.
    pub occurred_at: DateTime<Utc>,
    /// Login of the actor; absent for unauthenticated callers and the service itself.
    pub actor: Option<String>,
    /// The actor's id; absent with `actor`.
    pub actor_id: Option<UserId>,
    /// Such as `record.saved`.
    pub action: String,
    /// The target: an id or a key.
    pub target: String,
    /// Details, which depend on the action.
    #[schema(value_type = Object)]
    pub details: Value,
    /// MAC of the event and the one before it, under a key outside the database; hexadecimal.
    pub mac: String,
}

/// The result of verifying an audit.
#[skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"is_valid": true, "events": 42, "first_seq": 1, "last_seq": 42}))]
pub struct Verification {
    /// Whether every event is unchanged and in its place.
    pub is_valid: bool,
    /// Number of valid events before the first invalid one.
    pub events: i64,
    /// Number of the first event; above 1 if the policy deleted older ones.
    pub first_seq: Option<i64>,
    /// Number of the last event.
    pub last_seq: Option<i64>,
    /// The first fault, if any.
    pub error: Option<String>,
}
