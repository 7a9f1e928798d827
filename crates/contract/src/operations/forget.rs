//! `POST /forget`: erasure of the contributions of a user or a source.

use mc_domain::RecordId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::text::{Login, SourceReference};
use crate::{ProjectKey, Request, ValidationError};

/// The user or the source whose contributions are erased: one of `saved_by` and `source`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "project_key": "shop", "source": "https://wiki.example.org/x/1", "dry_run": true
}))]
pub struct ForgetRequest {
    /// The project's key.
    pub project_key: ProjectKey,
    /// A user's login.
    pub saved_by: Option<Login>,
    /// A `source` of contributions or documents, or the `namespace` of a repository.
    pub source: Option<SourceReference>,
    /// Whether to only report the data that would be erased.
    #[serde(default)]
    pub dry_run: bool,
}

/// The contributor whose contributions are erased.
#[derive(Debug, Clone, Copy)]
pub enum ErasureTarget<'a> {
    /// A user.
    User(&'a Login),
    /// A source.
    Source(&'a SourceReference),
}

impl ForgetRequest {
    /// Returns the user or the source that the request names.
    pub fn target(&self) -> Result<ErasureTarget<'_>, ValidationError> {
        match (&self.saved_by, &self.source) {
            (Some(login), None) => Ok(ErasureTarget::User(login)),
            (None, Some(source)) => Ok(ErasureTarget::Source(source)),
            _ => Err(ValidationError::new("saved_by", "give one of `saved_by` and `source`")),
        }
    }
}

impl Request for ForgetRequest {
    fn check(&self) -> Result<(), ValidationError> {
        self.target().map(drop)
    }
}

/// The erased data; in a dry run, the data that would be erased.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "dry_run": true, "deleted": ["019a0000-0000-7000-8000-000000000002"], "rolled_back": [],
    "reattributed": [], "restored": [], "dialogs": 0, "documents": 1, "files": 0,
    "quarantine_items": 0, "bundles": 12, "usage_rows": 30
}))]
pub struct ForgetResponse {
    /// Whether nothing was erased.
    pub dry_run: bool,
    /// Deleted records, which had no other contributions.
    pub deleted: Vec<RecordId>,
    /// Records with other contributions: rolled back to the last version of those.
    pub rolled_back: Vec<RecordId>,
    /// Records whose text is of others: only the contributions were erased.
    pub reattributed: Vec<RecordId>,
    /// Records of others that a deleted record had replaced: restored.
    pub restored: Vec<RecordId>,
    /// Deleted dialogs.
    pub dialogs: u64,
    /// Deleted documents.
    pub documents: u64,
    /// Files of the deleted repository.
    pub files: u64,
    /// Deleted quarantine items of the user. Always 0 for a source: the source of an item is
    /// encrypted with it.
    pub quarantine_items: u64,
    /// Deleted bundles of the user, with the requests of their recalls. Always 0 for a source.
    #[serde(default)]
    pub bundles: u64,
    /// Deleted outcomes of saves, and sessions, of the user. Always 0 for a source.
    #[serde(default)]
    pub usage_rows: u64,
}
