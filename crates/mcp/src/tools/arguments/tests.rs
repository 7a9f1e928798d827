use mc_domain::check_text;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::tools::{TOOLS, from_name};

const ID: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

/// Returns the normalized arguments, if the request of the tool accepts them.
fn check(tool: &str, arguments: JsonObject) -> Result<JsonObject, FieldError> {
    let tool = from_name(tool).expect("a tool");
    let read = tool.read(arguments)?;
    let mut resolved = read.clone();
    for (field, reference) in references(tool.spec.handles, &read) {
        let value = match reference {
            Reference::Handle(_) => ID,
            Reference::Path(_) => "a/path",
        };
        put(&mut resolved, &field, value.to_owned())?;
    }
    resolved.entry("project_key").or_insert(json!("shop"));
    if tool.name() == "feedback" {
        resolved.entry("bundle_id").or_insert(json!(ID));
    }
    tool.core_call(&resolved).map(|_| read)
}

fn error(tool: &str, arguments: Value) -> String {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    check(tool, arguments).expect_err("an error").to_string()
}

#[test]
fn error_of_an_invalid_argument_has_its_field_and_rule() {
    let cases = [
        ("search_code", json!({}), "query: is required"),
        ("search", json!({"query": 7}), "query: must be a string, not integer `7`"),
        ("search_code", json!({"query": null}), "query: is required"),
        ("search", json!({"query": "x", "limit": -1}), "limit: must be from 1 to 100, not -1"),
        ("search", json!({"query": "x", "limit": 1.5}), "limit: must be a whole number, not 1.5"),
        (
            "search",
            json!({"query": "x", "limit": u64::MAX}),
            "limit: must be a whole number, not 18446744073709551615",
        ),
        (
            "search",
            json!({"query": "x", "limit": "ten"}),
            "limit: must be a whole number, not string \"ten\"",
        ),
        ("search", json!({"query": "x", "tags": true}), "tags: must be a list, not boolean `true`"),
        (
            "search",
            json!({"query": "x", "explain": 1}),
            "explain: must be a boolean, not integer `1`",
        ),
        (
            "search",
            json!({"query": "x", "sources": ["memory", "wiki"]}),
            "sources[1]: must be one of: memory, dialog, doc, code, change",
        ),
        (
            "search",
            json!({"query": "x", "kinds": ["wiki"]}),
            "kinds[0]: must be one of: fact, fewshot, pattern, adr_link, gotcha, rule",
        ),
        (
            "save",
            json!({"kind": "hunch", "content": "x"}),
            "kind: must be one of: fact, fewshot, pattern, adr_link, gotcha, rule",
        ),
        (
            "save",
            json!({"kind": "fact", "content": "x", "citations": [{"symbol": "A"}]}),
            "citations[0].file: is required",
        ),
        (
            "save",
            json!({"kind": "fact", "content": "x", "supersedes": "42"}),
            "supersedes: must be a handle of a recalled bundle (m1, d1) or a UUID, as search or \
             save gave it",
        ),
        ("open_doc", json!({"offset": -5}), "offset: must be 0 or more, not -5"),
        (
            "feedback",
            json!({"used": ["m1", "fact 2"]}),
            "used[1]: must be a handle of a recalled bundle (m1, d1) or a UUID, as search or save \
             gave it",
        ),
        (
            "feedback",
            json!({"bundle_id": "x", "used": []}),
            "bundle_id: must be a UUID, as recall gave it",
        ),
    ];
    for (tool, arguments, expected) in cases {
        assert_eq!(error(tool, arguments.clone()), expected, "{arguments}");
    }
}

#[test]
fn error_of_an_unknown_field_lists_the_known_ones() {
    let error = error("search_code", json!({"query": "x", "repo": "y"}));
    assert!(error.starts_with("repo: is not a known field; use one of: "), "{error}");
    assert!(error.contains("language") && error.contains("project_key"), "{error}");
}

