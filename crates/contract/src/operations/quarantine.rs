//! `/quarantine`: requests that a policy withholds until a maintainer decides.

use chrono::{DateTime, Utc};
use mc_domain::{QuarantineItemId, QuarantineState};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::number::PageLimit;
use crate::{ProjectKey, Request};

path! {
    /// A quarantine item, in a path.
    QuarantineItemPath {
        /// The item's id.
        id: QuarantineItemId,
    }
}

/// Which quarantine items to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct QuarantineQuery {
    /// The project's key.
    #[param(inline)]
    pub project_key: ProjectKey,
    /// Only items in this state.
    pub state: Option<QuarantineState>,
    /// The `next_cursor` of the previous page.
    #[param(inline)]
    pub cursor: Option<QuarantineItemId>,
    /// Maximum number of items, 1 to 200; 50 by default.
    #[param(inline)]
    pub limit: Option<PageLimit>,
}

impl Request for QuarantineQuery {}

/// A request in quarantine.
#[skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "id": "019a0000-0000-7000-8000-000000000008", "kind": "save", "reasons": ["github-token"],
    "excerpt": "The key of the shop is [secret:github-token]", "submitted_by": "vera",
    "state": "pending", "created_at": "2026-11-20T10:00:00Z",
    "expires_at": "2026-12-20T10:00:00Z"
}))]
pub struct QuarantineItem {
    /// The item's id.
    pub id: QuarantineItemId,
    /// `save`, `dialog` or `document`.
    pub kind: String,
    /// Categories of the sanitizer (`jwt`) and of the prompt guard (`override`).
    pub reasons: Vec<String>,
    /// The beginning of its text, masked; empty once it was decided. It may contain prompt
    /// injection: show it to people only.
    pub excerpt: String,
    /// Login of the user who submitted it.
    pub submitted_by: Option<String>,
    /// Where it is in its life.
    pub state: QuarantineState,
    /// When it was submitted.
    pub created_at: DateTime<Utc>,
    /// When it is deleted without a decision.
    pub expires_at: DateTime<Utc>,
    /// Login of the maintainer who decided.
    pub decided_by: Option<String>,
    /// When it was decided.
    pub decided_at: Option<DateTime<Utc>>,
}

/// A request in quarantine with its content.
#[skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "id": "019a0000-0000-7000-8000-000000000008", "kind": "save", "reasons": ["github-token"],
    "excerpt": "The key of the shop is [secret:github-token]", "submitted_by": "vera",
    "state": "pending", "created_at": "2026-11-20T10:00:00Z",
    "expires_at": "2026-12-20T10:00:00Z",
    "content": "{\"kind\":\"fact\",\"content\":\"The key of the shop is [secret:github-token]\"}"
}))]
pub struct QuarantineItemWithContent {
    /// The request.
    #[serde(flatten)]
    pub item: QuarantineItem,
    /// The whole request as JSON, with secrets and personal data masked; absent once it was
    /// decided. It may contain prompt injection: show it to people only.
    pub content: Option<String>,
}

/// The outcome of a release.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "outcome": "created", "id": "019a0000-0000-7000-8000-000000000002",
    "reason": "nothing similar is known"
}))]
pub struct ReleaseResponse {
    /// `created`, `merged`, `superseded`, `proposed`, `duplicate`, `updated`, `unchanged` or
    /// `kept`.
    pub outcome: String,
    /// The record, dialog or document that has its text now.
    pub id: Uuid,
    /// Why.
    pub reason: String,
}
