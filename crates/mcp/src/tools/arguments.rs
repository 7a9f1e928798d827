//! Reads arguments: first as models mean them ([`understand`]), then checked against the schema that the client
//! was shown, so that what is listed is what is enforced. What breaks it is answered with the field and the rule
//! in words instead of a protocol error.

mod references;
mod understand;

use mc_domain::{Handle, check_text, text::ForbiddenCharacter};
use rmcp::model::JsonObject;
use serde_json::{Map, Value};

pub use references::{Reference, put, references};
pub use understand::glob;
use understand::{FILE_URL, is_absolute};

/// Arguments that are ids, of UUIDs; where [`is_handle_too`] says so, a handle of a bundle will do.
const IDS: [&str; 6] = ["id", "bundle_id", "dialog_id", "supersedes", "record_ids", "used"];

/// Longest string in an argument, in bytes: far above anything worth saving or asking, far below
/// what would make the Core refuse the whole body without naming a field.
const MAX_STRING: usize = 200_000;
/// Most items in an array.
const MAX_ITEMS: usize = 1_000;

/// An argument that breaks the tool's schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {rule}")]
pub struct FieldError {
    /// The field, as in `citations[0].file`.
    pub field: String,
    /// What it must be.
    pub rule: String,
}

impl FieldError {
    /// An error at `field` that `rule` explains.
    pub fn new(field: impl Into<String>, rule: impl Into<String>) -> Self {
        Self { field: field.into(), rule: rule.into() }
    }
}

/// Returns `arguments` as `schema` has them, without nulls, when they fit it.
pub(super) fn check(
    schema: &JsonObject,
    mut arguments: JsonObject,
) -> Result<JsonObject, FieldError> {
    drop_nulls(&mut arguments);
    let arguments = understand::understand(schema, arguments);
    check_object("", schema, &arguments)?;
    check_ids(&arguments)?;
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

fn check_object(path: &str, schema: &JsonObject, object: &JsonObject) -> Result<(), FieldError> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        // An object of free form (`meta`): only its strings are looked at.
        return object.iter().try_for_each(|(name, value)| check_free(&join(path, name), value));
    };
    for (name, value) in object {
        let Some(property) = properties.get(name).and_then(Value::as_object) else {
            let allowed: Vec<&str> = properties.keys().map(String::as_str).collect();
            return Err(FieldError::new(
                join(path, &shorten(name)),
                format!("unknown field; use one of: {}", allowed.join(", ")),
            ));
        };
        check_value(&join(path, name), property, value)?;
    }
    let required = schema.get("required").and_then(Value::as_array);
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        if !object.contains_key(name) {
            return Err(FieldError::new(join(path, name), "is required"));
        }
    }
    Ok(())
}

/// What is no id and no handle would find nothing, and is refused where it stands.
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
    if !is_handle_too(name) {
        return Err(FieldError::new(path, "must be a UUID, as recall gave it"));
    }
    let rule =
        "must be a handle of a recalled bundle (m1, d1) or a UUID, as search or save gave it";
    text.parse::<Handle>().map(|_| ()).map_err(|_| FieldError::new(path, rule))
}

/// Whether a handle will do where this argument wants an id. A bundle has none.
fn is_handle_too(name: &str) -> bool {
    IDS.contains(&name) && name != "bundle_id"
}

fn check_value(path: &str, schema: &JsonObject, value: &Value) -> Result<(), FieldError> {
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        return if words.contains(value) {
            Ok(())
        } else {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            Err(FieldError::new(path, format!("must be one of: {}", words.join(", "))))
        };
    }
    match (schema.get("type").and_then(Value::as_str), value) {
        (Some("string"), Value::String(text)) => check_length_and_characters(path, text),
        (Some("integer"), Value::Number(number)) if !number.is_f64() => {
            check_range(path, schema, value)
        }
        (Some("boolean"), Value::Bool(_)) | (None, _) => Ok(()),
        (Some("array"), Value::Array(items)) => check_array(path, schema, items),
        (Some("object"), Value::Object(inner)) => check_object(path, schema, inner),
        (Some(expected), _) => {
            Err(FieldError::new(path, format!("must be {}", with_article(expected))))
        }
    }
}

fn check_length_and_characters(path: &str, text: &str) -> Result<(), FieldError> {
    if text.len() > MAX_STRING {
        return Err(FieldError::new(
            path,
            format!("is {} bytes long; send at most {MAX_STRING}", text.len()),
        ));
    }
    check_text(text).map_err(|error: ForbiddenCharacter| FieldError::new(path, error.to_string()))
}

fn check_range(path: &str, schema: &JsonObject, value: &Value) -> Result<(), FieldError> {
    let bound = |name: &str| schema.get(name).and_then(Value::as_i64);
    let (least, most) = (bound("minimum").unwrap_or(i64::MIN), bound("maximum"));
    let fits = value
        .as_i64()
        .is_some_and(|number| number >= least && most.is_none_or(|most| number <= most));
    if fits {
        return Ok(());
    }
    let rule = match most {
        Some(most) => format!("must be {least} to {most}"),
        None => format!("must be {least} or more"),
    };
    Err(FieldError::new(path, rule))
}

fn check_array(path: &str, schema: &JsonObject, items: &[Value]) -> Result<(), FieldError> {
    if items.len() > MAX_ITEMS {
        return Err(FieldError::new(path, format!("has more than {MAX_ITEMS} items")));
    }
    let Some(item_schema) = schema.get("items").and_then(Value::as_object) else {
        return Ok(());
    };
    let mut indexed = items.iter().enumerate();
    indexed
        .try_for_each(|(index, item)| check_value(&format!("{path}[{index}]"), item_schema, item))
}

/// Looks for what no schema allows: strings too long or with control characters.
fn check_free(path: &str, value: &Value) -> Result<(), FieldError> {
    match value {
        Value::String(text) => check_length_and_characters(path, text),
        Value::Array(items) => {
            let mut indexed = items.iter().enumerate();
            indexed.try_for_each(|(index, item)| check_free(&format!("{path}[{index}]"), item))
        }
        Value::Object(object) => object
            .iter()
            .try_for_each(|(name, value)| check_free(&join(path, &shorten(name)), value)),
        _ => Ok(()),
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// A name from the outside is repeated in an error, but not ten megabytes of it.
fn shorten(name: &str) -> String {
    // Masked while it is whole: what is cut off a secret hides the rest.
    mc_sanitizer::mask(name).text.as_str().chars().take(64).collect()
}

fn with_article(expected: &str) -> String {
    let article = if expected.starts_with(['a', 'i', 'o']) { "an" } else { "a" };
    format!("{article} {expected}")
}

#[cfg(test)]
mod tests;
