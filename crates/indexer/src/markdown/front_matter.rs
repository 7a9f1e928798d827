//! Front matter of a Markdown document.

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
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
/// Maximum number of tags or scopes. Each takes two bytes of the front matter, with its comma.
const MAX_WORDS: usize = MAX_BYTES / 2;
/// Maximum length of all fields, in bytes. Without aliases, which repeat a text, they are about as
/// long as the front matter.
const MAX_FIELD_BYTES: usize = 4 * MAX_BYTES;

/// Fields of front matter; see [`super::Document`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FrontMatter {
    pub title: String,
    #[serde(deserialize_with = "deserialize_words")]
    pub tags: Vec<String>,
    #[serde(deserialize_with = "deserialize_words")]
    pub scope: Vec<String>,
    pub status: Option<String>,
}

impl FrontMatter {
    /// Returns whether it can be that of the lines before `first`, which is 0 without front matter.
    pub fn fits(&self, first: usize, lines: &Lines<'_>) -> bool {
        match first.checked_sub(1) {
            None => *self == Self::default(),
            Some(end) => range(lines) == Some(1..end) && self.is_within_limits(),
        }
    }

    fn is_within_limits(&self) -> bool {
        let texts = self.tags.iter().chain(&self.scope).chain(&self.status).chain([&self.title]);
        texts.map(String::len).sum::<usize>() <= MAX_FIELD_BYTES
    }
}

/// Finds and parses front matter. Returns its fields and the index of the line after it; `None` if
/// there is none, or if it is too long or not a mapping.
pub(super) fn read(lines: &Lines<'_>) -> Option<(FrontMatter, usize)> {
    let range = range(lines)?;
    let next = range.end + 1;
    Some((parse(lines.span(range.start, range.end))?, next))
}

/// Returns the lines of front matter, between the lines that enclose it; `None` if there is none or
/// it is too long.
fn range(lines: &Lines<'_>) -> Option<Range<usize>> {
    if lines.count() == 0 || lines.get(0).trim_end() != "---" {
        return None;
    }
    let end = (1..lines.count().min(MAX_LINES))
        .find(|line| matches!(lines.get(*line).trim_end(), "---" | "..."))?;
    (lines.span_len(1, end) <= MAX_BYTES).then_some(1..end)
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

/// Deserializes a list, and fails at one that is longer than front matter can have: a process that
/// was taken over must not fill the memory of the service with empty words.
fn deserialize_words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    struct Words;

    impl<'de> Visitor<'de> for Words {
        type Value = Vec<String>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(formatter, "at most {MAX_WORDS} words")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<String>, A::Error> {
            let mut words = Vec::new();
            while let Some(word) = list.next_element()? {
                if words.len() == MAX_WORDS {
                    return Err(A::Error::invalid_length(MAX_WORDS + 1, &self));
                }
                words.push(word);
            }
            Ok(words)
        }
    }

    deserializer.deserialize_seq(Words)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn aliases_do_not_multiply_a_long_text() {
        let long = "a".repeat(8 * 1024);
        let yaml = format!("a: &a {long}\ntags: [{}]", "*a,".repeat(2_000));
        assert_eq!(parse(&yaml).map(|fields| fields.tags), Some(vec![long]));
    }

    #[test]
    fn fields_have_a_maximum_length() {
        let lines = Lines::of("---\ntitle: a\n---\n");
        let of = |bytes: usize| FrontMatter { title: "a".repeat(bytes), ..FrontMatter::default() };
        assert!(of(MAX_FIELD_BYTES).fits(3, &lines));
        assert!(!of(MAX_FIELD_BYTES + 1).fits(3, &lines));
    }

    #[test]
    fn words_have_a_maximum_number() {
        let received = |words: usize| {
            let sent = FrontMatter { tags: vec![String::new(); words], ..FrontMatter::default() };
            serde_json::from_value::<FrontMatter>(serde_json::to_value(sent).unwrap())
        };
        assert_eq!(received(MAX_WORDS).unwrap().tags.len(), MAX_WORDS);
        assert!(received(MAX_WORDS + 1).is_err());
    }
}
