//! Errors of configuration, with the keys as the user wrote them.

use std::fmt::Write as _;

use figment::error::Kind;
use figment::{Error, Metadata, Source};
use serde_norway::Value;
use strsim::normalized_damerau_levenshtein;

/// Prefix of the environment variables that set keys.
pub(super) const VARIABLE_PREFIX: &str = "MEMORY_COPILOT__";
/// Separator of the parts of a key in a variable.
pub(super) const VARIABLE_SEPARATOR: &str = "__";
/// Similarity above which a known key may be the one that was meant.
const SIMILARITY_MIN: f64 = 0.6;

/// Describes each error: the key, where it is set, and the nearest known key. `defaults` has all
/// keys but those of maps.
pub(super) fn describe(error: Error, defaults: &Value) -> String {
    let known = known_keys(defaults);
    let faults: Vec<_> = error.into_iter().map(|error| describe_one(&error, &known)).collect();
    faults.join("; ")
}

fn describe_one(error: &Error, known: &[String]) -> String {
    let key = error.path.join(".");
    let mut text = match (&error.kind, key.as_str()) {
        (Kind::UnknownField(..), _) => format!("`{key}` is not a setting"),
        (kind, "") => kind.to_string(),
        (kind, _) => format!("`{key}` is not valid ({kind})"),
    };
    if let Some(place) = error.metadata.as_ref().and_then(|metadata| place(metadata, &error.path)) {
        let _ = write!(text, ", {place}");
    }
    if let Kind::UnknownField(_, siblings) = &error.kind {
        text.push_str(&suggestion(&key, siblings, known));
    }
    text
}

/// Returns where a key is set; `None` for the defaults.
fn place(metadata: &Metadata, path: &[String]) -> Option<String> {
    if let Some(Source::File(file)) = &metadata.source {
        return Some(format!("in {}", file.display()));
    }
    metadata.name.contains("environment").then(|| {
        let key = path.join(VARIABLE_SEPARATOR).to_uppercase();
        format!("set by the environment variable {VARIABLE_PREFIX}{key}")
    })
}

/// Returns the nearest known key, else all keys beside the unknown one.
fn suggestion(key: &str, siblings: &[&str], known: &[String]) -> String {
    let (section, name) = key.rsplit_once('.').unwrap_or(("", key));
    let beside = siblings.iter().map(|sibling| match section {
        "" => (*sibling).to_owned(),
        section => format!("{section}.{sibling}"),
    });
    // A key in the wrong section has the right name.
    let is_moved = |known: &&String| known.rsplit('.').next() == Some(name);
    let moved = known.iter().find(is_moved).map(|known| (1.0, known.clone()));
    let near = beside
        .chain(known.iter().cloned())
        .map(|known| (normalized_damerau_levenshtein(key, &known), known));
    let nearest = near.chain(moved).max_by(|a, b| a.0.total_cmp(&b.0));
    match nearest.filter(|(similarity, _)| *similarity >= SIMILARITY_MIN) {
        Some((_, known)) => format!("; did you mean `{known}`?"),
        None => format!("; known there: {}", siblings.join(", ")),
    }
}

/// Returns the keys of nested mappings, sections included.
fn known_keys(value: &Value) -> Vec<String> {
    let mut keys = Vec::new();
    for (name, value) in value.as_mapping().into_iter().flatten() {
        let Some(name) = name.as_str() else { continue };
        keys.push(name.to_owned());
        keys.extend(known_keys(value).into_iter().map(|key| format!("{name}.{key}")));
    }
    keys
}
