//! Sanitizing of log events: masks secrets and personal data, and escapes the characters with which
//! one event could look like several.

use std::borrow::Cow;
use std::sync::LazyLock;

use mc_sanitizer::Policy;
use serde_json::{Value, json};

use crate::terminal;

/// Ignores comments that allow a secret, because logged text may contain such a comment. Leaves IP
/// addresses unmasked, because they identify an attacker.
static POLICY: LazyLock<Policy> = LazyLock::new(Policy::default);

/// Formats a text event, without its final line break, as one masked line.
pub fn text(event: &str) -> Cow<'_, str> {
    terminal::line(masked(event))
}

/// Masks text for a terminal and keeps its line breaks.
pub fn plain(text: &str) -> Cow<'_, str> {
    terminal::lines(masked(text))
}

/// Formats a JSON event, without its final line break, as one masked object.
pub fn json(event: &str) -> Cow<'_, str> {
    // Escape sequences may hide a secret, so each string is also unescaped and masked alone.
    let strings = if event.contains('\\') { mask_strings(event) } else { Cow::Borrowed(event) };
    let line = match strings {
        Cow::Borrowed(event) => masked(event),
        Cow::Owned(event) => Cow::Owned(masked(&event).into_owned()),
    };
    let line = terminal::json_line(line);
    if matches!(line, Cow::Owned(_)) && serde_json::from_str::<Value>(&line).is_err() {
        return Cow::Owned(wrapped(event, &line));
    }
    line
}

fn masked(text: &str) -> Cow<'_, str> {
    // Nearly every line is clean, and `find` does not copy the text.
    if mc_sanitizer::find(text, &POLICY).is_empty() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(mc_sanitizer::mask_with(text, &POLICY).text.into_string())
}

/// Masks the unescaped value of each string of a JSON object.
fn mask_strings(event: &str) -> Cow<'_, str> {
    let mut line = String::with_capacity(event.len());
    let mut rest = event;
    while let Some(start) = rest.find('"') {
        let Some(len) = string_length(&rest[start..]) else { break };
        let (before, after) = rest.split_at(start);
        let (quoted, after) = after.split_at(len);
        line.push_str(before);
        let value = serde_json::from_str::<String>(quoted);
        match value.as_deref().map(masked) {
            Ok(Cow::Owned(clean)) => line.push_str(&Value::from(clean).to_string()),
            _ => line.push_str(quoted),
        }
        rest = after;
    }
    line.push_str(rest);
    if line == event { Cow::Borrowed(event) } else { Cow::Owned(line) }
}

/// Returns the length in bytes of the JSON string at the start of `text`, with its quotation marks.
fn string_length(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    });
    end.map(|position| position + 2)
}

/// Wraps a masked event that is no longer valid JSON, for example because a number was masked.
fn wrapped(event: &str, masked: &str) -> String {
    let whole = serde_json::from_str(event).unwrap_or(Value::Null);
    json!({
        "timestamp": whole["timestamp"],
        "level": whole["level"],
        "target": whole["target"],
        "fields": { "message": masked },
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token() -> String {
        format!("{}_{}", "ghp", "16C7e42F292c6912E7710c838347Ae178B4a")
    }

    #[test]
    fn clean_line_is_not_changed() {
        let lines = [
            "2026-11-21T19:07:23.512345Z  INFO \
             request{http.request_id=0198c2f4-7e1a-7bb0-8c3d-1f2e3d4c5b6a \
             http.method=POST http.route=\"/save\" http.status=201}: request answered \
             http.duration_ms=12",
            "2026-11-21T19:07:23.512345Z  WARN an address guesses tokens \
             client.address=203.0.113.9",
            "2026-11-21T19:07:23.512345Z ERROR the embedded PostgreSQL died; restarting it \
             reason=\"exit status: 1\"",
        ];
        for line in lines {
            assert!(matches!(text(line), Cow::Borrowed(same) if same == line), "{}", text(line));
        }
        let line = r#"{"timestamp":"2026-11-21T19:07:23.512345Z","level":"INFO","fields":{"message":"request answered","http.duration_ms":12},"target":"mc_api::middleware::observe","span":{"http.request_id":"0198c2f4-7e1a-7bb0-8c3d-1f2e3d4c5b6a","name":"request"}}"#;
        assert!(matches!(json(line), Cow::Borrowed(same) if same == line), "{}", json(line));
    }

    #[test]
    fn secrets_and_personal_data_in_a_line_are_masked() {
        let token = token();
        for line in [
            format!("INFO fetching from=https://me:{token}@example.com/x"),
            format!("INFO save{{title=\"{token}\"}}: done"),
            format!(
                "WARN failed error=Outer {{ source: \"said {token}\" }} # memory-copilot:allow"
            ),
            "INFO sent to=ada.lovelace@analytical.org".to_owned(),
            "DEBUG query url=https://example.com/?password=Tr0ub4dor%263x".to_owned(),
        ] {
            let masked = text(&line);
            assert!(masked.contains("[secret:") || masked.contains("[personal:"), "{masked}");
            assert!(!masked.contains(&token) && !masked.contains("analytical"), "{masked}");
            assert!(!masked.contains("Tr0ub4dor"), "{masked}");
        }
    }

    #[test]
    fn an_event_stays_on_its_line() {
        let forged = "INFO saved title=x\r\n2026-11-21T19:07:23Z ERROR \u{1b}[31mroot logged \
                      in\u{85}a\u{2028}b\u{202e}c";
        let line = text(forged);
        assert!(!line.contains(terminal::is_unwanted), "{line:?}");
        assert!(line.contains("title=x\\r\\n2026") && line.contains("\\u{1b}[31m"), "{line}");
    }

    #[test]
    fn object_stays_one_valid_line() {
        let key = format!(
            "-----BEGIN {0}-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nAAAABBBBCCCC\n-----END \
             {0}-----\n",
            "PRIVATE KEY"
        );
        for value in [
            json!(key),
            json!(key[..60]),
            json!(format!("a \"{}\" b", token())),
            json!({ "nested": [format!("password = \"{}\"", "gX7!pQ2#vL9z")] }),
            json!(4_111_111_111_111_111_u64),
            json!("x\u{9b}31m\u{2028}\u{e000}\n\u{0}"),
        ] {
            let event = json!({ "level": "WARN", "fields": { "message": "m", "value": value } });
            let line = json(&event.to_string()).into_owned();
            let read: Value = serde_json::from_str(&line).expect("JSON");
            assert_eq!(read["level"], "WARN", "{line}");
            for part in ["MIIEvQ", "16C7e42F", "gX7!", "411111111111"] {
                assert!(!line.contains(part), "{part}: {line}");
            }
            assert!(!line.contains(terminal::is_unwanted), "{line}");
        }
    }

    #[test]
    fn event_with_a_masked_number_is_valid_json() {
        let event = r#"{"timestamp":"t","level":"INFO","fields":{"card":4111111111111111}}"#;
        let read: Value = serde_json::from_str(&json(event)).expect("JSON");
        assert_eq!(read["timestamp"], "t");
        let message = read["fields"]["message"].as_str().expect("text");
        assert!(
            message.contains("[personal:") && !message.contains("4111111111111111"),
            "{message}"
        );
    }
}
