//! People without an identity provider, and people who leave.

use axum::body::Body;
use http::{Request, header};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::accounts::newcomer;
use crate::client::TestApi;

const INVITATION: &str = "urn:memory-copilot:grant-type:invitation";

/// Invites a person who has an account, and returns the code.
async fn invite(api: &TestApi, login: &str) -> String {
    let invited = api.post(&format!("/users/{login}/invitation"), json!({})).await.ok();
    assert_eq!(invited["url"], "http://127.0.0.1:7391/auth/invitation");
    invited["code"].as_str().unwrap().to_owned()
}

/// Signs a terminal in with the code of an invitation.
async fn accept(api: &TestApi, code: &str) -> crate::client::Answer {
    api.form("/auth/token", &[("grant_type", INVITATION), ("invitation_code", code)]).await
}

fn token(session: &Value) -> &str {
    session["access_token"].as_str().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invited_person_signs_in_once_and_creates_tokens() {
    let api = TestApi::start().await;
    api.post("/users", json!({"login": "ann"})).await.ok();
    let code = invite(&api, "ann").await;
    let session = accept(&api, &code).await.ok();
    assert_eq!(session["scope"], mc_domain::Scopes::ALL.to_string());
    let ann = api.with(token(&session));
    assert_eq!(ann.get("/whoami").await.ok()["login"], "ann");
    let made = ann.post("/tokens", json!({"name": "ide", "scopes": ["memory:read"]})).await.ok();
    assert!(made["token"].as_str().unwrap().starts_with("mcp_"));

    let again = accept(&api, &code).await;
    assert_eq!((again.status.as_u16(), &again.body["error"]), (400, &json!("invalid_grant")));
    let events = api.get("/audit?action=user.invited").await.ok();
    assert_eq!(events["items"].as_array().unwrap().len(), 1);
    assert!(!events.to_string().contains(&code));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_newest_unexpired_invitation_counts() {
    let api = TestApi::start().await;
    api.post("/users", json!({"login": "ann"})).await.ok();
    let (first, second) = (invite(&api, "ann").await, invite(&api, "ann").await);
    assert_eq!(accept(&api, &first).await.status, 400);
    api.execute("update invitations set expires_at = now() - interval '1 second'").await;
    assert_eq!(accept(&api, &second).await.status, 400);
    let third = invite(&api, "ann").await;
    api.patch("/users/ann", json!({"is_disabled": true})).await.ok();
    assert_eq!(accept(&api, &third).await.status, 400, "the account is disabled");
    assert_eq!(api.post("/users/ann/invitation", json!({})).await.fault(409), "login");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_accepted_invitation_ends_the_sessions_of_the_account() {
    let api = TestApi::start().await;
    api.post("/users", json!({"login": "ann"})).await.ok();
    let code = invite(&api, "ann").await;
    let session = accept(&api, &code).await.ok();
    let code = invite(&api, "ann").await;
    assert_eq!(api.with(token(&session)).get("/whoami").await.status, 200);
    accept(&api, &code).await.ok();
    assert_eq!(api.with(token(&session)).get("/whoami").await.status, 401);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_a_signed_in_administrator_invites_and_only_people() {
    let api = TestApi::start().await;
    api.post("/users", json!({"login": "bot", "is_agent": true})).await.ok();
    assert_eq!(api.post("/users/bot/invitation", json!({})).await.fault(409), "login");
    let ann = newcomer(&api, "ann").await;
    assert_eq!(api.with(&ann).post("/users/ann/invitation", json!({})).await.status, 403);
    let days = json!({"expires_in_days": 31});
    assert_eq!(api.post("/users/ann/invitation", days).await.fault(400), "expires_in_days");
    let root = api.post("/tokens", json!({"name": "ci", "scopes": ["admin"]})).await.ok();
    let program = api.with(root["token"].as_str().unwrap());
    assert_eq!(program.post("/users/ann/invitation", json!({})).await.status, 403);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invitation_opens_a_browser_session_on_its_page() {
    let api = TestApi::start().await;
    api.post("/users", json!({"login": "ann"})).await.ok();
    let code = invite(&api, "ann").await;
    let page = api.page("/auth/invitation?user_code=BCDF-GHJK%22%3E", "").await.ok();
    assert!(page.as_str().unwrap().contains("value=\"BCDF-GHJK\""), "{page}");
    let sign_in = api.page("/auth/device?user_code=BCDF-GHJK", "").await.ok();
    assert!(sign_in.as_str().unwrap().contains("/auth/invitation?user_code=BCDF-GHJK"));

    let wrong = [("invitation_code", "mci_no"), ("user_code", "")];
    let refused = api.form("/auth/invitation", &wrong).await.ok();
    assert!(refused.as_str().unwrap().contains("is not valid"), "{refused}");

    let form = format!("invitation_code={code}&user_code=BCDF-GHJK");
    let request = Request::post("/auth/invitation")
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(Body::from(form))
        .unwrap();
    let response = api.router.clone().oneshot(request).await.unwrap();
    assert_eq!(response.status(), 303);
    assert_eq!(response.headers()[header::LOCATION], "/auth/device?user_code=BCDF-GHJK");
    let cookie = response.headers()[header::SET_COOKIE].to_str().unwrap().to_owned();
    let cookie = cookie.split(';').next().unwrap();
    let page = api.page("/auth/device", cookie).await.ok();
    assert!(page.as_str().unwrap().contains("Sign out of this browser"), "{page}");
}

/// Saves a note as a user.
async fn save(api: &TestApi, token: &str, note: Value) -> String {
    let mut request = json!({"project_key": "shop", "kind": "fact"});
    request.as_object_mut().unwrap().extend(note.as_object().unwrap().clone());
    let saved = api.with(token).post("/save", request).await.ok();
    saved["id"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_who_leaves_loses_access_and_private_records_and_hands_over_the_rest() {
    let api = TestApi::start().await;
    let (ann, vera) = (newcomer(&api, "ann").await, newcomer(&api, "vera").await);
    for login in ["ann", "vera"] {
        api.put(&format!("/projects/shop/members/{login}"), json!({"role": "member"})).await.ok();
    }
    api.with(&ann).post("/projects", json!({"key": "lab"})).await.ok();
    let private = json!({"content": "The staging host of ann restarts at noon every day.",
                         "visibility": "private"});
    let private = save(&api, &ann, private).await;
    let owned = json!({"content": "Refunds are booked by the nightly ledger job.",
                       "owner": "Ann"});
    let owned = save(&api, &ann, owned).await;

    let at_host = json!({"login": "ann-gh"});
    api.put("/users/ann/provider-logins/github.com", at_host).await.ok();

    let unknown = json!({"successor_login": "nobody"});
    assert_eq!(api.post("/users/ann/offboard", unknown).await.fault(409), "successor_login");
    let left = api.post("/users/ann/offboard", json!({"successor_login": "vera"})).await.ok();
    assert_eq!(left["private_records"], 1, "{left}");
    assert_eq!((&left["owned_records"], &left["tokens"]), (&json!(1), &json!(1)), "{left}");
    assert_eq!(left["projects"], json!(["lab"]));

    assert_eq!(api.with(&ann).get("/whoami").await.status, 401);
    let left_of_ann = format!("select count(*)::text from memory_records where id = '{private}'");
    assert_eq!(api.text(&left_of_ann).await, "0");
    assert_eq!(
        api.text("select count(*)::text from passages where private_to is not null").await,
        "0"
    );
    assert_eq!(api.text("select count(*)::text from provider_logins").await, "0");
    assert_eq!(api.get(&format!("/records/{owned}")).await.ok()["owner"], "vera");
    assert_eq!(api.with(&vera).get("/projects/lab").await.ok()["role"], "admin");
    let members = api.get("/projects/shop/members").await.ok().to_string();
    assert!(members.contains("vera") && !members.contains("\"ann\""), "{members}");

    // Enabled again, the account has no access: neither tokens nor roles.
    api.patch("/users/ann", json!({"is_disabled": false})).await.ok();
    assert_eq!(api.with(&ann).get("/whoami").await.status, 401);
    let events = api.get("/audit?action=user.offboarded").await.ok();
    assert_eq!(events["items"][0]["details"]["private_records"], 1, "{events}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_offboards_themselves_and_without_a_successor_nobody_owns_the_records() {
    let api = TestApi::start().await;
    assert_eq!(api.post("/users/local/offboard", json!({})).await.status, 409);
    let ann = newcomer(&api, "ann").await;
    api.put("/projects/shop/members/ann", json!({"role": "member"})).await.ok();
    let note = json!({"content": "Refunds are booked by the nightly ledger job.", "owner": "ann"});
    let owned = save(&api, &ann, note).await;
    api.post("/users/ann/offboard", json!({})).await.ok();
    assert_eq!(api.get(&format!("/records/{owned}")).await.ok()["owner"], Value::Null);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_gets_no_role_of_a_person() {
    let api = TestApi::start().await;
    api.post("/users", json!({"login": "bot", "is_agent": true})).await.ok();
    api.post("/teams", json!({"key": "platform"})).await.ok();
    for path in ["/projects/shop/members/bot", "/teams/platform/members/bot"] {
        let refused = api.put(path, json!({"role": "member"})).await;
        assert_eq!(refused.fault(409), "role", "{}", refused.body);
        api.put(path, json!({"role": "agent"})).await.ok();
    }
}
