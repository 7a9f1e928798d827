//! Free-form JSON that belongs to a record.

use mc_domain::{check_line, check_text};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use utoipa::openapi::schema::{
    AnyOfBuilder, ArrayBuilder, Object, ObjectBuilder, Schema, SchemaType, Type,
};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use crate::schema::{self, CONTROL};
use crate::{ValidationError, limits};

/// Names that the tools know, which hold texts.
const TEXTS: [&str; 2] = ["patch_sha", "source_dialog_id"];
/// Names of a save's own fields.
const FIELDS: [&str; 3] = ["url", "steps", "patch_ref"];

/// What else belongs to a record: at most 16 KiB of JSON that PostgreSQL can store.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Meta(Map<String, Value>);

impl Meta {
    /// The JSON object.
    pub fn into_inner(self) -> Map<String, Value> {
        self.0
    }

    /// Checks every name and text in it, for a field called `field`.
    pub fn check(&self, field: &str) -> Result<(), ValidationError> {
        for name in TEXTS {
            if self.0.get(name).is_some_and(|value| !value.is_string() && !value.is_null()) {
                return Err(ValidationError::new(format!("{field}.{name}"), "must be a text"));
            }
        }
        if let Some(name) = FIELDS.into_iter().find(|name| self.0.contains_key(*name)) {
            let rule = format!("is a field of its own; send `{name}` next to `{field}`, not in it");
            return Err(ValidationError::new(format!("{field}.{name}"), rule));
        }
        check_members(field, &self.0, limits::META_DEPTH)
    }
}

impl<'de> Deserialize<'de> for Meta {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Map::<String, Value>::deserialize(deserializer)?;
        let bytes =
            object.iter().map(|(key, value)| key.len() + value.to_string().len()).sum::<usize>();
        if bytes > limits::META_BYTES {
            let limit = limits::META_BYTES;
            let rule = format!("holds {bytes} bytes of JSON; the limit is {limit}");
            return Err(D::Error::custom(rule));
        }
        Ok(Self(object))
    }
}

fn check_members(
    field: &str,
    object: &Map<String, Value>,
    depth: usize,
) -> Result<(), ValidationError> {
    object.iter().try_for_each(|(key, value)| {
        check_line(key).map_err(|e| ValidationError::new(field, format!("a key {e}")))?;
        check_value(&format!("{field}.{key}"), value, depth)
    })
}

fn check_value(field: &str, value: &Value, depth: usize) -> Result<(), ValidationError> {
    let Some(depth) = depth.checked_sub(1) else {
        let limit = limits::META_DEPTH;
        return Err(ValidationError::new(field, format!("is nested deeper than {limit} levels")));
    };
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        Value::String(text) => check_text(text).map_err(|e| ValidationError::new(field, e)),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .try_for_each(|(index, item)| check_value(&format!("{field}[{index}]"), item, depth)),
        Value::Object(object) => check_members(field, object, depth),
    }
}

impl PartialSchema for Meta {
    fn schema() -> RefOr<Schema> {
        let text_or_null =
            || storable().schema_type(SchemaType::from_iter([Type::String, Type::Null]));
        ObjectBuilder::new()
            .property("patch_sha", text_or_null())
            .property("source_dialog_id", text_or_null())
            .property_names(Some(key(r"(?!(url|steps|patch_ref)$)")))
            .additional_properties(Some(Ref::from_schema_name("MetaValue")))
            .description(Some(
                "What else belongs to a record, at most 16 KiB of JSON. `patch_sha` and \
                 `source_dialog_id` hold texts; `url`, `steps` and `patch_ref` are fields of their \
                 own.",
            ))
            .into()
    }
}

impl ToSchema for Meta {}

/// The schema of a value in a [`Meta`].
#[derive(Debug)]
pub enum MetaValue {}

impl PartialSchema for MetaValue {
    fn schema() -> RefOr<Schema> {
        let itself = || Ref::from_schema_name("MetaValue");
        let scalars = SchemaType::from_iter([Type::Boolean, Type::Number, Type::Null]);
        let object = ObjectBuilder::new()
            .property_names(Some(key("")))
            .additional_properties(Some(itself()));
        AnyOfBuilder::new()
            .item(ObjectBuilder::new().schema_type(scalars))
            .item(storable())
            .item(ArrayBuilder::new().items(RefOr::Ref(itself())))
            .item(object)
            .description(Some(
                "Any JSON whose keys hold no control characters and whose texts hold none but tab, \
                 line feed and carriage return; nested at most 8 levels deep.",
            ))
            .into()
    }
}

impl ToSchema for MetaValue {}

fn storable() -> ObjectBuilder {
    schema::string().pattern(Some(schema::storable_pattern()))
}

/// A key that fits `rule`.
fn key(rule: &str) -> Object {
    schema::string().pattern(Some(format!("^{rule}[^{CONTROL}]*$"))).build()
}
