//! `/projects/{key}/exports`: exports of a project's records.

use chrono::{DateTime, Utc};
use mc_domain::ExportId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ProjectKey;

path! {
    /// An export, in a path.
    ExportPath {
        /// The project's key.
        key: ProjectKey,
        /// The export's id.
        id: ExportId,
    }
}

/// An export of a project's records.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "id": "019a0000-0000-7000-8000-000000000014", "created_at": "2026-11-20T03:00:00Z",
    "record_count": 318, "size_bytes": 262_144
}))]
pub struct Export {
    /// The export's id.
    pub id: ExportId,
    /// When it was created.
    pub created_at: DateTime<Utc>,
    /// Number of records.
    pub record_count: i32,
    /// Size of the document in bytes, uncompressed.
    pub size_bytes: i64,
}
