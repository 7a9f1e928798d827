use proptest::prelude::*;
use serde_json::json;

use super::super::Tool;
use super::*;

fn error(tool: Tool, arguments: Value) -> String {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    tool.check(arguments).expect_err("refused").to_string()
}

#[test]
fn every_broken_argument_is_named_with_its_rule() {
    let cases = [
        (Tool::SearchCode, json!({}), "query: is required"),
        (Tool::Search, json!({"query": 7}), "query: must be a string"),
        (Tool::SearchCode, json!({"query": null}), "query: is required"),
        (Tool::Search, json!({"query": "x", "limit": -1}), "limit: must be 1 to 100"),
        (Tool::Search, json!({"query": "x", "limit": 1.5}), "limit: must be an integer"),
        (Tool::Search, json!({"query": "x", "limit": u64::MAX}), "limit: must be 1 to 100"),
        (Tool::Search, json!({"query": "x", "limit": "ten"}), "limit: must be an integer"),
        (Tool::Search, json!({"query": "x", "tags": true}), "tags: must be an array"),
        (Tool::Search, json!({"query": "x", "explain": 1}), "explain: must be a boolean"),
        (
            Tool::Search,
            json!({"query": "x", "sources": ["memory", "wiki"]}),
            "sources[1]: must be one of: memory, doc, code, dialog",
        ),
        (
            Tool::Search,
            json!({"query": "x", "kinds": ["wiki"]}),
            "kinds[0]: must be one of: fact, fewshot, pattern, adr_link, gotcha, rule",
        ),
        (
            Tool::Save,
            json!({"kind": "hunch", "content": "x"}),
            "kind: must be one of: fact, fewshot, pattern, adr_link, gotcha, rule",
        ),
        (
            Tool::Save,
            json!({"kind": "fact", "content": "x", "citations": [{"symbol": "A"}]}),
            "citations[0].file: is required",
        ),
        (
            Tool::Save,
            json!({"kind": "fact", "content": "x", "supersedes": "42"}),
            "supersedes: must be a handle of a recalled bundle (m1, d1) or a UUID, as search or save gave it",
        ),
        (Tool::OpenDoc, json!({"offset": -5}), "offset: must be 0 or more"),
        (
            Tool::Feedback,
            json!({"used": ["m1", "fact 2"]}),
            "used[1]: must be a handle of a recalled bundle (m1, d1) or a UUID, as search or save gave it",
        ),
        (
            Tool::Feedback,
            json!({"bundle_id": "x", "used": []}),
            "bundle_id: must be a UUID, as recall gave it",
        ),
    ];
    for (tool, arguments, expected) in cases {
        assert_eq!(error(tool, arguments.clone()), expected, "{arguments}");
    }
}

#[test]
fn an_unknown_field_is_named_beside_the_known_ones() {
    let error = error(Tool::SearchCode, json!({"query": "x", "repo": "y"}));
    assert!(error.starts_with("repo: unknown field; use one of: "), "{error}");
    assert!(error.contains("language") && error.contains("project_key"), "{error}");
}

