//! Front matter of a Markdown document.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_norway::{Mapping, Value};

use crate::text::Lines;

/// Maximum number of lines of front matter.
const MAX_LINES: usize = 200;
/// Maximum length of front matter, in bytes. The YAML parser takes quadratic time for nested
/// collections.
const MAX_BYTES: usize = 16 * 1024;
/// Maximum depth of nested collections in brackets, such as `[a, {b: c}]`. The time of the YAML
/// parser is quadratic in this depth.
const MAX_BRACKET_DEPTH: usize = 64;
/// Maximum length of all fields, in bytes. Without aliases, which repeat a text, they are about as
/// long as the front matter.
const MAX_FIELD_BYTES: usize = 4 * MAX_BYTES;

/// Fields of front matter; see [`super::Document`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FrontMatter {
    pub title: String,
    pub tags: Vec<String>,
    pub scope: Vec<String>,
    pub status: Option<String>,
}

impl FrontMatter {
    /// Returns whether the fields are short enough.
    pub fn is_within_limits(&self) -> bool {
        let texts = self.tags.iter().chain(&self.scope).chain(&self.status).chain([&self.title]);
        texts.map(String::len).sum::<usize>() <= MAX_FIELD_BYTES
    }
}

/// Finds and parses front matter. Returns its fields and the index of the line after it; `None` if
/// there is none, or if it is too long or not a mapping.
pub(super) fn read(lines: &Lines<'_>) -> Option<(FrontMatter, usize)> {
    if lines.count() == 0 || lines.get(0).trim_end() != "---" {
        return None;
    }
    let end = (1..lines.count().min(MAX_LINES))
        .find(|line| matches!(lines.get(*line).trim_end(), "---" | "..."))?;
    if lines.span_len(1, end) > MAX_BYTES {
        return None;
    }
    Some((parse(lines.span(1, end))?, end + 1))
}

/// Parses front matter; `None` if it is not a mapping, or nested too deeply, or if its fields are
/// too long.
fn parse(yaml: &str) -> Option<FrontMatter> {
    if is_nested_too_deeply(yaml) {
        return None;
    }
    let fields = serde_norway::from_str::<Option<Mapping>>(yaml).ok()?.unwrap_or_default();
    let front_matter = FrontMatter {
        title: fields.get("title").and_then(scalar).unwrap_or_default(),
        tags: fields.get("tags").map(words).unwrap_or_default(),
        scope: fields.get("scope").map(words).unwrap_or_default(),
        status: fields.get("status").and_then(scalar),
    };
    front_matter.is_within_limits().then_some(front_matter)
}

/// Brackets in quotes count, too: front matter with so many of these is not realistic.
fn is_nested_too_deeply(yaml: &str) -> bool {
    let mut depth = 0_usize;
    yaml.bytes().any(|byte| {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > MAX_BRACKET_DEPTH
    })
}

/// Returns the items of a list, or of a text with commas, each once.
fn words(value: &Value) -> Vec<String> {
    let words: Vec<String> = match value {
        Value::Sequence(items) => items.iter().filter_map(scalar).collect(),
        Value::String(text) => text.split(',').map(|word| word.trim().to_owned()).collect(),
        value => scalar(value).into_iter().collect(),
    };
    // An alias may repeat a long text.
    let mut known = HashSet::new();
    let is_new = |word: &String| !word.is_empty() && known.insert(word.clone());
    words.into_iter().filter(is_new).collect()
}

/// Returns a scalar as text; `None` for a list, a mapping or null.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(is_true) => Some(is_true.to_string()),
        Value::Tagged(tagged) => scalar(&tagged.value),
        Value::Null | Value::Sequence(_) | Value::Mapping(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_do_not_multiply_a_long_text() {
        let long = "a".repeat(8 * 1024);
        let yaml = format!("a: &a {long}\ntags: [{}]", "*a,".repeat(2_000));
        assert_eq!(parse(&yaml).map(|fields| fields.tags), Some(vec![long]));
    }

    #[test]
    fn fields_have_a_maximum_length() {
        let of = |bytes: usize| FrontMatter { title: "a".repeat(bytes), ..FrontMatter::default() };
        assert!(of(MAX_FIELD_BYTES).is_within_limits());
        assert!(!of(MAX_FIELD_BYTES + 1).is_within_limits());
    }
}
