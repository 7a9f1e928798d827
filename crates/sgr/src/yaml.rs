//! Bounded reading of YAML.
//!
//! `serde_norway` limits the repetitions of aliases relative to the size of the file, so a file of
//! 64 KiB could still expand to gigabytes. It does not tell its caller that a value comes from an
//! alias. So the values are counted as they are read: an expansion is rejected when it has more
//! values or text than a file without aliases could have.
//!
//! Its scanner visits all open brackets at each token, so 64 KiB of `[` would take half a minute.
//! So the number of brackets is limited before it starts.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::InvalidSchema;
use crate::error::quote;
use crate::limits::FILE_MAX_BYTES;

/// Levels of nesting. A schema has four: itself, its steps, a step, its hints.
const DEPTH_MAX: usize = 8;
/// Values and keys of a file. The largest valid schema has fewer than 2,000.
const VALUES_MAX: usize = 8_000;
/// Bytes of all texts. An escape such as `\L` has two bytes and stands for three.
const TEXT_MAX_BYTES: usize = 2 * FILE_MAX_BYTES;
/// Opening brackets and braces of a file, those in texts included.
const BRACKETS_MAX: usize = 2_000;
/// Bytes of a key. The path of an error repeats it.
const KEY_MAX_BYTES: usize = 60;

/// Parses one YAML document. Duplicate keys are errors.
pub(crate) fn parse(yaml: &str) -> Result<Value, InvalidSchema> {
    if yaml.len() > FILE_MAX_BYTES {
        return Err(InvalidSchema::TooLarge(yaml.len()));
    }
    let brackets = yaml.bytes().filter(|byte| matches!(byte, b'[' | b'{')).count();
    if brackets > BRACKETS_MAX {
        let reason = format!(
            "has {brackets} opening brackets and braces; the limit is {BRACKETS_MAX}, so write \
             lists with `-`, one item on each line"
        );
        return Err(InvalidSchema::Yaml { line: None, reason });
    }
    let limits = Limits { values: Cell::new(VALUES_MAX), text: Cell::new(TEXT_MAX_BYTES) };
    let root = Node { limits: &limits, depth: DEPTH_MAX };
    root.deserialize(serde_norway::Deserializer::from_str(yaml)).map_err(|error| {
        let line = error.location().map(|location| location.line());
        InvalidSchema::Yaml { line, reason: error.to_string() }
    })
}

/// The values and the text that may still be read.
struct Limits {
    values: Cell<usize>,
    text: Cell<usize>,
}

impl Limits {
    fn count_value<E: Error>(&self) -> Result<(), E> {
        let left = self.values.get().checked_sub(1).ok_or_else(|| {
            E::custom(format_args!(
                "has more than {VALUES_MAX} values, aliases (`*name`) expanded; remove aliases \
                 and values"
            ))
        })?;
        self.values.set(left);
        Ok(())
    }

    fn count_text<E: Error>(&self, text: &str) -> Result<(), E> {
        let left = self.text.get().checked_sub(text.len()).ok_or_else(|| {
            E::custom(format_args!(
                "has more than {TEXT_MAX_BYTES} bytes of text, aliases (`*name`) expanded; write \
                 the texts without aliases"
            ))
        })?;
        self.text.set(left);
        Ok(())
    }
}

/// A value at a level of nesting.
#[derive(Clone, Copy)]
struct Node<'a> {
    limits: &'a Limits,
    /// Levels that may still follow.
    depth: usize,
}

impl Node<'_> {
    fn inner<E: Error>(self) -> Result<Self, E> {
        let depth = self.depth.checked_sub(1).ok_or_else(|| {
            E::custom(format_args!(
                "is nested deeper than {DEPTH_MAX} levels; a schema has a list of steps, and a \
                 step a list of hints"
            ))
        })?;
        Ok(Self { depth, ..self })
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.limits.count_value()?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a list or fields, without a tag")
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        let number = Number::from_f64(value);
        number.map(Value::Number).ok_or_else(|| E::custom("is no number; put it in quotes"))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        self.limits.count_text(text)?;
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let inner = self.inner()?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(inner)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let inner = self.inner()?;
        let mut fields = Map::new();
        while let Some(name) =
            entries.next_key_seed(Key { limits: self.limits, fields: &fields })?
        {
            let value = entries.next_value_seed(inner)?;
            fields.insert(name, value);
        }
        Ok(Value::Object(fields))
    }
}

