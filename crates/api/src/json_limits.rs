//! Limits of the structure of JSON, checked before parsing: parsers use stack or heap for depth,
//! and many times the size of the text for many short values.

use crate::limits::{JSON_DEPTH, JSON_VALUES};
use crate::problem::Problem;

/// Rejects `json` that nests deeper than [`JSON_DEPTH`], or has more than [`JSON_VALUES`]. It need
/// not be valid otherwise. Returns about the number of its values.
pub fn check(json: &[u8]) -> Result<usize, Problem> {
    let Structure { depth, values } = Structure::of(json);
    let rule = if depth > JSON_DEPTH {
        format!("the JSON nests deeper than {JSON_DEPTH} levels; make it flatter")
    } else if values > JSON_VALUES {
        format!("the JSON has more than {JSON_VALUES} values; send it in several requests")
    } else {
        return Ok(values);
    };
    Err(Problem::invalid(rule).field("body"))
}

#[derive(Debug, PartialEq, Eq)]
struct Structure {
    /// Maximum number of open brackets and braces.
    depth: usize,
    /// Number of opening brackets and braces, and of commas: at least the number of values minus
    /// one.
    values: usize,
}

impl Structure {
    fn of(json: &[u8]) -> Self {
        let mut open = 0_usize;
        let mut found = Self { depth: 0, values: 0 };
        let mut bytes = json.iter();
        while let Some(byte) = bytes.next() {
            match byte {
                b'{' | b'[' => {
                    open += 1;
                    found.values += 1;
                    found.depth = found.depth.max(open);
                }
                b'}' | b']' => open = open.saturating_sub(1),
                b',' => found.values += 1,
                b'"' => skip_string(&mut bytes),
                _ => {}
            }
        }
        found
    }
}

fn skip_string(bytes: &mut std::slice::Iter<'_, u8>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            b'"' => return,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_and_values_are_counted_outside_strings() {
        for (json, depth, values) in [
            ("", 0, 0),
            ("7", 0, 0),
            ("{}", 1, 1),
            ("[[],[],[{}]]", 3, 7),
            (r#"{"[[[[":"]],,{{","\"[[":[1]}"#, 2, 3),
            (r#"["\\",[[]]]"#, 3, 4),
            ("]]]]{", 1, 1),
            (r#"["never closed [[[[,"#, 1, 1),
        ] {
            assert_eq!(Structure::of(json.as_bytes()), Structure { depth, values }, "{json}");
        }
    }

    #[test]
    fn short_values_are_limited() {
        let json = |values: usize| format!("[{}]", "[],".repeat(values));
        assert_eq!(check(json(JSON_VALUES / 2 - 1).as_bytes()), Ok(JSON_VALUES - 1));
        let problem = check(json(JSON_VALUES / 2).as_bytes()).expect_err("one more");
        assert!(problem.message().contains("send it in several"), "{problem:?}");
    }

    #[test]
    fn json_at_the_depth_limit_is_accepted() {
        let nested = |levels| "[".repeat(levels) + &"]".repeat(levels);
        assert_eq!(check(nested(JSON_DEPTH).as_bytes()), Ok(JSON_DEPTH));
        assert!(check(nested(JSON_DEPTH + 1).as_bytes()).is_err());
    }
}
