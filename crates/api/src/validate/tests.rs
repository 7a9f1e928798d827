//! Claims about the checks, kept apart so that the checks read in one go.

#![allow(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn now() -> DateTime<Utc> {
    "2026-11-20T12:00:00Z".parse().unwrap()
}

fn object_of(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        other => panic!("not an object: {other}"),
    }
}

#[test]
fn a_line_is_trimmed_and_must_say_something() {
    assert_eq!(line("title", "  ADR 7 ", 10).unwrap(), "ADR 7");
    assert!(line("title", "  ADR 7 ", 7).is_err(), "blanks count, as the document has it");
    assert_eq!(line("title", " \n ", 10), Err(ValidationError::new("title", "must not be empty")));
}

#[test]
fn characters_are_counted_and_not_bytes() {
    assert!(line("title", "ёёё", 3).is_ok());
    let refused = line("title", "ёёёё", 3).unwrap_err();
    assert_eq!(refused.reason, "holds 4 characters; the limit is 3");
}

#[test]
fn control_characters_are_refused_with_their_place() {
    for hostile in ["a\0b", "a\u{1b}[2Jb", "a\u{7f}"] {
        assert!(text("content", hostile, 100).unwrap_err().reason.contains("control character"));
    }
    assert!(text("content", "a\r\n\tb", 100).is_ok());
    assert!(line("title", "a\nb", 100).is_err());
}

#[test]
fn an_item_of_a_list_is_named_by_its_index() {
    let refused = words("tags", vec!["good".into(), " ".into()]).unwrap_err();
    assert_eq!(refused.field, "tags[1]");
    assert_eq!(within(refused, "documents[0]").field, "documents[0].tags[1]");
}

#[test]
fn numbers_outside_of_their_range_are_refused() {
    assert_eq!(range::<u32>("limit", 100, &(1..=100)), Ok(100));
    for value in [0, -1, 101, i64::MIN, i64::MAX] {
        assert_eq!(range::<u32>("limit", value, &(1..=100)).unwrap_err().field, "limit");
    }
    assert!(share("quality.dup", 1.0).is_ok());
    for value in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
        assert!(share("quality.dup", value).is_err());
    }
}

#[test]
fn a_date_lasts_through_its_day() {
    let end = |text| ttl("ttl", text, now()).map(|t| t.to_rfc3339());
    assert_eq!(end("2026-11-20").unwrap(), "2026-11-21T00:00:00+00:00");
    assert_eq!(end("2027-01-01T10:00:00+03:00").unwrap(), "2027-01-01T07:00:00+00:00");
}

#[test]
fn a_life_is_told_in_days_or_weeks() {
    let life = |text| ttl("ttl", text, now()).map(|end| (end - now()).num_days());
    assert_eq!(life("30d").unwrap(), 30);
    assert_eq!(life("8w").unwrap(), 56);
}

#[test]
fn times_that_are_past_far_or_no_times_are_refused() {
    for bad in [
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
        assert_eq!(ttl("ttl", bad, now()).unwrap_err().field, "ttl", "{bad}");
    }
}

#[test]
fn paths_stay_inside_the_repository() {
    assert_eq!(relative_path("file", "./src/lib.rs").unwrap(), "src/lib.rs");
    assert_eq!(relative_path("repo_path", "app/services/").unwrap(), "app/services");
    assert_eq!(relative_path("file", "src/a..b.rs").unwrap(), "src/a..b.rs");
    for bad in
        ["/etc/passwd", "../x", "a/../../b", "a\\..\\b", "C:\\x", "~/x", "a\0b", "", "./", "a\nb"]
    {
        assert!(relative_path("file", bad).is_err(), "{bad:?}");
    }
}

#[test]
fn only_web_addresses_are_urls() {
    assert!(http_url("url", "https://wiki.example.org/adr/7?x=1#y").is_ok());
    for bad in ["javascript:alert(1)", "file:///etc/passwd", "wiki/adr", "http://", "https://a b"] {
        assert!(http_url("url", bad).is_err(), "{bad}");
    }
}

#[test]
fn free_form_objects_are_bounded() {
    let refused = |value| object("meta", object_of(value)).unwrap_err();
    assert!(object("meta", object_of(json!({"patch_sha": "abc", "n": [1, null]}))).is_ok());
    assert_eq!(refused(json!({"a": {"b": ["x\u{0}"]}})).field, "meta.a.b[0]");
    assert_eq!(refused(json!({"a\u{0}": 1})).field, "meta");
    assert!(refused(json!({"a": "x".repeat(limits::META_BYTES)})).reason.contains("bytes of JSON"));
    let deep = (0..limits::META_DEPTH).fold(json!(1), |inner, _| json!({"a": inner}));
    assert!(object("meta", object_of(deep.clone())).is_ok());
    assert!(refused(json!({"a": deep})).reason.contains("nested deeper"));
}

proptest! {
    #[test]
    fn an_accepted_path_never_leaves_its_folder(path in "[a-z./\\\\~:]{0,24}") {
        if let Ok(path) = relative_path("file", &path) {
            let joined = std::path::Path::new("/root").join(&path);
            let climbs = joined.components().any(|c| c == std::path::Component::ParentDir);
            prop_assert!(joined.starts_with("/root") && !climbs, "{path}");
        }
    }

    #[test]
    fn no_text_panics_a_check(input in any::<String>()) {
        let _ = line("f", &input, 10);
        let _ = text("f", &input, 10);
        let _ = ttl("f", &input, now());
        let _ = http_url("f", &input);
        let _ = hex("f", &input, &(7..=64));
    }
}
