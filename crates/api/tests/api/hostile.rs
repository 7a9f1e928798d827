//! Any input gets a success or a client error, never a server error.

use http::Method;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};

use crate::client::TestApi;
use crate::document::{Operation, any_value, example, operations};

fn document() -> Value {
    serde_json::to_value(mc_api::openapi()).unwrap()
}

/// A value of a parameter that breaks no rule; ids are of nothing that exists.
fn harmless(name: &str, parameter: &Value) -> String {
    let value = match name {
        "key" | "project_key" => "shop",
        "login" | "user" | "saved_by" => "vera",
        "team" => "platform",
        "external_id" | "task_external_id" => "CS-1",
        "path" => "/home/me/shop/app.rb",
        "handles" => "m1",
        _ => any_value(&parameter["schema"]).unwrap_or("x"),
    };
    value.to_owned()
}

/// An operation's path and query with `hostile` in the place of one parameter and harmless values
/// for the others that it needs.
fn target(operation: &Operation<'_>, hostile: Option<(&str, &str)>) -> String {
    operation.target(|name, parameter| match hostile {
        Some((of, value)) if of == name => {
            Some(value.bytes().map(|byte| format!("%{byte:02X}")).collect())
        }
        _ => (parameter["required"] == true).then(|| harmless(name, parameter)),
    })
}

/// The example of every operation that takes a JSON body, with its target. An operation that is
/// added is attacked, too; one without an example fails here.
fn accepted() -> Vec<(String, Value)> {
    let document = document();
    // What is not signed is not read.
    let read = operations(&document).filter(|operation| operation.path != "/webhooks/{provider}");
    let mut bodies: Vec<(String, Value)> = read
        .filter(|operation| operation.method == Method::POST)
        .filter_map(|operation| {
            let example = example(operation.body()?);
            let example = example.unwrap_or_else(|| panic!("{} has no example", operation.path));
            Some((target(&operation, None), example.clone()))
        })
        .collect();
    // The other examples are about this project.
    bodies.sort_by_key(|(path, _)| (path != "/projects", path.clone()));
    bodies
}

fn hostile_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        select(vec![
            json!(null),
            json!(true),
            json!(-1),
            json!(0),
            json!(i64::MIN),
            json!(u64::MAX),
            json!(1e308),
            json!(0.5),
            json!([]),
            json!({}),
            json!([[[[]]]]),
            json!([null]),
            json!({"a": {"b": "\u{0}"}}),
            json!(""),
            json!(" \n\t"),
            json!("\u{0}"),
            json!("a\u{1b}[2Jb"),
            json!("\u{202e}\u{feff}\u{10ffff}"),
            json!("x".repeat(100_000)),
            json!("'; drop table projects; --"),
            json!("../../etc/passwd"),
            json!("/"),
            json!("*".repeat(500)),
            json!("[!]{,}"),
            json!("-1"),
            json!("NaN"),
            json!("9999-12-31"),
            json!("019a0000-0000-7000-8000-00000000000"),
        ]),
        any::<String>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::collection::vec(any::<String>(), 0..4).prop_map(Value::from),
    ]
}

/// Returns the JSON pointers of all values in `value`.
fn places(value: &Value) -> Vec<String> {
    let members: Vec<(String, &Value)> = match value {
        Value::Object(object) => object.iter().map(|(key, v)| (key.clone(), v)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(i, v)| (i.to_string(), v)).collect(),
        _ => Vec::new(),
    };
    let below = |(key, member): (String, &Value)| {
        let inside = places(member).into_iter().map({
            let key = key.clone();
            move |place| format!("/{key}{place}")
        });
        std::iter::once(format!("/{key}")).chain(inside).collect::<Vec<_>>()
    };
    members.into_iter().flat_map(below).collect()
}

