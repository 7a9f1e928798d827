//! A JSON object whose members keep their order and their text: what is not ours to change is
//! written back byte for byte.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The members of an object: name and the value's JSON text.
#[derive(Debug)]
pub(super) struct Members(Vec<(String, String)>);

impl Members {
    /// Reads an object; a member that stands twice is refused, since one of the two would be lost.
    pub(super) fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// The text of a member's value.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(held, _)| held == name).map(|(_, value)| value.as_str())
    }

    /// Replaces a member's value, or adds the member at the end.
    pub(super) fn set(&mut self, name: &str, value: String) {
        match self.0.iter_mut().find(|(held, _)| held == name) {
            Some((_, held)) => *held = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    /// The object as text, one member a line, its closing brace at `depth` levels of two spaces.
    pub(super) fn to_text(&self, depth: usize) -> String {
        let indent = "  ".repeat(depth);
        let lines: Vec<String> = self
            .0
            .iter()
            .map(|(name, value)| format!("\n{indent}  {}: {value}", serde_json::json!(name)))
            .collect();
        format!("{{{}\n{indent}}}", lines.join(","))
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
        let (mut members, mut names) = (Vec::new(), HashSet::new());
        while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
            if !names.insert(name.clone()) {
                return Err(A::Error::custom(format!("\"{name}\" stands twice")));
            }
            members.push((name, value.get().to_owned()));
        }
        Ok(Members(members))
    }
}
