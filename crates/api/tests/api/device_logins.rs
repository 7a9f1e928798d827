//! Decisions about device logins by the API.

use serde_json::{Value, json};

use crate::client::TestApi;

const PATH: &str = "/auth/device/decision";

/// Starts a device login and returns its codes.
async fn begin(api: &TestApi, client: &str, scopes: &str) -> Value {
    api.form("/auth/device", &[("client_id", client), ("scope", scopes)]).await.ok()
}

/// Approves a login, and returns the scopes of its token.
async fn granted(api: &TestApi, started: &Value, client: &str, scopes: Value) -> String {
    let decision = json!({"user_code": started["user_code"], "approve": true, "scopes": scopes});
    assert_eq!(api.post(PATH, decision).await.status, 204);
    let form = [
        ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
        ("client_id", client),
        ("device_code", started["device_code"].as_str().unwrap()),
    ];
    api.form("/auth/token", &form).await.ok()["scope"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn decider_sees_program_code_and_scopes() {
    let api = TestApi::start().await;
    let started = begin(&api, "nightly-importer", "memory:read ingest admin").await;
    let code = started["user_code"].as_str().unwrap();
    let path = format!("{PATH}?user_code={}", code.to_lowercase());
    let requested = json!(["memory:read", "ingest", "admin"]);
    let expected = json!({
        "user_code": code, "client": "nightly-importer",
        "requested_scopes": requested, "grantable_scopes": requested
    });
    assert_eq!(api.get(&path).await.ok(), expected);

    let token = json!({"name": "ci", "scopes": ["memory:read"]});
    let token = api.post("/tokens", token).await.ok();
    let program = api.with(token["token"].as_str().unwrap());
    assert_eq!(program.get(&path).await.status, 403, "no person is present");
    assert_eq!(api.get(&format!("{PATH}?user_code=BCDF")).await.fault(400), "user_code");
    let denied = json!({"user_code": code, "approve": false});
    assert_eq!(api.post(PATH, denied).await.status, 204);
    assert_eq!(api.get(&path).await.fault(404), "user_code", "it is decided");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approval_grants_some_scopes_by_name_only() {
    let api = TestApi::start().await;
    let client = "importer";
    for (named, expected) in [
        (Value::Null, "memory:read ingest"),
        (json!(["memory:read"]), "memory:read"),
        (json!(["ingest", "admin"]), "ingest admin"),
        (json!(["ingest", "ingest:local"]), "ingest ingest:local"),
        (json!(["memory:read", "coding"]), "memory:read"),
    ] {
        let started = begin(&api, client, "memory:read ingest ingest:local admin").await;
        assert_eq!(granted(&api, &started, client, named).await, expected);
    }
    for scope in ["ingest:local", "admin"] {
        let started = begin(&api, client, scope).await;
        let decision = json!({"user_code": started["user_code"], "approve": true});
        let refused = api.post(PATH, decision).await;
        assert_eq!(refused.status, 403, "{}", refused.body);
        let detail = refused.body["detail"].as_str().unwrap();
        assert!(detail.contains(&format!("at least one of {scope}:")), "{detail}");
        let none = json!({"user_code": started["user_code"], "approve": true, "scopes": []});
        assert_eq!(api.post(PATH, none).await.fault(400), "scopes");
        assert_eq!(granted(&api, &started, client, json!([scope])).await, scope);
    }
}