/// The name of a field after others.
struct Key<'a> {
    limits: &'a Limits,
    fields: &'a Map<String, Value>,
}

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        self.limits.count_value()?;
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<String, E> {
        self.limits.count_text(name)?;
        if name.len() > KEY_MAX_BYTES {
            let name = quote(name);
            return Err(E::custom(format_args!("{name} is no field; no name is that long")));
        }
        if self.fields.contains_key(name) {
            let name = quote(name);
            return Err(E::custom(format_args!("the field {name} appears twice; keep one")));
        }
        Ok(name.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn reason(yaml: &str) -> String {
        match parse(yaml) {
            Err(InvalidSchema::Yaml { reason, .. }) => reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn yaml_is_read_as_json() {
        let yaml = "a: [1, -2, 1.5, true, ~, 'x']\nb: {c: \"\\u00e9\"}\n";
        let value = json!({"a": [1, -2, 1.5, true, null, "x"], "b": {"c": "é"}});
        assert_eq!(parse(yaml), Ok(value));
        assert_eq!(parse(""), Ok(Value::Null));
        assert_eq!(parse("\u{feff}a: b\r\n"), Ok(json!({"a": "b"})));
    }

    #[test]
    fn harmless_alias_is_expanded() {
        assert_eq!(parse("a: &x [1]\nb: *x"), Ok(json!({"a": [1], "b": [1]})));
    }

    #[test]
    fn fault_of_yaml_names_its_place() {
        for (yaml, expected) in [
            ("a: [", "at line"),
            ("a: 1\nb: 2\na: 3", "the field \"a\" appears twice; keep one at line 3"),
            ("s:\n  - n: 1\n    n: 2", "s[0]: the field \"n\" appears twice"),
            ("1: a", "expected the name of a field"),
            ("[a]: b", "expected the name of a field"),
            ("a: !secret b", "without a tag"),
            ("a: .nan", "a: is no number; put it in quotes"),
            ("a: 1\n--- \nb: 1", "more than one document"),
            ("a: *x", "unknown anchor"),
            ("a: \0", "control characters are not allowed"),
            ("[[[[[[[[[1]]]]]]]]]", "nested deeper than 8 levels"),
        ] {
            let reason = reason(yaml);
            assert!(reason.contains(expected), "{yaml:?}: {reason}");
        }
        let long = format!("? {}\n: a", "k".repeat(30_000));
        assert!(reason(&long).len() < 200);
    }

    #[test]
    fn line_is_known() {
        let error = parse("a: 1\nb: [\n").expect_err("no YAML");
        assert!(matches!(error, InvalidSchema::Yaml { line: Some(3), .. }), "{error:?}");
    }

    #[test]
    fn brackets_are_limited() {
        let brackets = |count: usize| "[".repeat(count);
        assert!(reason(&brackets(BRACKETS_MAX + 1)).contains("the limit is 2000"));
        assert!(reason(&brackets(BRACKETS_MAX)).contains("nested deeper"));
    }

    #[test]
    fn alias_bomb_is_rejected_early() {
        let nested: String = (1..20)
            .map(|level| {
                let before = level - 1;
                format!("a{level}: &a{level} [{}]\n", vec![format!("*a{before}"); 10].join(", "))
            })
            .collect();
        let of_lists = format!("a0: &a0 [x]\n{nested}");
        assert!(reason(&of_lists).contains("more than 8000 values"));
        let of_texts = format!("a: &a {}\nb: [{}]", "x".repeat(40_000), "*a, ".repeat(5_000));
        assert!(reason(&of_texts).contains("bytes of text"));
        let recursive = "a: &a [*a, *a, *a]";
        assert!(reason(recursive).contains("nested deeper"));
    }
}
