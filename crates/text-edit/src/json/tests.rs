mod limits;

use mc_sanitizer::mask;

use super::*;
use crate::{FileText, Limits, MAX_FILE_BYTES, MAX_JSON_DEPTH, MAX_JSON_VALUES, MAX_PATH_BYTES};

const CONFIG: &str = r#"// settings
{
  "name": "a\u0062c", /* kept */
  "big": 12345678901234567890.10,
  "list": [1, 2, 3],
  "deep": {
    "x": true, // last
  },
}
"#;

fn with<T>(text: &str, run: impl FnOnce(&View<'_>) -> T) -> T {
    let file = FileText::decode(text.as_bytes()).expect("the text is text");
    run(&View::new(&file, &mask(file.text()).findings))
}

fn text(edited: Result<Edited, EditError>) -> String {
    let edited = edited.expect("the edit is allowed");
    let findings = mask(edited.text()).findings;
    let checked = edited.check_masking(&findings).expect("masked text stays masked");
    String::from_utf8(checked.bytes().to_vec()).expect("UTF-8")
}

fn set_in(file: &str, path: &str, value: &str, matches: Matches) -> Result<Edited, EditError> {
    with(file, |view| set(view, path, value, matches, MAX_FILE_BYTES))
}

fn set_one(file: &str, path: &str, value: &str) -> Result<Edited, EditError> {
    set_in(file, path, value, Matches::One)
}

fn add_to(
    file: &str,
    path: &str,
    position: Position<'_>,
    value: &str,
) -> Result<Edited, EditError> {
    with(file, |view| add(view, path, position, value, MAX_FILE_BYTES))
}

fn remove_from(file: &str, path: &str, matches: Matches) -> Result<Edited, EditError> {
    with(file, |view| remove(view, path, matches, MAX_FILE_BYTES))
}

/// Returns the size of paths and texts, in bytes.
fn size(values: &JsonValues) -> usize {
    values.values.iter().map(|value| value.path.len() + value.text.len()).sum()
}

fn values(file: &str, path: &str) -> Result<JsonValues, EditError> {
    with(file, |file| view(file, path, Limits::default()))
}

#[test]
fn values_are_shown_as_they_are_written() {
    let found = values(CONFIG, "$.*").expect("values");
    let shown: Vec<_> = found
        .values
        .iter()
        .map(|value| (value.path.as_str(), value.line, value.text.as_str()))
        .collect();
    assert_eq!(
        shown[..3],
        [
            ("$['name']", 3, r#""a\u0062c""#),
            ("$['big']", 4, "12345678901234567890.10"),
            ("$['list']", 5, "[1, 2, 3]"),
        ]
    );
    assert_eq!(found.count, 4);
    let found = values(CONFIG, "$.list[?@ > 1]").expect("values");
    assert_eq!(found.values.iter().map(|value| &*value.text).collect::<Vec<_>>(), ["2", "3"]);
    let cut = with(CONFIG, |file| view(file, "$.*", Limits { max_bytes: 29, ..Limits::default() }));
    let cut = cut.expect("values");
    assert_eq!(size(&cut), 29);
    assert_eq!(cut.values[1].text, "12");
    assert!(cut.values[1].is_cut && cut.values.len() == 2 && cut.count == 4);
}

#[test]
fn set_changes_the_value_alone() {
    for (path, old, value, new) in [
        ("$.name", r#""a\u0062c""#, r#""x""#, r#""x""#),
        ("$.big", "12345678901234567890.10", "1e400", "1e400"),
        ("$.list[-1]", "3]", "null", "null]"),
        ("$.list", "[1, 2, 3]", "[4,[ ]]", "[4, []]"),
        ("$['deep']['x']", "true", "\"\\u0041\"", "\"\\u0041\""),
        ("$.deep.x", "true", r#"{"a":1}"#, "{\n      \"a\": 1\n    }"),
    ] {
        assert_eq!(text(set_one(CONFIG, path, value)), CONFIG.replace(old, new), "{path}");
    }
    let crlf = CONFIG.replace('\n', "\r\n");
    let expected = crlf.replace("true", "{\r\n      \"a\": 1\r\n    }");
    assert_eq!(text(set_one(&crlf, "$.deep.x", r#"{"a":1}"#)), expected);
    assert_eq!(
        text(set_one("{\"a\":{\"b\":1}}", "$.a", r#"{"c": [1, 2]}"#)),
        "{\"a\":{\"c\":[1,2]}}"
    );
    assert_eq!(text(set_one("1", "$", "[2]")), "[\n  2\n]");
    assert_eq!(set_one("[1]", "$[0]", "1").expect_err("equal"), EditError::NoChange);
}

#[test]
fn several_matches_need_permission() {
    let error = set_one(CONFIG, "$.list[*]", "0").expect_err("three matches");
    let first = ["$['list'][0]", "$['list'][1]", "$['list'][2]"].map(str::to_owned).to_vec();
    assert_eq!(error, EditError::TooManyMatches { count: 3, max: 1, first });
    let all = set_in(CONFIG, "$.list[*]", "0", Matches::All);
    assert_eq!(text(all), CONFIG.replace("[1, 2, 3]", "[0, 0, 0]"));
    let many = format!("[{}0]", "0, ".repeat(5_000));
    let error = set_in(&many, "$[*]", "1", Matches::All).expect_err("thousands");
    assert!(
        matches!(&error, EditError::TooManyMatches { count: 5_001, first, .. } if first.len() == 5)
    );
    assert!(error.to_string().len() < 300, "{error}");
    let error = set_in("[[1]]", "$..*", "2", Matches::All).expect_err("one is in the other");
    assert!(matches!(error, EditError::NestedMatches { .. }));
    let same = set_in("[1, 2]", "$[0, 0]", "3", Matches::One);
    assert_eq!(text(same), "[3, 2]", "a value that is selected twice is one match");
}

#[test]
fn path_without_a_match_names_what_exists() {
    for (path, prefix, contents) in [
        ("$.deep.y.z", "$['deep']", "the keys x"),
        ("$.list[7]", "$['list']", "3 elements"),
        ("$['name'].a", "$['name']", "a string, without keys"),
        ("$.none", "$", "the keys name, big, list, deep"),
        ("$.deep..none", "$['deep']", "the keys x"),
        ("$.list[?@ > 9]", "$['list']", "3 elements"),
    ] {
        let error = set_one(CONFIG, path, "1").expect_err("nothing is there");
        let expected = EditError::NoMatch { prefix: prefix.into(), contents: contents.into() };
        assert_eq!(error, expected, "{path}");
    }
    let error = values("{}", "$.a").expect_err("nothing is there");
    assert!(matches!(error, EditError::NoMatch { contents, .. } if contents == "no keys"));
}

#[test]
fn members_and_elements_are_added_in_the_format_of_the_file() {
    let key = Position::Key("n");
    for (file, path, position, value, expected) in [
        ("{\n  \"a\": 1\n}\n", "$", key, "2", "{\n  \"a\": 1,\n  \"n\": 2\n}\n"),
        ("{\n\t\"a\":1 // c\n}", "$", key, "[1]", "{\n\t\"a\":1, // c\n\t\"n\":[\n\t\t1\n\t]\n}"),
        ("{\n  \"a\": 1, // c\n}", "$", key, "2", "{\n  \"a\": 1, // c\n  \"n\": 2,\n}"),
        ("{\"a\": 1}", "$", key, "{\"b\":2}", "{\"a\": 1, \"n\": {\"b\": 2}}"),
        ("{\"a\":1}", "$", key, "2", "{\"a\":1,\"n\":2}"),
        ("{}", "$", key, "2", "{\n  \"n\": 2\n}"),
        ("{ }\n", "$", key, "2", "{\n  \"n\": 2\n}\n"),
        ("{\n  // c\n}", "$", key, "2", "{\n  // c\n  \"n\": 2\n}"),
        ("[/* c */]", "$", Position::End, "2", "[/* c */\n  2\n]"),
        (
            "{\r\n    \"a\": {}\r\n}",
            "$.a",
            key,
            "2",
            "{\r\n    \"a\": {\r\n        \"n\": 2\r\n    }\r\n}",
        ),
        ("{\"a\": []}", "$.a", Position::End, "2", "{\"a\": [2]}"),
        ("[1, 2]", "$", Position::End, "3", "[1, 2, 3]"),
        ("[1, 2]", "$", Position::Index(2), "3", "[1, 2, 3]"),
        ("[1, 2]", "$", Position::Index(0), "3", "[3, 1, 2]"),
        ("[\n  1,\n  2,\n]", "$", Position::Index(1), "3", "[\n  1,\n  3,\n  2,\n]"),
        ("[\n  1 /* a\n */\n]", "$", Position::End, "3", "[\n  1,\n  3 /* a\n */\n]"),
        ("[1, ]", "$", Position::End, "3", "[1, 3, ]"),
    ] {
        assert_eq!(text(add_to(file, path, position, value)), expected, "{file:?}");
    }
}

#[test]
fn impossible_additions_are_refused() {
    let refused = |file, path, position| add_to(file, path, position, "1").expect_err("refused");
    assert_eq!(
        refused("{\"a\": 1}", "$", Position::Key("a")),
        EditError::KeyExists { path: "$['a']".into() }
    );
    assert_eq!(
        refused("{\"\\u0061\": 1}", "$", Position::Key("a")),
        EditError::KeyExists { path: "$['a']".into() }
    );
    assert!(matches!(
        refused("[1]", "$", Position::Index(2)),
        EditError::IndexOutOfRange { length: 1, .. }
    ));
    assert!(matches!(refused("[1]", "$", Position::Key("a")), EditError::WrongType { .. }));
    assert!(matches!(refused("{}", "$", Position::End), EditError::WrongType { .. }));
    assert!(matches!(refused("[1]", "$[0]", Position::End), EditError::WrongType { .. }));
    assert_eq!(text(add_to("{}", "$", Position::Key("\"\n"), "1")), "{\n  \"\\\"\\n\": 1\n}");
}

#[test]
fn removed_items_take_their_comma_along() {
    for (file, path, expected) in [
        ("[1, 2, 3]", "$[0]", "[2, 3]"),
        ("[1, 2, 3]", "$[1]", "[1, 3]"),
        ("[1, 2, 3]", "$[2]", "[1, 2]"),
        ("[1, 2, 3]", "$[1:]", "[1]"),
        ("[1, 2, 3]", "$[0,2]", "[2]"),
        ("[ 1, 2, ]", "$[1]", "[ 1, ]"),
        ("[1]", "$[0]", "[]"),
        ("[ 1, ]", "$[0]", "[]"),
        ("{\n  \"a\": 1,\n  \"b\": 2\n}\n", "$.a", "{\n  \"b\": 2\n}\n"),
        ("{\n  \"a\": 1,\n  \"b\": 2\n}\n", "$.b", "{\n  \"a\": 1\n}\n"),
        ("{\r\n  \"a\": 1,\r\n  \"b\": 2,\r\n}", "$.b", "{\r\n  \"a\": 1,\r\n}"),
        ("{\r\n  \"a\": 1,\r\n  \"b\": 2,\r\n}", "$.a", "{\r\n  \"b\": 2,\r\n}"),
        ("{\n  \"a\": 1, // one\n  \"b\": 2 // two\n}", "$.a", "{\n  // one\n  \"b\": 2 // two\n}"),
        ("{\n  \"a\": 1, // one\n  \"b\": 2 // two\n}", "$.b", "{\n  \"a\": 1 // one\n  // two\n}"),
        ("[1 /* , */, 2]", "$[0]", "[ /* , */ 2]"),
        ("[1 /* , */, 2]", "$[1]", "[1 /* , */ ]"),
        ("[ /* c */ 1]", "$[0]", "[ /* c */ ]"),
        ("{\"a\": [1, 2], \"b\": [3, 4]}", "$.*[0]", "{\"a\": [2], \"b\": [4]}"),
        ("[\n  {\n    \"a\": 1\n  },\n  2\n]", "$[0]", "[\n  2\n]"),
    ] {
        assert_eq!(text(remove_from(file, path, Matches::All)), expected, "{file:?} {path}");
    }
    assert_eq!(remove_from("[1]", "$", Matches::One).expect_err("the root"), EditError::Root);
}

#[test]
fn duplicate_keys_are_not_edited() {
    let file = r#"{"a": {"b": 1}, "c": 2, "a": {"b": 3}}"#;
    for path in ["$.a", "$.a.b", "$..b"] {
        let error = set_one(file, path, "9").expect_err("parsers differ in which one they read");
        assert_eq!(error, EditError::DuplicateKey { path: "$['a']".into() }, "{path}");
    }
    assert_eq!(text(set_one(file, "$.c", "9")), file.replace('2', "9"));
}

#[test]
fn masked_values_are_neither_changed_nor_matched() {
    let token = concat!("ghp_", "16C7e42F292c6912E7710c838347Ae178B4a");
    let file = format!("{{\n  \"token\": \"{token}\",\n  \"other\": 1\n}}\n");
    let shown = values(&file, "$.token").expect("a value");
    assert_eq!(shown.values[0].text, "\"[secret:github-token]\"");
    for error in [
        set_one(&file, "$.token", "1").expect_err("masked"),
        set_one(&file, "$", "1").expect_err("it has masked text"),
        remove_from(&file, "$.token", Matches::One).expect_err("masked"),
    ] {
        assert!(matches!(error, EditError::Masked { line: 2, .. }), "{error:?}");
    }
    let guess = |path: &str| values(&file, path).map(|found| found.count);
    assert!(matches!(guess(&format!("$[?@ == '{token}']")), Err(EditError::NoMatch { .. })));
    assert!(matches!(guess("$[?@ >= 'ghp_' && @ < 'ghp~']"), Err(EditError::NoMatch { .. })));
    assert_eq!(guess("$[?@ == '[secret:github-token]']"), Ok(1));
    assert_eq!(text(set_one(&file, "$.other", "2")), file.replace(": 1", ": 2"));
    assert_eq!(
        text(remove_from(&file, "$.other", Matches::One)),
        file.replace(",\n  \"other\": 1", "")
    );
}

#[test]
fn placeholders_are_not_written_even_with_escapes() {
    for value in ["\"[secret:x]\"", r#""\u005bsecret:x]""#, r#"{"[personal\u003ax]": 1}"#] {
        let error = set_one("[1]", "$[0]", value).expect_err("a placeholder");
        assert!(matches!(error, EditError::Placeholder { .. }), "{value}");
    }
    let error = add_to("{}", "$", Position::Key("[secret:x]"), "1").expect_err("a placeholder");
    assert!(matches!(error, EditError::Placeholder { .. }));
}

#[test]
fn hostile_files_and_values_are_refused() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let parse = |file: &str| values(file, "$").map(|found| found.count);
    assert_eq!(parse(&nested(MAX_JSON_DEPTH)), Ok(1));
    assert!(matches!(parse(&nested(MAX_JSON_DEPTH + 1)), Err(EditError::JsonTooLarge { .. })));
    assert!(matches!(parse(&nested(900_000)), Err(EditError::InvalidJson { .. })));
    assert!(matches!(parse(&"[".repeat(900_000)), Err(EditError::InvalidJson { .. })));
    let many = format!("[{}0]", "0,".repeat(MAX_JSON_VALUES));
    assert!(matches!(parse(&many), Err(EditError::JsonTooLarge { .. })));
    for file in ["", " ", "{", "{\"a\" 1}", "'a'", "{a: 1}", "[1 2]", "[0x1]", "// c", "[NaN]"] {
        assert!(matches!(parse(file), Err(EditError::InvalidJson { .. })), "{file:?}");
    }
    let deep = add_to(
        &nested(MAX_JSON_DEPTH),
        &format!("${}", "[0]".repeat(MAX_JSON_DEPTH - 1)),
        Position::End,
        "[]",
    );
    assert!(matches!(deep, Err(EditError::JsonTooLarge { .. })), "{deep:?}");
    for value in [
        "",
        "{",
        "1 2",
        "// c\n1",
        "[1,]",
        "'a'",
        "undefined",
        "{\"a\": 1, \"\\u0061\": 2}",
        "01",
        "\"\n\"",
        "\"\t\"",
        "-",
        "1e",
        ".5",
        "1.",
        "+1",
        "\"\\q\"",
        "\"\\u12\"",
    ] {
        let error = set_one("[1]", "$[0]", value).expect_err("no JSON");
        assert!(matches!(error, EditError::InvalidValue { .. }), "{value:?} {error:?}");
    }
    let error = set_one("[1]", "$[0]", &nested(200)).expect_err("too deep");
    assert!(matches!(error, EditError::JsonTooLarge { .. }));
    let indented = format!("[\n{}1\n]", " ".repeat(1_000_000));
    let error = set_one(&indented, "$[0]", &format!("[{}0]", "0,".repeat(500_000)));
    assert!(matches!(error, Err(EditError::TooLarge { .. })));
    let result = with("[1]", |view| set(view, "$[0]", "123456", Matches::One, 7));
    assert!(matches!(result, Err(EditError::TooLarge { bytes: 8, max: 7 })));
}

#[test]
fn hostile_paths_are_refused() {
    for path in [
        String::new(),
        "a".to_owned(),
        "$.".to_owned(),
        "$[".to_owned(),
        "$['a".to_owned(),
        "$[?@.a == $.b]".to_owned(),
        "$[?@..a]".to_owned(),
        "$[?@.*]".to_owned(),
        "$[?@[?@.a]]".to_owned(),
        "$..a..b".to_owned(),
        "$[?length(@) > 1]".to_owned(),
        "$[?search(@, 'a')]".to_owned(),
        "$[99999999999999999999999]".to_owned(),
        format!("$.{}", "a".repeat(MAX_PATH_BYTES)),
        format!("${}", "[0,0]".repeat(60)),
        format!("$[{}0]", "0,".repeat(100)),
        format!("$[?{}@.a{}]", "(".repeat(100), ")".repeat(100)),
        format!("$[?{}", "(".repeat(400)),
        format!("$[?{}@.a]", "!".repeat(400)),
        format!("$[?@.a{}]", " && @.a".repeat(60)),
        "$[?@.a][?@.b][?@.c]".to_owned(),
    ] {
        let error = values(CONFIG, &path).expect_err("a bad path");
        assert!(matches!(error, EditError::InvalidPath { .. }), "{path} {error:?}");
        assert!(error.to_string().len() < 300, "{error}");
    }
    for (path, count) in [
        ("$", 1),
        ("$..x", 1),
        ("$['name','big','list','deep']", 4),
        ("$.list[0:2]", 2),
        ("$.list[::-1]", 3),
        ("$[?@.x && !(@.y || @['z']) || @ == \"$..[?\"]", 1),
        ("$.list[?@ == 1, ?@ == 2]", 2),
    ] {
        match values(CONFIG, path) {
            Ok(found) => assert_eq!(found.count, count, "{path}"),
            Err(error) => assert_eq!((path, count), ("$.list[?@ == 1, ?@ == 2]", 2), "{error}"),
        }
    }
}

#[test]
fn special_tokens_in_keys_are_neutralized_in_messages() {
    let mark = concat!("<thi", "nk>");
    let error = set_one(&format!("{{\"{mark}\": 1}}"), "$.a", "1").expect_err("nothing is there");
    assert!(error.to_string().contains("‹think›"), "{error}");
    let found = values(&format!("{{\"{mark}\": \"{mark}\"}}"), "$.*").expect("a value");
    assert_eq!((&*found.values[0].path, &*found.values[0].text), ("$['‹think›']", "\"‹think›\""));
}
