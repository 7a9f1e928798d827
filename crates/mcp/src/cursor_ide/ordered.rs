//! JSON object that preserves the order and the text of its members, so that other members are
//! written back unchanged.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// Members of an object: names and the JSON text of the values.
#[derive(Debug)]
pub(super) struct Members(Vec<(String, String)>);

impl Members {
    /// Parses an object. A duplicate member is rejected, because one of the two would be lost.
    pub(super) fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Returns the text of a member's value.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(member, _)| member == name).map(|(_, value)| value.as_str())
    }

    /// Replaces a member's value, or adds the member at the end.
    pub(super) fn set(&mut self, name: &str, value: String) {
        match self.0.iter_mut().find(|(member, _)| member == name) {
            Some((_, current)) => *current = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    /// Formats the object with one member per line, for a nesting of `depth` levels of two spaces.
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
                return Err(A::Error::custom(format!("\"{name}\" is there twice")));
            }
            members.push((name, value.get().to_owned()));
        }
        Ok(Members(members))
    }
}
