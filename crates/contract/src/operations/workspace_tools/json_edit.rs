//! `json_edit_tool`: views and edits values of JSON files below the locked directory.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use super::{fields, subcommands};
use crate::number::ArrayIndex;
use crate::text::{JsonKey, JsonPath, WorkspacePath};
use crate::{Request, ValidationError};

subcommands! {
    /// Subcommands of `json_edit_tool`.
    JsonEditCommand {
        /// Returns the values at a path.
        View = "view",
        /// Replaces the value at a path.
        Set = "set",
        /// Adds a value to the object or array at a path.
        Add = "add",
        /// Removes the value at a path.
        Remove = "remove",
    }
}

/// A call of `json_edit_tool`, in the edit phase.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "subcommand": "set", "path": "package.json", "json_path": "$.version", "value": "1.1.0"
}))]
pub struct JsonEditRequest {
    /// What to do.
    pub subcommand: JsonEditCommand,
    /// File, relative to the locked directory.
    pub path: WorkspacePath,
    /// Values to view, set or remove; for `add`, the object or array that gets the value.
    pub json_path: JsonPath,
    /// `set`, `add` (required): any JSON value, `null` as well.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Value>)]
    pub value: Option<Value>,
    /// `add`: the new key of an object. Required for an object.
    pub key: Option<JsonKey>,
    /// `add`: the index in an array before which the value is added; its end by default.
    pub index: Option<ArrayIndex>,
    /// `set`, `remove`: whether up to 100 matches are changed; by default, more than one is an
    /// error.
    pub all: Option<bool>,
}

impl Request for JsonEditRequest {
    fn check(&self) -> Result<(), ValidationError> {
        let uses: fields::Uses = match self.subcommand {
            JsonEditCommand::View => (&[], &[]),
            JsonEditCommand::Set => (&["value"], &["all"]),
            JsonEditCommand::Add => (&["value"], &["key", "index"]),
            JsonEditCommand::Remove => (&[], &["all"]),
        };
        fields::check(
            self.subcommand.as_str(),
            uses,
            &[
                ("value", self.value.is_some()),
                ("key", self.key.is_some()),
                ("index", self.index.is_some()),
                ("all", self.all.is_some()),
            ],
        )?;
        if self.key.is_some() && self.index.is_some() {
            let rule = "must not be given with key; an object has keys, and an array has indices";
            return Err(ValidationError::new("index", rule));
        }
        Ok(())
    }
}

/// Deserializes a value that is present, also `null`.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
