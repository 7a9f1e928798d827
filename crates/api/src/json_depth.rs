//! Limit of the nesting of JSON, checked before parsing: parsers use stack or heap for depth.

use crate::limits::JSON_DEPTH;
use crate::problem::Problem;

/// Rejects `json` that nests deeper than [`JSON_DEPTH`]. It need not be valid otherwise.
pub fn check(json: &[u8]) -> Result<(), Problem> {
    if depth(json) > JSON_DEPTH {
        let rule = format!("the JSON nests deeper than {JSON_DEPTH} levels; make it flatter");
        return Err(Problem::invalid(rule).field("body"));
    }
    Ok(())
}

/// Returns the maximum number of open brackets and braces.
fn depth(json: &[u8]) -> usize {
    let (mut open, mut deepest) = (0_usize, 0_usize);
    let mut bytes = json.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'{' | b'[' => {
                open += 1;
                deepest = deepest.max(open);
            }
            b'}' | b']' => open = open.saturating_sub(1),
            b'"' => skip_string(&mut bytes),
            _ => {}
        }
    }
    deepest
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
    fn depth_counts_open_brackets_outside_strings() {
        for (json, expected) in [
            ("", 0),
            ("7", 0),
            ("{}", 1),
            ("[[],[],[{}]]", 3),
            (r#"{"[[[[":"]]{{","\"[[":[1]}"#, 2),
            (r#"["\\",[[]]]"#, 3),
            ("]]]]{", 1),
            (r#"["never closed [[[["#, 1),
        ] {
            assert_eq!(depth(json.as_bytes()), expected, "{json}");
        }
    }

    #[test]
    fn json_at_the_depth_limit_is_accepted() {
        let nested = |levels| "[".repeat(levels) + &"]".repeat(levels);
        assert_eq!(check(nested(JSON_DEPTH).as_bytes()), Ok(()));
        assert!(check(nested(JSON_DEPTH + 1).as_bytes()).is_err());
    }
}
