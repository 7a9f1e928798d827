//! JSON objects without duplicate names.
//!
//! RFC 8259 leaves the meaning of duplicate names open, and parsers differ. A token that two
//! parsers read differently is an attack, so RFC 7515 and 7519 allow to reject it.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;

use super::error::{Part, Reason, shortened};

/// An object's members by name.
#[derive(Debug)]
pub(super) struct Members(BTreeMap<String, Value>);

impl Members {
    pub(super) fn parse(part: Part, json: &[u8]) -> Result<Self, Reason> {
        let Pairs(pairs) = serde_json::from_slice(json).map_err(|_| Reason::Json(part))?;
        let mut members = BTreeMap::new();
        for (name, value) in pairs {
            if members.contains_key(&name) {
                return Err(Reason::Duplicate(part, shortened(&name)));
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
        let twice = Members::parse(Part::Claims, br#"{"exp": 1, "\u0065xp": 2}"#);
        assert_eq!(twice.err(), Some(Reason::Duplicate(Part::Claims, "exp".to_owned())));
    }

    #[test]
    fn text_must_be_exactly_one_object() {
        for json in ["", "[]", "null", "\"a\"", "{}{}", "{} x", "{\"a\":1,}", "\u{feff}{}"] {
            let members = Members::parse(Part::Header, json.as_bytes());
            assert_eq!(members.err(), Some(Reason::Json(Part::Header)), "{json:?}");
        }
        let members = Members::parse(Part::Claims, br#" {"a": {"b": 1}} "#).expect("an object");
        assert_eq!(members.unexpected(&["a"]), None);
        assert_eq!(members.unexpected(&["b"]), Some("a"));
    }
}
