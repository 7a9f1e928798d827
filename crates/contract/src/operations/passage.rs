//! `/passages`, `/handles` and `/paths`: resolution of ids, handles and absolute paths.

use std::str::FromStr;

use chrono::{DateTime, Utc};
use mc_domain::{
    BundleId, DialogId, DocId, Handle, InvalidHandle, PassageId, RecordId, SourceKind, Trust,
};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_with::skip_serializing_none;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use crate::text::AbsolutePath;
use crate::{ProjectKey, Request, Violation, limits, schema};

path! {
    /// A passage, in a path.
    PassagePath {
        /// The passage's id, as a search returned it.
        id: PassageId,
    }
}

/// A passage.
#[skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "id": "019a0000-0000-7000-8000-000000000005", "source": "code", "title": "app/cart.rb",
    "location": "app/cart.rb", "line_start": 3, "line_end": 5, "symbols": ["Cart#total"],
    "text": "def total\n  items.sum(&:price)\nend", "trust": "imported",
    "updated_at": "2026-11-20T10:00:00Z"
}))]
pub struct Passage {
    /// The passage's id.
    pub id: PassageId,
    /// Kind of its source.
    pub source: SourceKind,
    /// One line that names it.
    pub title: String,
    /// File path or URL.
    pub location: String,
    /// Its first line, from 1.
    pub line_start: Option<i32>,
    /// Its last line, inclusive.
    pub line_end: Option<i32>,
    /// The definitions in it.
    pub symbols: Vec<String>,
    /// Text, with secrets and personal data masked.
    pub text: String,
    /// How far it is trusted.
    pub trust: Trust,
    /// The record that it was taken from.
    pub record_id: Option<RecordId>,
    /// The document that it was taken from.
    pub doc_id: Option<DocId>,
    /// The dialog that it was taken from.
    pub dialog_id: Option<DialogId>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
}

/// Which handles, and of which bundle.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct HandleQuery {
    /// The project's key.
    #[param(inline)]
    pub project_key: ProjectKey,
    /// One of the caller's bundles; the newest one in the project that is not empty when absent.
    #[param(inline)]
    pub bundle_id: Option<BundleId>,
    /// Handles with commas between, such as `m1,d2`; all of the bundle when absent.
    #[param(inline)]
    pub handles: Option<HandleList>,
}

impl Request for HandleQuery {}

/// Handles with commas between, each as it is written in a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandleList(Vec<Handle>);

/// The largest number of a handle; no bundle has nearly as many items.
const MAX_HANDLE: u16 = 999;

impl HandleList {
    /// Returns the handles in the order of the request.
    pub fn as_slice(&self) -> &[Handle] {
        &self.0
    }
}

impl FromStr for HandleList {
    type Err = Violation;

    fn from_str(text: &str) -> Result<Self, Violation> {
        let length = text.chars().count();
        if length > limits::HANDLES {
            let limit = limits::HANDLES;
            return Err(Violation::new(format!("holds {length} characters; the limit is {limit}")));
        }
        let handle = |word: &str| {
            let handle = word.parse::<Handle>().ok();
            let handle = handle.filter(|one| one.number <= MAX_HANDLE && one.to_string() == word);
            handle.ok_or_else(|| Violation::new(InvalidHandle))
        };
        text.split(',').map(handle).collect::<Result<_, _>>().map(Self)
    }
}

impl<'de> Deserialize<'de> for HandleList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl PartialSchema for HandleList {
    fn schema() -> RefOr<Schema> {
        schema::string()
            .pattern(Some("^[mdtc][1-9][0-9]{0,2}(,[mdtc][1-9][0-9]{0,2})*$"))
            .max_length(Some(limits::HANDLES))
            .description(Some("Handles of a bundle's items, with commas between."))
            .into()
    }
}

impl ToSchema for HandleList {}

/// The items that handles stand for.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "bundle_id": "019a0000-0000-7000-8000-000000000001",
    "items": [{"handle": "m1", "record_id": "019a0000-0000-7000-8000-000000000002"}],
    "unknown": [], "known": ["m1"]
}))]
pub struct HandlesResponse {
    /// Bundle of the handles.
    pub bundle_id: BundleId,
    /// The items of the handles.
    pub items: Vec<NamedItem>,
    /// Handles that the bundle does not have.
    pub unknown: Vec<String>,
    /// Handles that the bundle has, in the order shown.
    pub known: Vec<String>,
}

/// The item that a handle stands for. An item without any id has been deleted.
#[skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct NamedItem {
    /// Short name of the item, such as `m1`.
    pub handle: String,
    /// Id of the record; absent for other sources.
    pub record_id: Option<RecordId>,
    /// The document.
    pub doc_id: Option<DocId>,
    /// Id of the dialog; absent for other sources.
    pub dialog_id: Option<DialogId>,
    /// The passage through which it was found, which may have changed or be deleted since.
    pub passage_id: Option<PassageId>,
}

query! {
    /// Which absolute path.
    PathQuery {
        /// The project's key.
        project_key: ProjectKey,
        /// A path from the root of a machine's file system.
        path: AbsolutePath,
    }
}

/// A path within a repository.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"path": "app/services/cart_sessions/setting.rb"}))]
pub struct PathResponse {
    /// Relative to the repository's root; empty for the root itself.
    pub path: String,
}
