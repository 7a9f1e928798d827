//! The members of a JSON object, none of them twice.
//!
//! RFC 8259 leaves open what a name means that stands twice. Readers differ, and a token that means
//! one thing here and another there is an attack, so RFC 7515 and 7519 allow to refuse it.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;

/// An object's members by name.
#[derive(Debug)]
pub(super) struct Members(BTreeMap<String, Value>);

/// Why bytes are no such object.
#[derive(Debug)]
pub(super) enum Fault {
    NotAnObject,
    Duplicate(String),
}

impl Members {
    pub(super) fn parse(json: &[u8]) -> Result<Self, Fault> {
        let Pairs(pairs) = serde_json::from_slice(json).map_err(|_| Fault::NotAnObject)?;
        let mut members = BTreeMap::new();
        for (name, value) in pairs {
            if members.contains_key(&name) {
                return Err(Fault::Duplicate(name));
            }
            members.insert(name, value);
        }
        Ok(Self(members))
    }

    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name)
    }

    /// A name besides `known`.
    pub(super) fn unexpected(&self, known: &[&str]) -> Option<&str> {
        self.0.keys().map(String::as_str).find(|name| !known.contains(name))
    }
}

/// As they stand in the text.
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
    fn a_name_in_another_spelling_is_the_same_name() {
        let twice = Members::parse(br#"{"exp": 1, "\u0065xp": 2}"#);
        assert!(matches!(twice, Err(Fault::Duplicate(name)) if name == "exp"));
    }

    #[test]
    fn only_one_object_is_read() {
        for json in ["", "[]", "null", "\"a\"", "{}{}", "{} x", "{\"a\":1,}", "\u{feff}{}"] {
            assert!(matches!(Members::parse(json.as_bytes()), Err(Fault::NotAnObject)), "{json:?}");
        }
        let members = Members::parse(br#" {"a": {"b": 1}} "#).expect("an object");
        assert_eq!(members.unexpected(&["a"]), None);
        assert_eq!(members.unexpected(&["b"]), Some("a"));
    }
}
