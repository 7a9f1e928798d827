//! JSON objects without duplicate names.
//!
//! RFC 8259 leaves the meaning of duplicate names open, and parsers differ. A token that two
//! parsers read differently is an attack, so RFC 7515 and 7519 allow to reject it.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;

/// An object's members by name.
#[derive(Debug)]
pub(super) struct Members(BTreeMap<String, Value>);

/// The error of bytes that are not such an object.
#[derive(Debug)]
pub(super) enum JsonError {
    NotAnObject,
    Duplicate(String),
}

impl Members {
    pub(super) fn parse(json: &[u8]) -> Result<Self, JsonError> {
        let Pairs(pairs) = serde_json::from_slice(json).map_err(|_| JsonError::NotAnObject)?;
        let mut members = BTreeMap::new();
        for (name, value) in pairs {
            if members.contains_key(&name) {
                return Err(JsonError::Duplicate(name));
            }
            members.insert(name, value);
        }
        Ok(Self(members))
    }

    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name)
    }

    /// Returns a name that is not in `known`.
    pub(super) fn unexpected(&self, known: &[&str]) -> Option<&str> {
        self.0.keys().map(String::as_str).find(|name| !known.contains(name))
    }
}

/// The members in text order, with duplicates.
struct Pairs(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Pairs;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_spelling_of_a_name_is_a_duplicate() {
        let twice = Members::parse(br#"{"exp": 1, "\u0065xp": 2}"#);
        assert!(matches!(twice, Err(JsonError::Duplicate(name)) if name == "exp"));
    }

    #[test]
    fn text_must_be_exactly_one_object() {
        for json in ["", "[]", "null", "\"a\"", "{}{}", "{} x", "{\"a\":1,}", "\u{feff}{}"] {
            assert!(
                matches!(Members::parse(json.as_bytes()), Err(JsonError::NotAnObject)),
                "{json:?}"
            );
        }
        let members = Members::parse(br#" {"a": {"b": 1}} "#).expect("an object");
        assert_eq!(members.unexpected(&["a"]), None);
        assert_eq!(members.unexpected(&["b"]), Some("a"));
    }
}