/// Arguments of models, and their normalized form.
#[test]
#[expect(clippy::too_many_lines, reason = "a table of what models send")]
fn unambiguous_arguments_are_normalized() {
    let id = "01890a5d-ac96-774b-bcce-b302099a8057";
    let save = |mut more: Value| {
        (more["kind"], more["content"]) = (json!("fact"), json!("x"));
        more
    };
    let place = |more: Value| save(json!({ "citations": more }));
    let cases = [
        // A string for a list.
        ("recall", json!({"symbols": "Cart#total"}), json!({"symbols": ["Cart#total"]})),
        ("recall", json!({"symbols": "A::b, C.d"}), json!({"symbols": ["A::b", "C.d"]})),
        ("recall", json!({"symbols": "Map<A, B>"}), json!({"symbols": ["Map<A, B>"]})),
        ("recall", json!({"symbols": "[\"A\", \"B\"]"}), json!({"symbols": ["A", "B"]})),
        ("recall", json!({"signals": "E1: a, b"}), json!({"signals": ["E1: a, b"]})),
        (
            "search",
            json!({"query": "x", "tags": "a, b", "sources": "docs"}),
            json!({"query": "x", "tags": ["a", "b"], "sources": ["doc"]}),
        ),
        ("feedback", json!({"used": "m1, c2"}), json!({"used": ["m1", "c2"]})),
        // Integers in other forms.
        ("search", json!({"query": "x", "limit": 2.0}), json!({"query": "x", "limit": 2})),
        ("search", json!({"query": "x", "limit": "10"}), json!({"query": "x", "limit": 10})),
        (
            "recall",
            json!({"query": "x", "limit_tokens": "800"}),
            json!({"query": "x", "limit_tokens": 800}),
        ),
        (
            "search",
            json!({"query": "x", "explain": "true"}),
            json!({"query": "x", "explain": true}),
        ),
        // Aliases.
        ("recall", json!({"path": "app/x.rb"}), json!({"repo_path": "app/x.rb"})),
        ("recall", json!({"file": "./app/x.rb"}), json!({"repo_path": "app/x.rb"})),
        ("recall", json!({"issue": "CS-214"}), json!({"task_external_id": "CS-214"})),
        ("recall", json!({"task_id": 214}), json!({"task_external_id": "214"})),
        ("link_issue", json!({"issue": 12}), json!({"issue_id": "12"})),
        ("link_issue", json!({"task_external_id": "A-1"}), json!({"issue_id": "A-1"})),
        ("open_doc", json!({"path": "docs/a.md"}), json!({"title": "docs/a.md"})),
        ("open_doc", json!({"file": "./docs/a.md"}), json!({"title": "docs/a.md"})),
        ("open_doc", json!({"file": "docs\\a.md"}), json!({"title": "docs/a.md"})),
        ("open_doc", json!({"path": "/srv/a.md"}), json!({"title": "file:///srv/a.md"})),
        ("open_doc", json!({"path": "file:///srv/a"}), json!({"title": "file:///srv/a"})),
        ("open_doc", json!({"title": "./a.md"}), json!({"title": "./a.md"})),
        (
            "open_doc",
            json!({"handle": "D1", "heading": "Use"}),
            json!({"id": "D1", "section": "Use"}),
        ),
        ("forget", json!({"record_id": id}), json!({"id": id})),
        (
            "search",
            json!({"query": "x", "project": "a"}),
            json!({"query": "x", "project_key": "a"}),
        ),
        // A directory without a slash, and paths of Windows and URLs.
        (
            "search_code",
            json!({"query": "x", "repo_path": "app/models"}),
            json!({"query": "x", "path": "{app/models,app/models/**}"}),
        ),
        (
            "search_code",
            json!({"query": "x", "path": "crates"}),
            json!({"query": "x", "path": "{**/crates,**/crates/**}"}),
        ),
        (
            "search_code",
            json!({"query": "x", "path": "app/**/*.rb"}),
            json!({"query": "x", "path": "app/**/*.rb"}),
        ),
        ("recall", json!({"path": "app\\models\\x.rb"}), json!({"repo_path": "app/models/x.rb"})),
        ("recall", json!({"path": "file:///srv/x.rb"}), json!({"repo_path": "/srv/x.rb"})),
        // Lines.
        (
            "save",
            place(json!([{"file": "a.rs", "line": 7}])),
            place(json!([{"file": "a.rs", "line_start": 7, "line_end": 7}])),
        ),
        (
            "save",
            place(json!([{"path": "a.rs", "lines": "10-20"}])),
            place(json!([{"file": "a.rs", "line_start": 10, "line_end": 20}])),
        ),
        (
            "save",
            place(json!({"file": "a.rs", "lines": [10, 20.0]})),
            place(json!([{"file": "a.rs", "line_start": 10, "line_end": 20}])),
        ),
        (
            "save",
            place(json!(["a.rs:10-20", "b.rs#L3", "c.rb#Cart", "d.rb"])),
            place(json!([
                {"file": "a.rs", "line_start": 10, "line_end": 20},
                {"file": "b.rs", "line_start": 3, "line_end": 3},
                {"file": "c.rb", "symbol": "Cart"}, {"file": "d.rb"},
            ])),
        ),
        (
            "save",
            save(json!({"file": "a.rs:7"})),
            place(json!([{"file": "a.rs", "line_start": 7, "line_end": 7}])),
        ),
        // Values of an enum in other spellings.
        (
            "save",
            json!({"kind": "Few-Shot", "text": "x"}),
            json!({"kind": "fewshot", "content": "x"}),
        ),
        (
            "save",
            save(json!({"meta": "{\"patch_sha\": \"abc\"}"})),
            save(json!({"meta": {"patch_sha": "abc"}})),
        ),
    ];
    for (tool, sent, meant) in cases {
        let Value::Object(arguments) = sent.clone() else { panic!("arguments are an object") };
        let checked = check(tool, arguments).unwrap_or_else(|error| panic!("{sent}: {error}"));
        assert_eq!(Value::Object(checked), meant, "{sent}");
    }
}