/// What models send, and what it means.
#[test]
#[expect(clippy::too_many_lines, reason = "a table of what models send")]
fn what_can_be_meant_in_one_way_only_is_taken_so() {
    let id = "01890a5d-ac96-774b-bcce-b302099a8057";
    let save = |mut more: Value| {
        (more["kind"], more["content"]) = (json!("fact"), json!("x"));
        more
    };
    let place = |more: Value| save(json!({ "citations": more }));
    let cases = [
        // A string for a list.
        (Tool::Recall, json!({"symbols": "Cart#total"}), json!({"symbols": ["Cart#total"]})),
        (Tool::Recall, json!({"symbols": "A::b, C.d"}), json!({"symbols": ["A::b", "C.d"]})),
        (Tool::Recall, json!({"symbols": "Map<A, B>"}), json!({"symbols": ["Map<A, B>"]})),
        (Tool::Recall, json!({"symbols": "[\"A\", \"B\"]"}), json!({"symbols": ["A", "B"]})),
        (Tool::Recall, json!({"signals": "E1: a, b"}), json!({"signals": ["E1: a, b"]})),
        (
            Tool::Search,
            json!({"query": "x", "tags": "a, b", "sources": "docs"}),
            json!({"query": "x", "tags": ["a", "b"], "sources": ["doc"]}),
        ),
        (Tool::Feedback, json!({"used": "m1, c2"}), json!({"used": ["m1", "c2"]})),
        // Whole numbers, however they are written.
        (Tool::Search, json!({"query": "x", "limit": 2.0}), json!({"query": "x", "limit": 2})),
        (Tool::Search, json!({"query": "x", "limit": "10"}), json!({"query": "x", "limit": 10})),
        (Tool::Recall, json!({"limit_tokens": "800"}), json!({"limit_tokens": 800})),
        (
            Tool::Search,
            json!({"query": "x", "explain": "true"}),
            json!({"query": "x", "explain": true}),
        ),
        // Names for the same thing.
        (Tool::Recall, json!({"path": "app/x.rb"}), json!({"repo_path": "app/x.rb"})),
        (Tool::Recall, json!({"file": "./app/x.rb"}), json!({"repo_path": "app/x.rb"})),
        (Tool::Recall, json!({"issue": "CS-214"}), json!({"task_external_id": "CS-214"})),
        (Tool::Recall, json!({"task_id": 214}), json!({"task_external_id": "214"})),
        (Tool::LinkIssue, json!({"issue": 12}), json!({"issue_id": "12"})),
        (Tool::LinkIssue, json!({"task_external_id": "A-1"}), json!({"issue_id": "A-1"})),
        (Tool::OpenDoc, json!({"path": "docs/a.md"}), json!({"title": "docs/a.md"})),
        (Tool::OpenDoc, json!({"file": "./docs/a.md"}), json!({"title": "docs/a.md"})),
        (Tool::OpenDoc, json!({"file": "docs\\a.md"}), json!({"title": "docs/a.md"})),
        (Tool::OpenDoc, json!({"path": "/srv/a.md"}), json!({"title": "file:///srv/a.md"})),
        (Tool::OpenDoc, json!({"path": "file:///srv/a"}), json!({"title": "file:///srv/a"})),
        (Tool::OpenDoc, json!({"title": "./a.md"}), json!({"title": "./a.md"})),
        (
            Tool::OpenDoc,
            json!({"handle": "D1", "heading": "Use"}),
            json!({"id": "D1", "section": "Use"}),
        ),
        (Tool::Forget, json!({"record_id": id}), json!({"id": id})),
        (
            Tool::Search,
            json!({"query": "x", "project": "a"}),
            json!({"query": "x", "project_key": "a"}),
        ),
        // A folder without a slash, and paths as Windows and URLs have them.
        (
            Tool::SearchCode,
            json!({"query": "x", "repo_path": "app/models"}),
            json!({"query": "x", "path": "{app/models,app/models/**}"}),
        ),
        (
            Tool::SearchCode,
            json!({"query": "x", "path": "crates"}),
            json!({"query": "x", "path": "{**/crates,**/crates/**}"}),
        ),
        (
            Tool::SearchCode,
            json!({"query": "x", "path": "app/**/*.rb"}),
            json!({"query": "x", "path": "app/**/*.rb"}),
        ),
        (
            Tool::Recall,
            json!({"path": "app\\models\\x.rb"}),
            json!({"repo_path": "app/models/x.rb"}),
        ),
        (Tool::Recall, json!({"path": "file:///srv/x.rb"}), json!({"repo_path": "/srv/x.rb"})),
        // Lines.
        (
            Tool::Save,
            place(json!([{"file": "a.rs", "line": 7}])),
            place(json!([{"file": "a.rs", "line_start": 7, "line_end": 7}])),
        ),
        (
            Tool::Save,
            place(json!([{"path": "a.rs", "lines": "10-20"}])),
            place(json!([{"file": "a.rs", "line_start": 10, "line_end": 20}])),
        ),
        (
            Tool::Save,
            place(json!({"file": "a.rs", "lines": [10, 20.0]})),
            place(json!([{"file": "a.rs", "line_start": 10, "line_end": 20}])),
        ),
        (
            Tool::Save,
            place(json!(["a.rs:10-20", "b.rs#L3", "c.rb#Cart", "d.rb"])),
            place(json!([
                {"file": "a.rs", "line_start": 10, "line_end": 20},
                {"file": "b.rs", "line_start": 3, "line_end": 3},
                {"file": "c.rb", "symbol": "Cart"}, {"file": "d.rb"},
            ])),
        ),
        (
            Tool::Save,
            save(json!({"file": "a.rs:7"})),
            place(json!([{"file": "a.rs", "line_start": 7, "line_end": 7}])),
        ),
        // Words of a list, in other letters.
        (
            Tool::Save,
            json!({"kind": "Few-Shot", "text": "x"}),
            json!({"kind": "fewshot", "content": "x"}),
        ),
        (
            Tool::Save,
            save(json!({"meta": "{\"patch_sha\": \"abc\"}"})),
            save(json!({"meta": {"patch_sha": "abc"}})),
        ),
    ];
    for (tool, sent, meant) in cases {
        let Value::Object(arguments) = sent.clone() else { panic!("arguments are an object") };
        let checked = tool.check(arguments).unwrap_or_else(|error| panic!("{sent}: {error}"));
        assert_eq!(Value::Object(checked), meant, "{sent}");
    }
}

