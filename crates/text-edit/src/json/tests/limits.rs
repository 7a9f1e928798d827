//! Limits of results and errors.

use super::*;

#[test]
fn long_names_are_cut_in_results_and_errors() {
    let name = "ké\u{1}".repeat(100_000);
    let key = serde_json::Value::String(name.clone()).to_string();
    let file = format!("{{{key}: {{{key}: [0, 1, 2, 3, 4, 5]}}}}");
    let found = values(&file, "$.*.*[*]").expect("values");
    let path = &found.values[0].path;
    assert!(path.starts_with("$['ké\\u0001ké") && path.ends_with('…'), "{path}");
    assert!(found.values.iter().all(|value| value.path.len() <= MAX_PATH_BYTES));
    assert_eq!(found.count, 6);
    let short = values(&format!("{{{key}: {{\"short\": 1}}}}"), "$.*.short").expect("a value");
    let path = &short.values[0].path;
    assert!(path.ends_with("…']['short']"), "the steps after a long name are shown: {path}");
    let errors = [
        set_one(&file, "$.*.*[*]", "1").expect_err("several matches"),
        set_in(&file, "$..*", "1", Matches::All).expect_err("nested matches"),
        set_one(&file, "$.none", "1").expect_err("nothing is there"),
        add_to(&file, "$.*", Position::End, "1").expect_err("an object"),
        add_to(&file, "$", Position::Key(&name), "1").expect_err("the key exists"),
        add_to(&file, "$.*.*", Position::Index(9), "1").expect_err("6 elements"),
        set_one(&format!("{{{key}: 1, {key}: 2}}"), "$.*", "1").expect_err("a duplicate"),
    ];
    for error in errors {
        let length = error.to_string().len();
        assert!(length < NAMED_PATHS * MAX_PATH_BYTES + 300, "{length}");
    }
}

#[test]
fn paths_count_as_part_of_the_result() {
    let file = format!("[{}0]", "0,".repeat(90));
    for max_bytes in 0..200 {
        let limits = Limits { max_bytes, ..Limits::default() };
        let found = with(&file, |file| view(file, "$[*]", limits)).expect("values");
        assert!(size(&found) <= max_bytes.max("$[0]".len()), "{max_bytes}");
        assert!(!found.values.is_empty() && found.count == 91);
    }
}

#[test]
fn placeholders_are_never_cut() {
    let token = concat!("ghp_", "16C7e42F292c6912E7710c838347Ae178B4a");
    let file = format!("[\"ab {token} cd\"]");
    let path = "$[0]".len();
    for max in 4..25 {
        let limits = Limits { max_bytes: path + max, ..Limits::default() };
        let found = with(&file, |file| view(file, "$[0]", limits)).expect("a value");
        assert_eq!((&*found.values[0].text, found.values[0].is_cut), ("\"ab ", true), "{max}");
    }
    // A name of which only a part has room.
    for length in 0..300 {
        let name = format!("{}{token} {}", "a ".repeat(length), "b ".repeat(300));
        let found = values(&format!("{{\"{name}\": 1}}"), "$.*").expect("a value");
        let path = &found.values[0].path;
        let has_part = path.contains("[sec") && !path.contains("[secret:github-token]");
        assert!(!has_part && path.len() <= MAX_PATH_BYTES, "{path}");
    }
}
