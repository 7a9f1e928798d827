//! Reads requests, and explains errors by the names of their fields.

use serde_json::{Map, Value};

use crate::{Request, ValidationError};

/// Longest path of a field in an error, in characters. A client chooses the names in it.
const MAX_PATH: usize = 200;
/// Longest part of a wrong value that an error repeats, in characters.
const MAX_VALUE: usize = 80;

/// Reads the request that a JSON object holds.
pub fn from_object<T: Request>(object: Map<String, Value>) -> Result<T, ValidationError> {
    let read = serde_path_to_error::deserialize::<_, T>(Value::Object(object));
    let request = read.map_err(|error| {
        let path = error.path().to_string();
        explain(&path, &error.into_inner().to_string())
    })?;
    request.check()?;
    Ok(request)
}

/// Explains serde's error at `path`.
pub fn explain(path: &str, message: &str) -> ValidationError {
    let field = mc_sanitizer::mask(&field_at(path, message)).text.into_string();
    let field: String = field.chars().take(MAX_PATH).collect();
    ValidationError::new(field, rule_of(message))
}

/// Returns serde's message as a rule of the field, without its place in the text of the JSON.
pub fn rule_of(message: &str) -> String {
    let message = message.rsplit_once(" at line ").map_or(message, |(message, _)| message);
    let names = |list: &str| list.replace("one of ", "").replace('`', "");
    if let Some((_, expected)) = message.split_once("expected ") {
        if message.starts_with("unknown variant ") {
            return format!("must be one of: {}", names(expected));
        }
        if message.starts_with("unknown field ") {
            return format!("is not a known field; use one of: {}", names(expected));
        }
    }
    if message.starts_with("missing field ") {
        return "is required".to_owned();
    }
    if message.starts_with("duplicate field ") {
        return "is given more than once".to_owned();
    }
    if message.starts_with("UUID parsing failed") {
        return "must be a UUID".to_owned();
    }
    match message.strip_prefix("invalid type: ").and_then(|rest| rest.split_once(", expected ")) {
        Some((found, expected)) => {
            let found: String = found.chars().take(MAX_VALUE).collect();
            format!("must be {}, not {found}", json_word(expected))
        }
        None => message.to_owned(),
    }
}

/// The word that JSON has for what serde expected.
fn json_word(expected: &str) -> &str {
    match expected {
        "a sequence" => "a list",
        "a map" => "an object",
        _ if expected.starts_with("struct ") => "an object",
        _ => expected,
    }
}

/// Returns the field at fault. Serde reports a missing or repeated field at its parent; only its
/// message has the name.
fn field_at(path: &str, message: &str) -> String {
    let parent = if path == "." { "" } else { path };
    match (named_in(message), parent) {
        (Some(name), "") => name.to_owned(),
        (Some(name), parent) => format!("{parent}.{name}"),
        (None, "") => "body".to_owned(),
        (None, path) => path.to_owned(),
    }
}

fn named_in(message: &str) -> Option<&str> {
    let named = message
        .strip_prefix("missing field `")
        .or_else(|| message.strip_prefix("duplicate field `"))?;
    named.split('`').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serde_message_becomes_a_rule() {
        for (message, expected) in [
            (
                "unknown variant `wiki`, expected one of `memory`, `doc` at line 1 column 16",
                "must be one of: memory, doc",
            ),
            (
                "unknown field `depth`, expected `query` or `limit`",
                "is not a known field; use one of: query or limit",
            ),
            ("missing field `query` at line 1 column 2", "is required"),
            ("duplicate field `query` at line 1 column 20", "is given more than once"),
            (
                "invalid type: string \"yes\", expected a boolean at line 3 column 9",
                "must be a boolean, not string \"yes\"",
            ),
            (
                "invalid type: map, expected a sequence at line 1 column 9",
                "must be a list, not map",
            ),
            ("UUID parsing failed: invalid character: found `p` at 1", "must be a UUID"),
            ("number out of range at line 1 column 4", "number out of range"),
        ] {
            assert_eq!(rule_of(message), expected);
        }
    }
}
