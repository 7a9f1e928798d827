//! Claims about the rules of values.

#![allow(clippy::unwrap_used, reason = "tests")]

use chrono::{DateTime, Utc};
use mc_contract::list::Steps;
use mc_contract::operations::policy::SetPolicy;
use mc_contract::text::{ContentText, RepositoryPath, SchemaName, ShortText, Title, WebUrl};
use mc_contract::{ExpiryDate, Meta, Request, limits, rules};
use mc_sgr::limits as schema_limits;
use proptest::prelude::*;
use serde_json::{Value, from_value, json};

fn now() -> DateTime<Utc> {
    "2026-11-20T12:00:00Z".parse().unwrap()
}

fn expiry(text: &str) -> Option<DateTime<Utc>> {
    ExpiryDate::parse(text).ok()?.after(now()).ok()
}

#[test]
fn line_is_trimmed_and_must_not_be_empty() {
    assert_eq!(rules::line("  ADR 7 ", 10).unwrap(), "ADR 7");
    assert!(rules::line("  ADR 7 ", 7).is_err(), "surrounding blanks count");
    assert_eq!(rules::line(" \n ", 10).unwrap_err().to_string(), "must not be empty");
}

#[test]
fn length_is_counted_in_characters() {
    assert!(rules::line("ёёё", 3).is_ok());
    let violation = rules::line("ёёёё", 3).unwrap_err();
    assert_eq!(violation.to_string(), "holds 4 characters; the limit is 3");
}

#[test]
fn limits_of_reasoning_schemas_are_those_of_requests() {
    // Their crate can't use the limits of this one, which depends on it.
    type Accepts = fn(usize) -> bool;
    let limits: [(usize, Accepts); 4] = [
        (schema_limits::NAME_MAX_CHARS, |n| SchemaName::parse(&"x".repeat(n)).is_ok()),
        (schema_limits::NOTE_TITLE_MAX_CHARS, |n| Title::parse(&"x".repeat(n)).is_ok()),
        (schema_limits::NOTE_CONTENT_MAX_CHARS, |n| ContentText::parse(&"x".repeat(n)).is_ok()),
        (schema_limits::NOTE_STEPS_MAX, |n| from_value::<Steps>(json!(vec!["x"; n])).is_ok()),
    ];
    for (max, accepts) in limits {
        assert!(accepts(max) && !accepts(max + 1), "{max}");
    }
}

#[test]
fn control_characters_are_rejected() {
    for hostile in ["a\0b", "a\u{1b}[2Jb", "a\u{7f}"] {
        let violation = rules::prose(hostile, 100).unwrap_err().to_string();
        assert!(violation.contains("control character"), "{violation}");
    }
    assert!(rules::prose("a\r\n\tb", 100).is_ok());
    assert!(rules::line("a\nb", 100).is_err());
}

#[test]
fn expiry_date_includes_its_day() {
    assert_eq!(expiry("2026-11-20").unwrap().to_rfc3339(), "2026-11-21T00:00:00+00:00");
    let time = expiry("2027-01-01T10:00:00+03:00").unwrap();
    assert_eq!(time.to_rfc3339(), "2027-01-01T07:00:00+00:00");
}

#[test]
fn expiry_is_given_in_days_or_weeks() {
    for (text, days) in [("30d", 30), ("8w", 56)] {
        assert_eq!((expiry(text).unwrap() - now()).num_days(), days, "{text}");
    }
}

#[test]
fn past_distant_and_invalid_expiries_are_rejected() {
    for text in [
        "2026-11-19",
        "2026-11-20T11:59:59Z",
        "2037-01-01",
        "soon",
        "",
        "2026-13-01",
        "+262142-12-31",
        "0d",
        "d",
        "-3d",
        "9999w",
        "18446744073709551615w",
        "30д",
    ] {
        assert_eq!(expiry(text), None, "{text}");
    }
}

#[test]
fn paths_stay_inside_the_repository() {
    for (text, path) in
        [("./src/lib.rs", "src/lib.rs"), ("app/services/", "app/services"), ("a..b.rs", "a..b.rs")]
    {
        assert_eq!(RepositoryPath::parse(text).unwrap().as_str(), path);
    }
    for text in
        ["/etc/passwd", "../x", "a/../../b", "a\\..\\b", "C:\\x", "~/x", "a\0b", "", "./", "a\nb"]
    {
        assert!(RepositoryPath::parse(text).is_err(), "{text:?}");
    }
}

#[test]
fn only_web_addresses_are_urls() {
    assert!(WebUrl::parse("https://wiki.example.org/adr/7?x=1#y").is_ok());
    for text in ["javascript:alert(1)", "file:///etc/passwd", "wiki/adr", "http://", "https://a b"]
    {
        assert!(WebUrl::parse(text).is_err(), "{text}");
    }
}

#[test]
fn allowed_commands_are_trimmed_and_have_no_personal_data() {
    let policy = |command: &str| {
        from_value::<SetPolicy>(json!({"allowed_commands": ["make", command]})).unwrap()
    };
    let trimmed = policy(" cargo test ");
    assert_eq!(trimmed.check(), Ok(()));
    assert_eq!(trimmed.into_inner().allowed_commands, ["make", "cargo test"]);
    let error = policy("notify ann.smith@acme-shop.com").check().unwrap_err();
    assert_eq!(error.field, "allowed_commands[1]");
}

#[test]
fn meta_is_limited_in_size_depth_and_characters() {
    let error = |value: Value| match from_value::<Meta>(value) {
        Ok(meta) => meta.check("meta").unwrap_err(),
        Err(error) => mc_contract::ValidationError::new("meta", error),
    };
    let accepted = |value: Value| from_value::<Meta>(value).unwrap().check("meta").is_ok();
    assert!(accepted(json!({"patch_sha": "abc", "n": [1, null]})));
    assert_eq!(error(json!({"a": {"b": ["x\u{0}"]}})).field, "meta.a.b[0]");
    assert_eq!(error(json!({"a\u{0}": 1})).field, "meta");
    assert_eq!(error(json!({"steps": []})).field, "meta.steps");
    assert!(error(json!({"a": "x".repeat(limits::META_BYTES)})).reason.contains("bytes of JSON"));
    let deep = (0..limits::META_DEPTH).fold(json!(1), |inner, _| json!({"a": inner}));
    assert!(accepted(deep.clone()));
    assert!(error(json!({"a": deep})).reason.contains("nested deeper"));
}

#[test]
fn item_of_a_list_is_named_by_its_index() {
    let body = json!({"project_key": "shop", "query": "x", "tags": ["good", " "]});
    let Value::Object(body) = body else { panic!("an object") };
    let error =
        mc_contract::read::from_object::<mc_contract::operations::search::SearchRequest>(body);
    assert_eq!(error.unwrap_err().field, "tags[1]");
}

proptest! {
    #[test]
    fn accepted_path_never_leaves_its_directory(path in "[a-z./\\\\~:]{0,24}") {
        if let Ok(path) = RepositoryPath::parse(&path) {
            let joined = std::path::Path::new("/root").join(path.as_str());
            let climbs = joined.components().any(|part| part == std::path::Component::ParentDir);
            prop_assert!(joined.starts_with("/root") && !climbs, "{}", path.as_str());
        }
    }

    #[test]
    fn no_text_makes_a_rule_panic(text in any::<String>()) {
        let _ = ShortText::parse(&text);
        let _ = rules::prose(&text, 10);
        let _ = expiry(&text);
        let _ = WebUrl::parse(&text);
        let _ = rules::hex(&text, &(7..=64));
    }
}
