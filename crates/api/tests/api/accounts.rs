//! Users, teams, tokens and roles by the API.

use std::convert::Infallible;

use axum::body::Body;
use chrono::{TimeDelta, Utc};
use http::{Request, header};
use mc_auth::secret::RefreshToken;
use mc_store::accounts::{self, UserUpdate};
use mc_store::sessions::{self, NewSession};
use mc_store::testing::until_a_session_waits;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::sync::oneshot;

use crate::client::{Answer, TestApi};

const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";
const DEVICE_CODE: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// Creates a user with a personal access token of all scopes.
pub async fn newcomer(api: &TestApi, login: &str) -> String {
    api.post("/users", json!({"login": login})).await.ok();
    let session = signed_in(api, login).await;
    let access = access(&session);
    let scopes: Vec<_> = mc_domain::Scope::ALL.iter().map(|scope| scope.as_str()).collect();
    let made =
        api.with(access).post("/tokens", json!({"name": "test", "scopes": scopes})).await.ok();
    made["token"].as_str().unwrap().to_owned()
}

/// Starts a session of a user with all scopes, as a device login does.
async fn signed_in(api: &TestApi, login: &str) -> Value {
    let started = approved_grant(api, login).await;
    redeem(api, &started).await.ok()
}

/// Starts a device login that a user has approved and no device has fetched.
async fn approved_grant(api: &TestApi, login: &str) -> Value {
    let all = mc_domain::Scopes::ALL.to_string();
    let started = api.form("/auth/device", &[("scope", &all)]).await.ok();
    approve(api, &started, id(api, login).await).await;
    started
}

async fn id(api: &TestApi, login: &str) -> mc_domain::UserId {
    mc_store::accounts::find(api.service(), login).await.unwrap().unwrap().id
}

fn access(session: &Value) -> &str {
    session["access_token"].as_str().unwrap()
}

/// Starts a browser session of a user and returns its cookie.
async fn visit(api: &TestApi, login: &str) -> String {
    let (secret, ends_at) = (RefreshToken::generate(), Utc::now() + TimeDelta::hours(8));
    let (user, scopes) = (id(api, login).await, mc_domain::Scopes::ALL);
    let new = NewSession { user, client: "browser", scopes, expires_at: ends_at };
    let mut tx = api.service().begin().await.unwrap();
    let session = sessions::begin(&mut tx, &new).await.unwrap().unwrap();
    sessions::add_refresh(&mut tx, session, secret.hash().as_bytes(), ends_at).await.unwrap();
    tx.commit().await.unwrap();
    format!("mc_visit={}", secret.expose())
}

/// Returns the CSRF token of a browser session; `None` if the session has ended.
async fn proof(api: &TestApi, cookie: &str) -> Option<String> {
    let page = api.page("/auth/device", cookie).await.ok();
    let (_, rest) = page.as_str().unwrap().split_once("name=\"proof\" value=\"")?;
    Some(rest.split('"').next().unwrap().to_owned())
}

/// Approves a device login on its page.
async fn approve(api: &TestApi, started: &Value, user: mc_domain::UserId) {
    let code: mc_auth::secret::UserCode =
        mc_auth::secret::UserCode::parse(started["user_code"].as_str().unwrap()).unwrap();
    let hash = code.hash();
    let code = mc_store::sessions::DeviceCodeKey::User(hash.as_bytes());
    let mut tx = api.database.service().begin().await.unwrap();
    let mut row = mc_store::sessions::device(&mut tx, code).await.unwrap().unwrap();
    row.state = mc_store::sessions::DeviceState::Approved;
    row.user = Some(user);
    row.scopes = row.requested_scopes;
    mc_store::sessions::put_device(&mut tx, code, &row).await.unwrap();
    tx.commit().await.unwrap();
}

async fn redeem(api: &TestApi, started: &Value) -> Answer {
    let code = started["device_code"].as_str().unwrap();
    api.form("/auth/token", &[("grant_type", DEVICE_CODE), ("device_code", code)]).await
}

