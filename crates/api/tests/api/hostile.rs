//! Any input gets a success or a client error, never a server error.

use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};

use crate::client::TestApi;

/// A route's path with an unknown id.
fn at(route: &str) -> String {
    route
        .replace("{id}", "019a0000-0000-7000-8000-000000000001")
        .replace("{key}", "shop")
        .replace("{external_id}/comment", "CS-1/comment?project_key=shop")
}

/// A valid body of every route that has one.
fn accepted() -> Vec<(&'static str, Value)> {
    let id = "019a0000-0000-7000-8000-000000000001";
    vec![
        ("/projects", json!({"key": "shop", "name": "Shop"})),
        (
            "/projects/{key}/webhooks",
            json!({"provider": "github", "secret": "a secret of the sender".replace(' ', "-")}),
        ),
        (
            "/projects/{key}/webhooks/{id}/rotate-secret",
            json!({"secret": "another of the sender".replace(' ', "-"),
                "previous_secret_ttl_hours": 24}),
        ),
        ("/projects/{key}/hygiene-runs", json!({"task": "duplicates", "dry_run": true})),
        ("/projects/{key}/duplicates/{id}/merge", json!({"keep": id})),
        (
            "/projects/{key}/integrations",
            json!({"connector": "our-redmine", "resource": "carts", "capability": "issues",
                   "interval_minutes": 15, "include_comments": true}),
        ),
        (
            "/save",
            json!({"project_key": "shop", "kind": "fact", "title": "Units", "owner": "vera",
                   "content": "The delay is nil when delay_unit and trigger_delay_unit differ.",
                   "task_external_id": "CS-1", "scope": ["cart"], "tags": ["unit"],
                   "quality": {"novelty": 0.7, "dup": 0.1, "usefulness": 0.8},
                   "ttl": "2030-06-01", "meta": {"patch_sha": "abc123", "more": {"a": [1]}},
                   "citations": [{"file": "app/setting.rb", "symbol": "Setting#delay",
                                  "line_start": 1, "line_end": 9, "commit": "abc123",
                                  "content_hash": "0".repeat(64)}],
                   "steps": ["one"], "patch_ref": "abc123", "url": "https://example.org/1",
                   "contradicts": false}),
        ),
        (
            "/recall",
            json!({"project_key": "shop", "query": "why nil", "task_external_id": "CS-1",
                   "repo_path": "app/setting.rb", "symbols": ["Setting#delay"],
                   "signals": ["nil-delay"], "limit_tokens": 500, "time_budget_ms": 300,
                   "developer": "vera"}),
        ),
        ("/feedback", json!({"bundle_id": id, "used": [id]})),
        (
            "/proposals/{id}/accept",
            json!({"version": 1, "amends_version": 1, "title": "Units",
                                            "content": "They differ."}),
        ),
        ("/records/{id}/confirm", json!({"version": 1})),
        ("/proposals/{id}/reject", json!({"reason": "they do not"})),
        ("/records/{id}/rollback", json!({"version": 1})),
        ("/forget", json!({"project_key": "shop", "source": "wiki", "dry_run": true})),
        (
            "/ingest/docs",
            json!({"project_key": "shop", "source": "confluence", "documents": [
                   {"doc_id": "1", "title": "ADR", "content": "---\ntags: [a]\n---\n# \
                       Decision\n\nyes",
                    "url": "https://example.org/1", "scope": ["cart"], "tags": ["adr"]}]}),
        ),
        (
            "/search",
            json!({"project_key": "shop", "query": "delay", "sources": ["memory"],
                "kinds": ["fact"],
                   "scope": ["cart"], "tags": ["unit"], "path": "app/**", "language": "ruby",
                   "limit": 5, "explain": true, "time_budget_ms": 200}),
        ),
        (
            "/dialogs",
            json!({"project_key": "shop", "id": id, "task_external_id": "CS-1", "developer": "vera",
                   "messages": [{"role": "user", "content": "why"}], "distilled": "because"}),
        ),
        (
            "/tasks/sync",
            json!({"project_key": "shop", "tasks": [{"external_id": "CS-1", "title": "t",
                   "status": "open", "assignee": "vera", "labels": ["bug"],
                   "links": [{"title": "PR", "url": "https://example.org/1"}]}]}),
        ),
        (
            "/tasks/link",
            json!({"project_key": "shop", "task_external_id": "CS-1", "record_ids": [id]}),
        ),
        ("/tasks/{external_id}/comment", json!({"digest": "0".repeat(64)})),
        (
            "/users",
            json!({"login": "ann", "name": "Ann", "email": "ann@example.com", "is_agent": false,
                          "is_admin": false}),
        ),
        ("/teams", json!({"key": "platform", "name": "Platform"})),
        ("/tokens", json!({"name": "laptop", "scopes": ["memory:read"], "expires_in_days": 9})),
        ("/auth/device/decision", json!({"user_code": "BCDF-GHJK", "approve": true})),
        (
            "/ingest/git",
            json!({"project_key": "shop", "location": "/nowhere/at/all", "owner": "o",
                "name": "n"}),
        ),
    ]
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
fn never_a_fault(cases: u32, bodies: &impl Strategy<Value = (&'static str, Value)>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let api = runtime.block_on(TestApi::start());
    let mut runner =
        TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(bodies, |(path, body)| {
        let answer = runtime.block_on(api.post(&at(path), body));
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
    let templates = vec![
        "/records?project_key={}",
        "/records?project_key=shop&limit={}",
        "/records?project_key=shop&cursor={}",
        "/records?project_key=shop&kind={}",
        "/records?project_key=shop&{}=1",
        "/records/{}",
        "/documents/lookup?project_key=shop&id={}",
        "/documents/lookup?project_key=shop&title={}",
        "/documents/lookup?project_key=shop&url={}",
        "/documents?project_key=shop&cursor={}",
        "/documents?project_key={}&limit=-1",
        "/tasks/{}?project_key=shop",
        "/tasks/CS-1?project_key={}",
        "/projects/{}",
        "/ingest/runs/{}",
        "/users?cursor={}",
        "/projects/shop/members",
        "/projects/{}/members",
        "/projects/shop/webhook-deliveries?state={}",
        "/projects/shop/webhook-deliveries/{}",
        "/projects/{}/webhooks",
        "/projects/{}/integrations",
        "/projects/shop/integrations/{}",
        "/connectors?project_key={}",
        "/teams/{}/members",
        "/auth/device?user_code={}",
        "/auth/oauth/{}/start",
        "/auth/oauth/github/callback?code=a&state={}",
        "/nowhere{}",
    ];
    let paths = (select(templates), hostile_text()).prop_map(|(template, text)| {
        let encoded: String = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
        template.replace("{}", &encoded)
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let api = runtime.block_on(TestApi::start());
    let mut runner =
        TestRunner::new(Config { cases: 400, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&paths, |path| match runtime.block_on(api.get(&path)).complaint() {
        None => Ok(()),
        Some(complaint) => Err(TestCaseError::fail(format!("{path}: {complaint}"))),
    });
    runtime.block_on(async move { drop(api) });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

/// New routes must be covered as well.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_route_that_takes_a_body_is_covered() {
    let api = TestApi::start().await;
    let document = api.get("/openapi.json").await.ok();
    let paths = document["paths"].as_object().unwrap();
    let takes_json =
        |item: &Value| item.pointer("/post/requestBody/content/application~1json").is_some();
    let takers = paths.iter().filter(|(_, item)| takes_json(item)).map(|(path, _)| path);
    // An unsigned delivery is not parsed, and a signed one was not damaged.
    let mut posts: Vec<_> = takers.filter(|path| *path != "/webhooks/{provider}").collect();
    let mut covered: Vec<_> = accepted().into_iter().map(|(path, _)| path.to_owned()).collect();
    posts.sort();
    covered.sort();
    assert_eq!(posts, covered.iter().collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_undamaged_bodies_are_accepted() {
    let api = TestApi::start().await;
    for (path, body) in accepted() {
        let answer = api.post(&at(path), body).await;
        match path {
            // Their bodies name unknown resources.
            "/ingest/git" => assert_eq!(answer.fault(404), "location"),
            "/feedback" => assert_eq!(answer.fault(404), "bundle_id"),
            "/auth/device/decision" => assert_eq!(answer.fault(404), "user_code"),
            path if path.contains("{id}") => assert_eq!(answer.fault(404), "id"),
            // The task exists by now, and the project's policy forbids the operation.
            "/tasks/{external_id}/comment" => assert_eq!(answer.status, 403),
            _ => assert!(answer.status.is_success(), "{path}: {}", answer.body),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_of_ten_megabytes_is_rejected_before_parsing() {
    let api = TestApi::start().await;
    for (path, _) in accepted() {
        let answer = api.post(&at(path), json!({"project_key": "x".repeat(10_000_000)})).await;
        assert_eq!(answer.status, 413, "{path}");
    }
}