/// A change of a body: a value at a pointer, or an unknown field.
fn damaged(mut body: Value, changes: &[(Index, Value)], extra: Option<&(String, Value)>) -> Value {
    for (index, value) in changes {
        let places = places(&body);
        if let Some(place) = (!places.is_empty()).then(|| index.get(&places)) {
            *body.pointer_mut(place).unwrap() = value.clone();
        }
    }
    if let (Some((key, value)), Value::Object(object)) = (extra, &mut body) {
        object.insert(key.clone(), value.clone());
    }
    body
}

fn any_json() -> impl Strategy<Value = Value> {
    hostile_value().prop_recursive(3, 24, 4, |inner| {
        let key = "project_key|query|tasks|messages|key|content|kind|[a-z]{1,6}";
        prop::collection::hash_map(key, inner, 0..5)
            .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>()))
    })
}

/// Posts generated bodies to their routes until one causes a server error.
fn never_a_fault(cases: u32, bodies: &impl Strategy<Value = (String, Value)>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let api = runtime.block_on(TestApi::start());
    let mut runner =
        TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(bodies, |(path, body)| {
        let answer = runtime.block_on(api.post(&path, body));
        match answer.complaint() {
            None => Ok(()),
            Some(complaint) => Err(TestCaseError::fail(complaint)),
        }
    });
    runtime.block_on(async move { drop(api) });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn a_damaged_body_never_causes_a_server_error() {
    let changes = prop::collection::vec((any::<Index>(), hostile_value()), 1..4);
    let extra = prop::option::weighted(0.2, ("[a-z_]{1,12}", hostile_value()));
    let bodies = (select(accepted()), changes, extra)
        .prop_map(|((path, body), changes, extra)| (path, damaged(body, &changes, extra.as_ref())));
    never_a_fault(600, &bodies);
}

#[test]
fn no_json_causes_a_server_error() {
    let paths: Vec<_> = accepted().into_iter().map(|(path, _)| path).collect();
    never_a_fault(200, &(select(paths), any_json()));
}

/// Hostile values of queries and paths, to be percent-encoded.
fn hostile_text() -> impl Strategy<Value = String> {
    prop_oneof![
        select(vec![
            "",
            " ",
            "-1",
            "0",
            "99999999999999999999",
            "\u{0}",
            "a\u{1b}[2J",
            "../..",
            "a/b"
        ])
        .prop_map(str::to_owned),
        Just("x".repeat(5_000)),
        any::<String>(),
    ]
}

#[test]
fn a_hostile_query_or_path_never_causes_a_server_error() {
    let document = document();
    let reads = operations(&document).filter(|operation| operation.method == Method::GET);
    let parameters: Vec<(Operation<'_>, &str)> = reads
        .flat_map(|read| read.parameters().map(move |(name, _)| (read.clone(), name)))
        .collect();
    let paths = (0..parameters.len(), hostile_text()).prop_map(|(index, text)| {
        let (operation, name) = &parameters[index];
        target(operation, Some((*name, text.as_str())))
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let api = runtime.block_on(TestApi::start());
    let mut runner =
        TestRunner::new(Config { cases: 600, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&paths, |path| match runtime.block_on(api.get(&path)).complaint() {
        None => Ok(()),
        Some(complaint) => Err(TestCaseError::fail(format!("{path}: {complaint}"))),
    });
    runtime.block_on(async move { drop(api) });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_example_of_a_request_is_accepted_by_its_type() {
    let api = TestApi::start().await;
    for (path, body) in accepted() {
        let answer = api.post(&path, body).await;
        // What some of them name is not there, or not allowed; no rule is broken.
        let is_accepted = answer.status.is_success() || matches!(answer.status.as_u16(), 403 | 404);
        assert!(is_accepted, "{path}: {} {}", answer.status, answer.body);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_of_ten_megabytes_is_rejected_before_parsing() {
    let api = TestApi::start().await;
    for (path, _) in accepted() {
        let answer = api.post(&path, json!({"project_key": "x".repeat(10_000_000)})).await;
        assert_eq!(answer.status, 413, "{path}");
    }
}
