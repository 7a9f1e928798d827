//! Checks arguments against the schema that the client was shown, so that what is listed is what
//! is enforced, and answers with the field and the rule in words instead of a protocol error.

use mc_domain::{check_text, text::ForbiddenCharacter};
use rmcp::model::JsonObject;
use serde_json::{Map, Value};

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

/// Returns `arguments` without nulls when they fit `schema`.
pub(super) fn check(
    schema: &JsonObject,
    mut arguments: JsonObject,
) -> Result<JsonObject, FieldError> {
    drop_nulls(&mut arguments);
    check_object("", schema, &arguments)?;
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
        (Some("string"), Value::String(text)) => check_string(path, schema, text),
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

fn check_string(path: &str, schema: &JsonObject, text: &str) -> Result<(), FieldError> {
    check_length_and_characters(path, text)?;
    let wants_uuid = schema.get("format").is_some_and(|format| format == "uuid");
    if wants_uuid && text.parse::<mc_domain::RecordId>().is_err() {
        return Err(FieldError::new(path, "must be a UUID, as recall, save or search gave it"));
    }
    Ok(())
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