#[test]
fn what_says_two_things_is_refused() {
    for (tool, arguments, expected) in [
        (Tool::Recall, json!({"repo_path": "a", "path": "b"}), "path: unknown field"),
        (Tool::Search, json!({"query": "x", "limit": 2.5}), "limit: must be an integer"),
        (
            Tool::Save,
            json!({"kind": "fact", "content": "x", "citations": [{"file": "a", "lines": "top"}]}),
            "citations[0].lines: unknown field",
        ),
    ] {
        assert!(error(tool, arguments.clone()).starts_with(expected), "{arguments}");
    }
}

#[test]
fn hostile_strings_are_refused_wherever_they_stand() {
    let nul = error(Tool::Recall, json!({"symbols": ["ok", "a\0b"]}));
    assert!(nul.starts_with("symbols[1]: contains the control character U+0000"), "{nul}");
    let nested = error(
        Tool::Save,
        json!({"kind": "fact", "content": "x", "meta": {"a": [{"b": "\u{1b}[2J"}]}}),
    );
    assert!(nested.starts_with("meta.a[0].b: contains the control character"), "{nested}");
    let huge = error(Tool::Recall, json!({"query": "x".repeat(10_000_000)}));
    assert_eq!(huge, "query: is 10000000 bytes long; send at most 200000");
    let name = error(Tool::Recall, json!({"n".repeat(10_000_000): 1}));
    assert!(name.len() < 500, "the error repeats {} bytes", name.len());
}

#[test]
fn nulls_count_as_not_given() {
    let Value::Object(arguments) = json!({
        "kind": "fact", "content": "x", "title": null,
        "citations": [{"file": "a.rs", "symbol": null}],
    }) else {
        panic!("arguments are an object")
    };
    let checked = Tool::Save.check(arguments).expect("accepted");
    assert_eq!(
        Value::Object(checked),
        json!({"kind": "fact", "content": "x", "citations": [{"file": "a.rs"}]})
    );
}

/// Any JSON that a client could send as the value of an argument.
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

/// Arguments whose names are mostly those of `tool`.
fn any_arguments(tool: Tool) -> impl Strategy<Value = JsonObject> {
    let listed = tool.definition();
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
    fn any_arguments_are_accepted_clean_or_refused_in_a_few_words(
        (tool, arguments) in prop::sample::select(Tool::ALL)
            .prop_flat_map(|tool| (Just(tool), any_arguments(tool)))
    ) {
        match tool.check(arguments) {
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
