//! Parsing of arguments, after common mistakes of models are corrected ([`normalize`]). Names are
//! checked against the schema that the client got, values by the types of the contract. An error
//! names the field and the rule, and is a result instead of a protocol error, so that a model can
//! act on it.

mod normalize;
mod references;

use mc_contract::ValidationError;
use mc_domain::Handle;
use rmcp::model::JsonObject;
use serde_json::{Map, Value};

pub use normalize::glob;
use normalize::{FILE_URL, is_absolute};
pub use references::{Reference, put, references};

/// Arguments that are UUIDs, or handles of a bundle if [`accepts_handle`].
const IDS: [&str; 6] = ["id", "bundle_id", "dialog_id", "supersedes", "record_ids", "used"];

/// Error of an argument that violates the tool's schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {rule}")]
pub struct FieldError {
    /// The field, as in `citations[0].file`.
    pub field: String,
    /// Rule that it violates.
    pub rule: String,
}

impl FieldError {
    /// Creates an error of `field` that `rule` explains.
    pub fn new(field: impl Into<String>, rule: impl Into<String>) -> Self {
        Self { field: field.into(), rule: rule.into() }
    }
}

impl From<ValidationError> for FieldError {
    fn from(error: ValidationError) -> Self {
        Self::new(error.field, error.reason)
    }
}

/// Returns `arguments` as `schema` names them, without nulls. Values are checked later, by the
/// types of the request.
pub(super) fn read(
    schema: &JsonObject,
    mut arguments: JsonObject,
) -> Result<JsonObject, FieldError> {
    drop_nulls(&mut arguments);
    let arguments = normalize::normalize(schema, arguments);
    check_names(schema, &arguments)?;
    check_ids(&arguments)?;
    Ok(arguments)
}

/// Arguments whose value is data, of which null is one.
const DATA: [&str; 1] = ["value"];

/// Returns `arguments` as they are, without those that are null: texts of files and values of JSON
/// mean what they say. Their names are checked as by [`read`].
pub(super) fn read_as_given(
    schema: &JsonObject,
    mut arguments: JsonObject,
) -> Result<JsonObject, FieldError> {
    arguments.retain(|name, value| !value.is_null() || DATA.contains(&name.as_str()));
    check_names(schema, &arguments)?;
    Ok(arguments)
}

fn drop_nulls(object: &mut Map<String, Value>) {
    object.retain(|_, value| !value.is_null());
    for value in object.values_mut() {
        match value {
            Value::Object(inner) => drop_nulls(inner),
            Value::Array(items) => {
                items.iter_mut().filter_map(Value::as_object_mut).for_each(drop_nulls);
            }
            _ => {}
        }
    }
}

fn check_names(schema: &JsonObject, arguments: &JsonObject) -> Result<(), FieldError> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return Ok(());
    };
    if let Some(name) = arguments.keys().find(|name| !properties.contains_key(*name)) {
        let known: Vec<&str> = properties.keys().map(String::as_str).collect();
        let rule = format!("is not a known field; use one of: {}", known.join(", "));
        return Err(FieldError::new(shorten(name), rule));
    }
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let mut required = required.filter_map(Value::as_str);
    match required.find(|name| !arguments.contains_key(*name)) {
        Some(name) => Err(FieldError::new(name, "is required")),
        None => Ok(()),
    }
}

/// Checks that ids are UUIDs or handles; others would find nothing.
fn check_ids(arguments: &JsonObject) -> Result<(), FieldError> {
    let ids = IDS.into_iter().filter_map(|name| Some((name, arguments.get(name)?)));
    for (name, value) in ids {
        let items = value.as_array().into_iter().flatten().enumerate();
        let items = items.map(|(index, item)| (format!("{name}[{index}]"), item));
        for (path, item) in items.chain(value.is_string().then(|| (name.to_owned(), value))) {
            check_id(&path, name, item.as_str().unwrap_or_default())?;
        }
    }
    Ok(())
}

fn check_id(path: &str, name: &str, text: &str) -> Result<(), FieldError> {
    if text.parse::<mc_domain::RecordId>().is_ok() {
        return Ok(());
    }
    if !accepts_handle(name) {
        return Err(FieldError::new(path, "must be a UUID, as recall gave it"));
    }
    let rule =
        "must be a handle of a recalled bundle (m1, d1) or a UUID, as search or save gave it";
    text.parse::<Handle>().map(|_| ()).map_err(|_| FieldError::new(path, rule))
}

/// Returns whether the argument accepts a handle instead of an id. Bundles have no handle.
fn accepts_handle(name: &str) -> bool {
    IDS.contains(&name) && name != "bundle_id"
}

/// Masks and shortens a name of the caller for an error.
fn shorten(name: &str) -> String {
    // Masked before it is shortened: half of a secret would not be detected.
    mc_domain::shorten(mc_sanitizer::mask(name).text.as_str(), 64).to_owned()
}

#[cfg(test)]
mod tests;