#[test]
fn ambiguous_arguments_are_rejected() {
    for (tool, arguments, expected) in [
        ("recall", json!({"repo_path": "a", "path": "b"}), "path: is not a known field"),
        ("search", json!({"query": "x", "limit": 2.5}), "limit: must be a whole number"),
        (
            "save",
            json!({"kind": "fact", "content": "x", "citations": [{"file": "a", "lines": "top"}]}),
            "citations[0].lines: is not a known field",
        ),
    ] {
        assert!(error(tool, arguments.clone()).starts_with(expected), "{arguments}");
    }
}

#[test]
fn hostile_strings_are_rejected_in_every_field() {
    let nul = error("recall", json!({"symbols": ["ok", "a\0b"]}));
    assert!(nul.starts_with("symbols[1]: contains the control character U+0000"), "{nul}");
    let nested =
        error("save", json!({"kind": "fact", "content": "x", "meta": {"a": [{"b": "\u{1b}[2J"}]}}));
    assert!(nested.starts_with("meta.a[0].b: contains the control character"), "{nested}");
    let huge = error("recall", json!({"query": "x".repeat(10_000_000)}));
    assert_eq!(huge, "query: holds 10000000 characters; the limit is 4000");
    let name = error("recall", json!({"n".repeat(10_000_000): 1}));
    assert!(name.len() < 500, "the error repeats {} bytes", name.len());
}

#[test]
fn nulls_count_as_absent() {
    let Value::Object(arguments) = json!({
        "kind": "fact", "content": "x", "title": null,
        "citations": [{"file": "a.rs", "symbol": null}],
    }) else {
        panic!("arguments are an object")
    };
    let checked = check("save", arguments).expect("accepted");
    assert_eq!(
        Value::Object(checked),
        json!({"kind": "fact", "content": "x", "citations": [{"file": "a.rs"}]})
    );
}

/// Generates any JSON that a client could send as an argument.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        Just(json!("01890a5d-ac96-774b-bcce-b302099a8057")),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        let name = prop_oneof![Just("file".to_owned()), any::<String>()];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(name, inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn names() -> Vec<&'static str> {
    TOOLS.iter().map(crate::tools::Tool::name).collect()
}

/// Generates arguments with mostly the names of `tool`.
fn any_arguments(tool: &'static str) -> impl Strategy<Value = JsonObject> {
    let listed = from_name(tool).expect("a tool").listed().clone();
    let properties = listed.input_schema["properties"].as_object().expect("properties");
    let names: Vec<String> = properties.keys().cloned().collect();
    let name = prop_oneof![9 => prop::sample::select(names), 1 => any::<String>()];
    prop::collection::hash_map(name, any_json(), 0..6)
        .prop_map(|members| members.into_iter().collect())
}

fn holds_forbidden(value: &Value) -> bool {
    match value {
        Value::String(text) => check_text(text).is_err(),
        Value::Array(items) => items.iter().any(holds_forbidden),
        Value::Object(object) => object.values().any(holds_forbidden),
        _ => false,
    }
}

proptest! {
    #[test]
    fn any_arguments_are_accepted_or_rejected_briefly(
        (tool, arguments) in prop::sample::select(names())
            .prop_flat_map(|tool| (Just(tool), any_arguments(tool)))
    ) {
        match check(tool, arguments) {
            Ok(accepted) => {
                let accepted = Value::Object(accepted);
                prop_assert!(!holds_forbidden(&accepted), "{accepted}");
            }
            Err(error) => {
                prop_assert!(error.to_string().len() < 2_000, "{error}");
            }
        }
    }
}