async fn refresh(api: &TestApi, token: &Value) -> Answer {
    let token = token["refresh_token"].as_str().unwrap();
    api.form("/auth/token", &[("grant_type", "refresh_token"), ("refresh_token", token)]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_sees_only_projects_on_which_a_role_allows_it() {
    let api = TestApi::start().await;
    let saved = api
        .post(
            "/save",
            json!({"project_key": "shop", "kind": "fact",
                              "content": "The delay is nil when the units of both settings \
                               differ."}),
        )
        .await
        .ok();
    let record = format!("/records/{}", saved["id"].as_str().unwrap());
    let ann = newcomer(&api, "ann").await;
    let ann = api.with(&ann);

    assert_eq!(ann.get("/projects").await.ok()["items"], json!([]));
    let recall = json!({"project_key": "shop", "query": "why is the delay nil"});
    assert_eq!(ann.post("/recall", recall.clone()).await.fault(404), "project_key");
    assert_eq!(ann.get(&record).await.fault(404), "id");
    let missing = ann.post("/recall", json!({"project_key": "nowhere", "query": "x"})).await;
    assert_eq!(missing.fault(404), "project_key", "one that is not there answers alike");

    api.put("/projects/shop/members/ANN", json!({"role": "viewer"})).await.ok();
    assert_eq!(ann.post("/recall", recall).await.ok()["facts"].as_array().unwrap().len(), 1);
    assert_eq!(ann.get(&record).await.ok()["id"], saved["id"]);
    let save =
        json!({"project_key": "shop", "kind": "fact", "content": "Something else entirely."});
    assert_eq!(ann.post("/save", save.clone()).await.status, 403);
    assert_eq!(ann.delete(&record).await.status, 403);
    assert_eq!(ann.delete("/projects/shop").await.status, 403);
    let disk = json!({"project_key": "shop", "location": "/etc"});
    assert_eq!(ann.post("/ingest/git", disk).await.status, 403);
    let raise = ann.put("/projects/shop/members/ann", json!({"role": "admin"})).await;
    assert_eq!(raise.status, 403);

    api.put("/projects/shop/members/ann", json!({"role": "member"})).await.ok();
    for location in ["/etc", "file:///etc", "ssh://git@example.com/a/b", "git@example.com:a/b"] {
        let disk = json!({"project_key": "shop", "location": location});
        assert_eq!(ann.post("/ingest/git", disk).await.fault(403), "location", "{location}");
    }
    ann.post("/save", save).await.ok();
    assert_eq!(ann.delete(&record).await.status, 204);
    api.delete("/projects/shop/members/ann").await.ok();
    assert_eq!(ann.get("/projects/shop").await.status, 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_team_shares_a_project_read_only() {
    let api = TestApi::start().await;
    let bob = newcomer(&api, "bob").await;
    let bob = api.with(&bob);
    api.post("/teams", json!({"key": "Guests"})).await.ok();
    assert_eq!(bob.get("/teams/guests/members").await.status, 404, "not yet in it");
    api.put("/teams/guests/members/bob", json!({"role": "admin"})).await.ok();
    api.put("/projects/shop/teams/guests", json!({"role": "viewer"})).await.ok();
    assert_eq!(bob.get("/projects/shop").await.ok()["role"], "viewer");
    let members = api.get("/projects/shop/members").await.ok();
    assert_eq!(members["teams"][0]["name"], "guests");
    // An administrator of the team adds members, and has no right in the project.
    api.post("/users", json!({"login": "eve"})).await.ok();
    assert_eq!(bob.put("/teams/guests/members/eve", json!({"role": "member"})).await.status, 204);
    assert_eq!(bob.put("/projects/shop/teams/guests", json!({"role": "admin"})).await.status, 403);
    api.delete("/projects/shop/teams/guests").await.ok();
    assert_eq!(bob.get("/projects/shop").await.status, 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_is_limited_by_its_scopes_and_its_creator() {
    let api = TestApi::start().await;
    let reader = api.post("/tokens", json!({"name": "r", "scopes": ["memory:read"]})).await.ok();
    let text = reader["token"].as_str().unwrap().to_owned();
    assert!(text.starts_with("mcp_") && text.ends_with(reader["hint"].as_str().unwrap()));
    let reading = api.with(&text);
    reading.get("/projects/shop").await.ok();
    assert_eq!(reading.post("/projects", json!({"key": "mine"})).await.status, 403);
    assert_eq!(reading.get("/users").await.status, 403);
    // It creates and lists no tokens, and approves no login.
    let child = json!({"name": "w", "scopes": ["memory:read"]});
    assert_eq!(reading.post("/tokens", child).await.status, 403);
    assert_eq!(reading.get("/tokens").await.status, 403);
    let started = api.form("/auth/device", &[]).await.ok();
    let decision = json!({"user_code": started["user_code"], "approve": true});
    assert_eq!(reading.post("/auth/device/decision", decision).await.status, 403);
    // It is listed without its secret, and invalid once revoked.
    let listed = api.get("/tokens").await.ok();
    assert!(!listed.to_string().contains(&text), "{listed}");
    assert!(listed["items"][0]["last_used_at"].is_string(), "{listed}");
    let id = reader["id"].as_str().unwrap();
    api.delete(&format!("/tokens/{id}")).await.ok();
    assert_eq!(reading.get("/projects/shop").await.status, 401);
    assert_eq!(api.delete(&format!("/tokens/{id}")).await.fault(404), "id");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_makes_no_token_local() {
    let api = TestApi::start().await;
    let named = json!({"name": "local token of here", "scopes": ["memory:read"]});
    let made = api.post("/tokens", named.clone()).await.ok();
    let reading = api.with(made["token"].as_str().unwrap());
    assert_eq!(reading.post("/tokens", named).await.status, 403);
    assert_eq!(reading.get("/tokens").await.status, 403);
    let started = api.form("/auth/device", &[]).await.ok();
    let decision = json!({"user_code": started["user_code"], "approve": true});
    assert_eq!(reading.post("/auth/device/decision", decision).await.status, 403);
    // A new local token of that node replaces the former one alone.
    let hash = Sha256::digest("another local token").into();
    accounts::set_local_token(api.service(), "here", &hash, "oken").await.unwrap();
    assert_eq!(api.get("/whoami").await.status, 401);
    assert_eq!(reading.get("/whoami").await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_with_a_token_of_an_administrator_stays_an_agent() {
    let api = TestApi::start().await;
    api.post("/users", json!({"login": "bot", "is_agent": true})).await.ok();
    let both = json!({"login": "god", "is_agent": true, "is_admin": true});
    assert_eq!(api.post("/users", both).await.fault(400), "is_admin");
    let scopes = ["memory:read", "memory:write", "admin"];
    let made = api
        .post("/tokens", json!({"name": "b", "scopes": scopes, "agent_login": "bot"}))
        .await
        .ok();
    // Refused by the API now; a database of an earlier version may have such a role.
    api.execute(
        "insert into project_members (project_id, user_id, role)
         select p.id, u.id, 'admin' from projects p, users u
         where p.key = 'shop' and u.login = 'bot'",
    )
    .await;
    let bot = api.with(made["token"].as_str().unwrap());
    assert_eq!(bot.get("/projects/shop").await.ok()["role"], "agent");
    let replaces = json!({"project_key": "shop", "kind": "fact", "content": "The opposite is true.",
                          "contradicts": true});
    assert_eq!(bot.post("/save", replaces).await.fault(403), "contradicts");
    assert_eq!(bot.put("/projects/shop/members/bot", json!({"role": "admin"})).await.status, 403);
    let of_person = json!({"name": "x", "scopes": ["admin"], "agent_login": "local"});
    assert_eq!(api.post("/tokens", of_person).await.fault(409), "agent_login");
    // The agent can't revoke its token itself, so an administrator does.
    let token = format!("/tokens/{}", made["id"].as_str().unwrap());
    let ann = newcomer(&api, "ann").await;
    let hers = api.with(&ann).get("/whoami").await.ok();
    assert_eq!(hers["is_admin"], false);
    assert_eq!(bot.delete(&token).await.status, 403);
    assert_eq!(api.with(&ann).delete(&token).await.status, 403);
    api.delete(&token).await.ok();
    assert_eq!(bot.get("/projects/shop").await.status, 401);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disabled_user_loses_every_token_at_once() {
    let api = TestApi::start().await;
    let pat = newcomer(&api, "ann").await;
    let exchanged = api
        .form(
            "/auth/token",
            &[
                ("grant_type", EXCHANGE),
                ("subject_token", &pat),
                ("subject_token_type", ACCESS_TOKEN),
                ("scope", "memory:read"),
            ],
        )
        .await
        .ok();
    assert_eq!(exchanged["scope"], "memory:read");
    assert!((890..=900).contains(&exchanged["expires_in"].as_i64().unwrap()), "{exchanged}");
    let jwt = exchanged["access_token"].as_str().unwrap();
    assert_eq!(api.with(jwt).get("/whoami").await.ok()["login"], "ann");
    assert_eq!(api.with(jwt).post("/projects", json!({"key": "x"})).await.status, 403);
    api.patch("/users/ann", json!({"is_disabled": true})).await.ok();
    assert_eq!(api.with(jwt).get("/whoami").await.status, 401);
    assert_eq!(api.with(&pat).get("/whoami").await.status, 401);
    let local = api.patch("/users/local", json!({"is_disabled": true})).await;
    assert_eq!(local.status, 409, "nobody shuts themselves out");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_enabled_user_has_to_sign_in_again() {
    let api = TestApi::start().await;
    let pat = newcomer(&api, "ann").await;
    let (session, waiting) = (signed_in(&api, "ann").await, approved_grant(&api, "ann").await);
    let cookie = visit(&api, "ann").await;
    assert!(proof(&api, &cookie).await.is_some());
    api.patch("/users/ann", json!({"is_disabled": true})).await.ok();
    // A device login was approved at that moment.
    let late = approved_grant(&api, "ann").await;
    assert_eq!(redeem(&api, &late).await.body["error"], "invalid_grant");
    api.patch("/users/ann", json!({"is_disabled": false})).await.ok();

    assert_eq!(api.with(access(&session)).get("/whoami").await.status, 401);
    assert_eq!(refresh(&api, &session).await.body["error"], "invalid_grant");
    assert_eq!(redeem(&api, &waiting).await.body["error"], "access_denied");
    assert_eq!(proof(&api, &cookie).await, None);
    assert_eq!(api.with(&pat).get("/whoami").await.ok()["login"], "ann", "as before");
    let again = signed_in(&api, "ann").await;
    assert_eq!(api.with(access(&again)).get("/whoami").await.ok()["login"], "ann");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_access_token_ends_with_its_session() {
    let api = TestApi::start().await;
    newcomer(&api, "ann").await;
    let mut tokens = signed_in(&api, "ann").await;
    for (left, expires_in) in [("8 hours", 890..=900), ("5 minutes", 290..=300)] {
        let of_ann = "user_id = (select id from users where login = 'ann')";
        let end =
            format!("update sessions set expires_at = now() + interval '{left}' where {of_ann}");
        api.execute(&end).await;
        api.execute("update refresh_tokens set expires_at = now() + interval '9 hours'").await;
        tokens = refresh(&api, &tokens).await.ok();
        assert!(expires_in.contains(&tokens["expires_in"].as_i64().unwrap()), "{tokens}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn revoking_all_sessions_ends_each_at_once() {
    let api = TestApi::start().await;
    let (ann, bob) = (newcomer(&api, "ann").await, newcomer(&api, "bob").await);
    let (here, stolen) = (signed_in(&api, "ann").await, signed_in(&api, "ann").await);
    let (cookie, waiting) = (visit(&api, "ann").await, approved_grant(&api, "ann").await);
    let others = signed_in(&api, "bob").await;

    // No agent and no other user may do it, and they do not learn whether the user exists.
    assert_eq!(api.with(&ann).delete("/users/ann/sessions").await.status, 403);
    for login in ["ann", "nobody"] {
        let path = format!("/users/{login}/sessions");
        assert_eq!(api.with(access(&others)).delete(&path).await.status, 403, "{login}");
    }
    assert_eq!(api.with(access(&here)).get("/whoami").await.status, 200);

    assert_eq!(api.with(access(&here)).delete("/users/ANN/sessions").await.status, 204);
    for session in [&here, &stolen] {
        assert_eq!(api.with(access(session)).get("/whoami").await.status, 401);
        assert_eq!(refresh(&api, session).await.body["error"], "invalid_grant");
    }
    assert_eq!(redeem(&api, &waiting).await.body["error"], "access_denied");
    assert_eq!(proof(&api, &cookie).await, None);
    for (token, login) in [(&*ann, "ann"), (&*bob, "bob"), (access(&others), "bob")] {
        assert_eq!(api.with(token).get("/whoami").await.ok()["login"], login, "that one stays");
    }

    let again = signed_in(&api, "ann").await;
    assert_eq!(api.delete("/users/ann/sessions").await.status, 204, "by an administrator");
    assert_eq!(api.with(access(&again)).get("/whoami").await.status, 401);
    assert_eq!(api.delete("/users/nobody/sessions").await.fault(404), "login");
    let audit = api.get("/audit?action=session.revoked").await.ok();
    let events = audit["items"].as_array().unwrap().iter();
    let told: Vec<_> = events
        .map(|event| (&event["actor"], &event["target"], &event["details"]["sessions"]))
        .collect();
    let (user, count) = (json!(id(&api, "ann").await), [json!(1), json!(4)]);
    let (local, herself) = (json!("local"), json!("ann"));
    assert_eq!(told, [(&local, &user, &count[0]), (&herself, &user, &count[1])]);
}

/// Sends a request whose body is withheld until `meanwhile` completes, which starts when the
/// service waits for the body.
async fn held_back(
    api: &TestApi,
    request: http::request::Builder,
    body: String,
    meanwhile: impl Future<Output = ()>,
) -> Answer {
    let (waits, waited_for) = oneshot::channel();
    let (go_on, may_go_on) = oneshot::channel();
    let late = futures::stream::once(async move {
        waits.send(()).unwrap();
        may_go_on.await.unwrap();
        Ok::<_, Infallible>(body)
    });
    let request = request.method("POST").body(Body::from_stream(late)).unwrap();
    let first = async {
        waited_for.await.unwrap();
        meanwhile.await;
        go_on.send(()).unwrap();
    };
    let (answer, ()) = tokio::join!(api.answer(request), first);
    answer
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_of_a_session_that_ends_meanwhile_is_rejected() {
    let api = TestApi::start().await;
    newcomer(&api, "ann").await;
    for is_disabled in [false, true] {
        let out = async || {
            if is_disabled {
                api.patch("/users/ann", json!({"is_disabled": true})).await.ok();
            } else {
                api.delete("/users/ann/sessions").await.ok();
            }
        };
        let started = api.form("/auth/device", &[]).await.ok();
        let decision = json!({"user_code": started["user_code"], "approve": true});
        let token = json!({"name": "late", "scopes": ["memory:read"]});
        for (path, body) in [("/tokens", token), ("/auth/device/decision", decision)] {
            let session = signed_in(&api, "ann").await;
            let request = Request::builder()
                .uri(path)
                .header(header::AUTHORIZATION, format!("Bearer {}", access(&session)))
                .header(header::CONTENT_TYPE, "application/json");
            let answer = held_back(&api, request, body.to_string(), out()).await;
            assert_eq!(answer.status, 401, "{path}");
            api.patch("/users/ann", json!({"is_disabled": false})).await.ok();
        }
        let cookie = visit(&api, "ann").await;
        let (code, proof) = (&started["user_code"], proof(&api, &cookie).await.unwrap());
        let form = format!("user_code={}&decision=approve&proof={proof}", code.as_str().unwrap());
        let request = Request::builder()
            .uri("/auth/device/page")
            .header(header::COOKIE, &cookie)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        // The body is read before the session is looked up.
        assert_eq!(held_back(&api, request, form, out()).await.status, 303);
        api.patch("/users/ann", json!({"is_disabled": false})).await.ok();
        assert_eq!(redeem(&api, &started).await.body["error"], "authorization_pending");
    }
    let listed = api.get("/tokens?user=ann").await.ok();
    assert_eq!(listed["items"].as_array().unwrap().len(), 1, "{listed}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_session_starts_while_its_user_is_disabled() {
    let api = TestApi::start().await;
    newcomer(&api, "ann").await;
    let expires_at = Utc::now() + TimeDelta::hours(8);
    let (user, scopes) = (id(&api, "ann").await, mc_domain::Scopes::ALL);
    let new = NewSession { user, client: "browser", scopes, expires_at };
    let mut shutting_out = api.service().begin().await.unwrap();
    let change = UserUpdate { is_disabled: Some(true), ..UserUpdate::default() };
    accounts::change(&mut shutting_out, "ann", &change).await.unwrap();
    let late = async {
        let mut tx = api.service().begin().await.unwrap();
        sessions::begin(&mut tx, &new).await.unwrap()
    };
    let commit = async {
        until_a_session_waits(api.service()).await.unwrap();
        shutting_out.commit().await.unwrap();
    };
    let (started, ()) = tokio::join!(late, commit);
    assert!(started.is_none(), "{started:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_signs_out_by_a_page_of_its_session() {
    let api = TestApi::start().await;
    newcomer(&api, "ann").await;
    let (cookie, elsewhere) = (visit(&api, "ann").await, visit(&api, "ann").await);
    let right = proof(&api, &cookie).await.unwrap();
    let sign_out = async |proof: &str| {
        let media = ("content-type", "application/x-www-form-urlencoded");
        let body = format!("proof={proof}");
        api.deliver("/auth/sign-out", &[("cookie", cookie.as_str()), media], body.as_bytes()).await
    };
    assert_eq!(sign_out(&proof(&api, &elsewhere).await.unwrap()).await.status, 403);
    assert!(proof(&api, &cookie).await.is_some(), "a page of somebody else's ends nothing");
    assert_eq!(sign_out(&right).await.status, 200);
    assert_eq!(proof(&api, &cookie).await, None);
    assert!(proof(&api, &elsewhere).await.is_some(), "another browser stays");
    assert_eq!(sign_out(&right).await.status, 200, "once more is as good");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_administrator_lists_and_revokes_tokens_of_others() {
    let api = TestApi::start().await;
    let ann = newcomer(&api, "ann").await;
    newcomer(&api, "bob").await;
    let listed = api.get("/tokens?user=ANN").await.ok();
    assert_eq!(listed["items"].as_array().unwrap().len(), 1, "{listed}");
    assert!(!listed.to_string().contains(&ann), "without its secret: {listed}");
    let path = format!("/tokens/{}", listed["items"][0]["id"].as_str().unwrap());

    let session = signed_in(&api, "bob").await;
    let bob = api.with(access(&session));
    assert_eq!(bob.get("/tokens?user=ann").await.status, 403);
    assert_eq!(bob.get("/tokens?user=nobody").await.status, 403, "he isn't told who there is");
    assert_eq!(bob.delete(&path).await.fault(404), "id");
    let own = bob.get("/tokens?user=bob").await.ok();
    assert_eq!(own["items"].as_array().unwrap().len(), 1, "{own}");
    assert_eq!(api.with(&ann).get("/whoami").await.status, 200);

    assert_eq!(api.delete(&path).await.status, 204);
    assert_eq!(api.with(&ann).get("/whoami").await.status, 401);
    assert_eq!(api.delete(&path).await.fault(404), "id", "it was revoked before");
    assert_eq!(api.get("/tokens?user=nobody").await.fault(404), "login");
    let audit = api.get("/audit?action=token.revoked").await.ok();
    assert_eq!(audit["items"][0]["details"], json!({"user": id(&api, "ann").await}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn teams_are_read_with_the_scope_of_projects() {
    let api = TestApi::start().await;
    api.post("/teams", json!({"key": "platform"})).await.ok();
    for (scope, status) in [("ingest", 403_u16), ("admin", 403), ("memory:read", 200)] {
        let made = api.post("/tokens", json!({"name": "ci", "scopes": [scope]})).await.ok();
        let caller = api.with(made["token"].as_str().unwrap());
        for path in ["/projects", "/projects/shop/members", "/teams", "/teams/platform/members"] {
            assert_eq!(caller.get(path).await.status, status, "{path} with {scope}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reused_refresh_token_ends_its_device_login() {
    let api = TestApi::start().await;
    let started = api.form("/auth/device", &[("scope", "memory:read memory:write")]).await.ok();
    assert_eq!(redeem(&api, &started).await.body["error"], "authorization_pending");
    assert_eq!(redeem(&api, &started).await.body["error"], "slow_down");
    let decision = json!({"user_code": started["user_code"], "approve": true});
    assert_eq!(api.post("/auth/device/decision", decision.clone()).await.status, 204);
    assert_eq!(api.post("/auth/device/decision", decision).await.status, 409, "decided once");
    let first = redeem(&api, &started).await.ok();
    assert_eq!(first["scope"], "memory:read memory:write");
    let access = first["access_token"].as_str().unwrap().to_owned();
    let session = api.with(&access);
    assert_eq!(session.get("/whoami").await.ok()["login"], "local");
    let more = session.post("/tokens", json!({"name": "w", "scopes": ["ingest"]})).await;
    assert_eq!(more.fault(403), "scopes");

    let second = refresh(&api, &first).await.ok();
    let third = refresh(&api, &second).await.ok();
    assert_eq!(refresh(&api, &first).await.body["error"], "invalid_grant");
    assert_eq!(refresh(&api, &third).await.body["error"], "invalid_grant", "its family is revoked");
    for token in [&first, &second, &third] {
        let access = token["access_token"].as_str().unwrap();
        assert_eq!(api.with(access).get("/whoami").await.status, 401);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reused_device_code_ends_its_session() {
    let api = TestApi::start().await;
    let started = api.form("/auth/device", &[]).await.ok();
    let decision = json!({"user_code": started["user_code"], "approve": true});
    api.post("/auth/device/decision", decision).await.ok();
    let token = redeem(&api, &started).await.ok();
    assert_eq!(redeem(&api, &started).await.body["error"], "invalid_grant");
    assert_eq!(refresh(&api, &token).await.body["error"], "invalid_grant");

    let revoked = api.form("/auth/device", &[]).await.ok();
    let decision = json!({"user_code": revoked["user_code"], "approve": true});
    api.post("/auth/device/decision", decision).await.ok();
    let token = redeem(&api, &revoked).await.ok();
    let text = token["refresh_token"].as_str().unwrap();
    assert_eq!(api.form("/auth/revoke", &[("token", text)]).await.status, 200);
    assert_eq!(api.form("/auth/revoke", &[("token", "mcr_unknown")]).await.status, 200);
    assert_eq!(refresh(&api, &token).await.body["error"], "invalid_grant");

    let refused = api.form("/auth/device", &[]).await.ok();
    let decision = json!({"user_code": refused["user_code"], "approve": false});
    api.post("/auth/device/decision", decision).await.ok();
    assert_eq!(redeem(&api, &refused).await.body["error"], "access_denied");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approval_without_a_common_scope_denies_the_device_login() {
    let api = TestApi::start().await;
    let approval = |started: &Value| json!({"user_code": started["user_code"], "approve": true});
    let started = api.form("/auth/device", &[("scope", "memory:read")]).await.ok();
    api.post("/auth/device/decision", approval(&started)).await.ok();
    let tokens = redeem(&api, &started).await.ok();
    let reader = api.with(tokens["access_token"].as_str().unwrap());

    let started = api.form("/auth/device", &[("scope", "ingest")]).await.ok();
    let rejected = reader.post("/auth/device/decision", approval(&started)).await;
    assert_eq!(rejected.status, 403, "{}", rejected.body);
    assert_eq!(redeem(&api, &started).await.body["error"], "access_denied");
    assert_eq!(api.post("/auth/device/decision", approval(&started)).await.status, 409, "decided");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repeated_failures_of_grants_add_no_more_events() {
    let api = TestApi::start().await;
    let started = approved_grant(&api, "local").await;
    let session = redeem(&api, &started).await.ok();
    let token = session["refresh_token"].as_str().unwrap();
    let count = async |action: &str| {
        let sql = format!("select count(*)::text from audit_events where action = '{action}'");
        api.text(&sql).await
    };
    let wrong = [
        ("grant_type", EXCHANGE),
        ("subject_token", "mcp_made-up"),
        ("subject_token_type", ACCESS_TOKEN),
    ];
    for _ in 0..5 {
        assert_eq!(api.form("/auth/token", &wrong).await.body["error"], "invalid_grant");
        assert_eq!(redeem(&api, &started).await.body["error"], "invalid_grant");
        assert_eq!(refresh(&api, &session).await.body["error"], "invalid_grant");
        assert_eq!(api.form("/auth/revoke", &[("token", token)]).await.status, 200);
    }
    assert_eq!(count("access.denied").await, "1", "the code was reused");
    assert_eq!(count("session.revoked").await, "0", "it had ended by then");
    api.state.sign_in.denials().flush(&api.state.background).await.unwrap();
    assert_eq!(count("access.denied").await, "2", "all others are one count");
    let events = api.get("/audit?action=access.denied").await.ok();
    assert_eq!(events["items"][0]["details"], json!({"count": 15}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invalid_grant_has_an_error_code_of_oauth() {
    let api = TestApi::start().await;
    for (fields, error) in [
        (vec![("grant_type", "password")], "unsupported_grant_type"),
        (vec![("grant_type", "refresh_token")], "invalid_request"),
        (vec![("grant_type", "refresh_token"), ("refresh_token", "mcr_made-up")], "invalid_grant"),
        (vec![("grant_type", DEVICE_CODE), ("device_code", "x")], "invalid_grant"),
        (vec![("grant_type", EXCHANGE), ("subject_token", "x")], "invalid_request"),
        (vec![("grant_type", "refresh_token"), ("scope", "root")], "invalid_scope"),
        (vec![("grant_type", "refresh_token"), ("client_id", "A b")], "invalid_client"),
    ] {
        let answer = api.form("/auth/token", &fields).await;
        assert_eq!((answer.status.as_u16(), answer.body["error"].as_str().unwrap()), (400, error));
        assert!(answer.body["error_description"].is_string());
    }
    let metadata = api.get("/.well-known/oauth-authorization-server").await.ok();
    assert_eq!(metadata["token_endpoint"], "http://127.0.0.1:7391/auth/token");
    let keys = api.get("/.well-known/jwks.json").await.ok();
    assert_eq!(keys["keys"][0]["alg"], "EdDSA");
    assert!(keys["keys"][0].get("d").is_none(), "{keys}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_of_a_device_login_grants_some_scopes_only_if_ticked() {
    let api = TestApi::start().await;
    let cookie = visit(&api, "local").await;
    let proof = proof(&api, &cookie).await.unwrap();
    let requested = [("scope", "memory:read ingest:local admin")];
    for (ticked, expected) in [
        ("", "memory:read"),
        ("&admin=yes", "memory:read admin"),
        ("&ingest_local=yes", "memory:read ingest:local"),
        ("&ingest_local=yes&admin=yes", "memory:read ingest:local admin"),
    ] {
        let started = api.form("/auth/device", &requested).await.ok();
        let code = started["user_code"].as_str().unwrap();
        let page = api.page(&format!("/auth/device?user_code={code}"), &cookie).await.ok();
        let boxes = ["name=\"ingest_local\"", "name=\"admin\""];
        for part in ["memory-copilot-cli", code, "with: memory:read."].into_iter().chain(boxes) {
            assert!(page.as_str().unwrap().contains(part), "{part}: {page}");
        }
        let form = format!("user_code={code}&decision=approve&proof={proof}{ticked}");
        let request = Request::post("/auth/device/page")
            .header(header::COOKIE, &cookie)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Body::from(form))
            .unwrap();
        assert_eq!(api.answer(request).await.status, 200);
        assert_eq!(redeem(&api, &started).await.ok()["scope"], expected);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn login_page_without_providers_suggests_the_alternative() {
    let api = TestApi::start().await;
    let page = api.get("/auth/device?user_code=%3Cscript%3E").await;
    let text = page.body.as_str().unwrap();
    assert!(text.contains("memory-copilot login --approve") && !text.contains("<script"), "{text}");
    assert_eq!(api.get("/auth/oauth/github/start").await.fault(404), "provider");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invalid_form_has_an_error_code_of_oauth() {
    let api = TestApi::start().await;
    let twice = [("scope", "ingest"), ("scope", "ingest")];
    for (path, form, field) in
        [("/auth/token", &[][..], "grant_type"), ("/auth/device", &twice[..], "scope")]
    {
        let refused = api.form(path, form).await;
        assert_eq!(refused.status, 400, "{path}");
        assert_eq!(refused.body["error"], "invalid_request", "{}", refused.body);
        assert!(refused.body["error_description"].as_str().unwrap().contains(field));
    }
}
