//! `/projects`, and the project that a request is about.

use chrono::{DateTime, Utc};
use mc_domain::{ProjectId, Role};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::text::DisplayName;
use crate::{ProjectKey, Request};

query! {
    /// The project of a request without a body.
    ProjectQuery {
        /// The project's key.
        project_key: ProjectKey,
    }
}

path! {
    /// A project, in a path.
    ProjectPath {
        /// The project's key.
        key: ProjectKey,
    }
}

/// A project to create.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"key": "shop", "name": "Shop"}))]
pub struct CreateProject {
    /// 1 to 64 of `A-Z a-z 0-9 . _ -`, starting with a letter or digit; stored in lower case.
    pub key: ProjectKey,
    /// Display name; the key by default.
    pub name: Option<DisplayName>,
}

impl Request for CreateProject {}

/// Changes of a project.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"name": "Shop and warehouse"}))]
pub struct UpdateProject {
    /// The new display name. The key cannot be changed: clients are configured with it.
    pub name: DisplayName,
}

impl Request for UpdateProject {}

/// A project.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "id": "019a0000-0000-7000-8000-000000000012", "key": "shop", "name": "Shop",
    "role": "maintainer", "created_at": "2026-11-20T10:00:00Z"
}))]
pub struct Project {
    /// The project's id.
    pub id: ProjectId,
    /// Its key, unique.
    pub key: String,
    /// Display name.
    pub name: String,
    /// The caller's role.
    pub role: Role,
    /// When it was created.
    pub created_at: DateTime<Utc>,
}

/// A project and the sizes of its data.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "id": "019a0000-0000-7000-8000-000000000012", "key": "shop", "name": "Shop",
    "role": "maintainer", "created_at": "2026-11-20T10:00:00Z", "records": 318,
    "stale_records": 4, "docs": 57, "dialogs": 120, "tasks": 412, "repositories": 2,
    "files": 1840, "passages": 12480, "pending_vectors": 0
}))]
pub struct ProjectOverview {
    /// Key, name and role.
    #[serde(flatten)]
    pub project: Project,
    /// Records that can be recalled.
    pub records: i64,
    /// Records whose cited code changed.
    pub stale_records: i64,
    /// Documents.
    pub docs: i64,
    /// Number of stored dialogs.
    pub dialogs: i64,
    /// Number of known tasks.
    pub tasks: i64,
    /// Indexed repositories.
    pub repositories: i64,
    /// Indexed files.
    pub files: i64,
    /// Number of searchable passages.
    pub passages: i64,
    /// Passages that keyword search finds and vector search does not yet; 0 if the project's policy
    /// excludes them from the embedding model.
    pub pending_vectors: i64,
}
