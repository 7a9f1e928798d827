//! Usage data: outcomes of saves, sessions, the control group, reads, and their erasure.

use std::time::Duration;

use axum::body::Body;
use http::{Request, header};
use mc_domain::UserId;
use mc_domain::policy::RetentionDays;
use mc_store::hygiene::retention::RetentionCategory;
use mc_store::{accounts, cleanup};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::accounts::newcomer;
use crate::client::{Answer, SECRET, TestApi};

const UNITS: &str = "The delay is nil when delay_unit and trigger_delay_unit differ";
const OUTCOMES: &str = "select coalesce(string_agg(concat_ws(' ', outcome, reason, visibility,
    case when record_id is not null then 'record' end,
    case when quarantine_item_id is not null then 'item' end), ', ' order by id), '')
    from save_outcomes";

fn note(content: &str) -> Value {
    json!({ "project_key": "shop", "kind": "fact", "content": content })
}

fn recall(is_control: bool) -> Value {
    json!({ "project_key": "shop", "query": "why is the trigger delay nil?",
            "time_budget_ms": 20_000, "is_control": is_control })
}

/// Waits until a query returns this text: usage data is stored after the response.
async fn wait_for(api: &TestApi, sql: &str, expected: &str) {
    let mut text = String::new();
    for _ in 0..600 {
        text = api.text(sql).await;
        if text == expected {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{sql}: {text} instead of {expected}");
}

/// Creates a user with a role on the project; returns a token.
async fn joined(api: &TestApi, login: &str, role: &str) -> String {
    let token = newcomer(api, login).await;
    let path = format!("/projects/shop/members/{login}");
    api.put(&path, json!({ "role": role })).await.ok();
    token
}

/// Sends JSON in a client's session.
async fn post_in(api: &TestApi, session: &str, path: &str, body: &Value) -> Answer {
    let request = Request::post(path)
        .header(header::AUTHORIZATION, format!("Bearer {SECRET}"))
        .header(header::CONTENT_TYPE, "application/json")
        .header("x-memory-copilot-session", session)
        .body(Body::from(body.to_string()))
        .unwrap();
    api.answer(request).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn outcome_of_every_save_is_stored() {
    let api = TestApi::start().await;
    let policy = json!({ "sanitizer": { "categories": { "email": "quarantine",
                                                        "jwt": "reject" } } });
    api.put_if("/projects/shop/policy", "*", policy).await.ok();
    let saves = [
        note(UNITS),
        note(UNITS),
        note("ok"),
        note("Ask ann.smith@carts-and-co.net about the delay of the checkout in the cart"),
        json!({ "project_key": "shop", "kind": "fact", "content": "Only I know this of the carts",
                "visibility": "private" }),
        json!({ "project_key": "shop", "kind": "fact", "content": "A fact of an unknown dialog",
                "dialog_id": Uuid::now_v7() }),
        json!({ "project_key": "shop", "kind": "fact", "content": "A private one replaces none",
                "visibility": "private", "contradicts": true }),
    ];
    for save in saves {
        api.post("/save", save).await;
    }
    let expected = "created team record, merged team record, rejected empty team, \
        quarantined policy team item, created private, failed not_found team, \
        rejected invalid private";
    wait_for(&api, OUTCOMES, expected).await;
    let whole = api.text("select string_agg(o::text, ' ') from save_outcomes o").await;
    assert!(!whole.contains("ann.smith") && !whole.contains("delay"), "{whole}");

    let item = api.text("select id::text from quarantine_items").await;
    api.post(&format!("/quarantine/{item}/release"), json!({})).await.ok();
    wait_for(&api, OUTCOMES, &format!("{expected}, created team record item")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn save_that_the_role_forbids_has_an_outcome() {
    let api = TestApi::start().await;
    let bot = joined(&api, "bot", "agent").await;
    let replaced = api.post("/save", note(UNITS)).await.ok()["id"].clone();
    let mut save = note("The delay is never nil");
    save["supersedes"] = replaced;
    api.with(&bot).post("/save", save).await.fault(403);
    let of_bot = "select coalesce(string_agg(concat_ws(' ', o.outcome, o.reason), ', '), '')
        from save_outcomes o join users u on u.id = o.user_id where u.login = 'bot'";
    wait_for(&api, of_bot, "rejected forbidden").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bundle_has_its_user_session_and_group() {
    let api = TestApi::start().await;
    api.post("/save", note(UNITS)).await.ok();
    let (first, second) = (Uuid::now_v7().to_string(), Uuid::now_v7().to_string());
    for (session, is_control) in [(&first, false), (&first, false), (&second, true)] {
        post_in(&api, session, "/recall", &recall(is_control)).await.ok();
    }
    let bundles = "select coalesce(string_agg(concat_ws(' ', u.login, b.session_id, b.is_control),
        ', ' order by b.id), '') from bundles b join users u on u.id = b.user_id";
    let expected = format!("local {first} f, local {first} f, local {second} t");
    wait_for(&api, bundles, &expected).await;
    let recalled = "select string_agg(recall_count::text, ' ') from memory_records";
    assert_eq!(api.text(recalled).await, "2", "the control group is shown nothing");
    let id = api.text("select id::text from memory_records").await;
    api.get(&format!("/records/{id}")).await.ok();
    let opened = "select coalesce(string_agg(b.is_control::text, ' '), '')
        from bundle_uses u join bundles b on b.id = u.bundle_id";
    wait_for(&api, opened, "false").await;
    // The ids have the times of the sessions' starts, in milliseconds.
    let started = "select count(*)::text from client_sessions
        where id::text in (':1', ':2') and started_at = uuid_extract_timestamp(id)";
    let started = started.replace(":1", &first).replace(":2", &second);
    assert_eq!(api.text(&started).await, "2");
    let named = post_in(&api, "mine", "/recall", &recall(false)).await;
    assert_eq!(named.fault(400), "x-memory-copilot-session");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_without_a_session_share_one_by_credential() {
    let api = TestApi::start().await;
    let ann = joined(&api, "ann", "member").await;
    for _ in 0..2 {
        api.post("/recall", recall(false)).await.ok();
        api.with(&ann).post("/recall", recall(false)).await.ok();
    }
    let sessions = "select coalesce(string_agg(n::text, ' '), '') from
        (select count(*) as n from bundles group by user_id, session_id) counted";
    wait_for(&api, sessions, "2 2").await;
    wait_for(&api, "select count(*)::text from client_sessions", "2").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_are_audited_by_the_hour() {
    let api = TestApi::start().await;
    let ann = joined(&api, "ann", "member").await;
    let id = api.post("/save", note(UNITS)).await.ok()["id"].as_str().unwrap().to_owned();
    let documents = json!({ "project_key": "shop", "source": "wiki", "documents": [
        { "doc_id": "1", "title": "Delays", "content": "Delays have units." }] });
    api.post("/ingest/docs", documents).await.ok();
    let ann = api.with(&ann);
    for _ in 0..2 {
        let query = json!({ "project_key": "shop", "query": "delay" });
        ann.post("/search", query).await.ok();
        ann.get(&format!("/records/{id}")).await.ok();
    }
    ann.get("/documents/lookup?project_key=shop&title=Delays").await.ok();
    let passage = api.text("select id::text from passages where record_id is not null").await;
    ann.get(&format!("/passages/{passage}?project_key=shop")).await.ok();
    ann.get(&format!("/passages/{}?project_key=shop", Uuid::now_v7())).await.fault(404);
    let counts = "select coalesce(string_agg(kind || ' ' || n, ', ' order by kind), '') from
        (select kind, sum(count) as n from read_counts group by kind) counted";
    wait_for(&api, counts, "document 1, passage 1, record 2, search 2").await;

    let audited = async || {
        let events = api.get("/audit?project_key=shop&action=memory.read").await.ok();
        events["items"].as_array().unwrap().clone()
    };
    cleanup::sweep(api.background()).await.unwrap();
    assert_eq!(audited().await.len(), 0, "the hour is not over");
    api.execute("update read_counts set hour = '2026-11-20 10:00:00Z'").await;
    for _ in 0..2 {
        // The second one finds no counts.
        cleanup::sweep(api.background()).await.unwrap();
        let events = audited().await;
        assert_eq!((events.len(), &events[0]["actor"]), (1, &json!("ann")));
        let details = json!({ "hour": "2026-11-20T10:00:00Z", "document": 1, "passage": 1,
                              "record": 2, "search": 2 });
        assert_eq!(events[0]["details"], details);
    }
    assert_eq!(api.text("select count(*)::text from read_counts").await, "0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dialog_has_its_outcome_and_prompt_version() {
    let api = TestApi::start().await;
    let mut dialog = json!({
        "project_key": "shop", "messages": [{ "role": "user", "content": UNITS }],
        "outcome": "failed", "prompt_version": "bugfix-7"
    });
    let id = api.post("/dialogs", dialog.clone()).await.ok()["id"].clone();
    let stored = "select concat_ws(' ', outcome, prompt_version) from dialogs";
    assert_eq!(api.text(stored).await, "failed bugfix-7");
    dialog["id"] = id;
    dialog["outcome"] = json!("succeeded");
    dialog.as_object_mut().unwrap().remove("prompt_version");
    api.post("/dialogs", dialog.clone()).await.ok();
    assert_eq!(api.text(stored).await, "succeeded bugfix-7", "an absent value stays");
    dialog["outcome"] = json!("great");
    assert_eq!(api.post("/dialogs", dialog.clone()).await.fault(400), "outcome");
    dialog["outcome"] = json!("failed");
    let token = format!("ghp_{}", "aB3dE5gH7jK9mN1pQ3rS5tU7vW9xY1zA2b4C");
    dialog["prompt_version"] = json!(token);
    assert_eq!(api.post("/dialogs", dialog).await.fault(400), "prompt_version");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn usage_data_is_erased_with_its_user_and_by_retention() {
    let api = TestApi::start().await;
    let ann = joined(&api, "ann", "member").await;
    let use_memory = async |token: &str| {
        let client = api.with(token);
        client.post("/save", note("ok")).await;
        client.post("/recall", recall(false)).await.ok();
        client.post("/search", json!({ "project_key": "shop", "query": "delay" })).await.ok();
    };
    use_memory(&ann).await;
    use_memory(SECRET).await;
    let left = "select concat_ws(' ', (select count(*) from bundles),
        (select count(*) from save_outcomes), (select count(*) from client_sessions),
        (select count(*) from read_counts))";
    wait_for(&api, left, "2 2 2 2").await;
    let forget = |dry_run| json!({ "project_key": "shop", "saved_by": "ann", "dry_run": dry_run });
    for dry_run in [true, false] {
        let erased = api.post("/forget", forget(dry_run)).await.ok();
        assert_eq!((&erased["bundles"], &erased["usage_rows"]), (&json!(1), &json!(2)));
    }
    assert_eq!(api.text(left).await, "1 1 1 2", "the audit has counts of reads soon");

    let days = RetentionDays::default();
    api.execute(
        "do $$ begin
             update save_outcomes set saved_at = now() - interval '2 years';
             update client_sessions set started_at = now() - interval '2 years';
         end $$",
    )
    .await;
    assert_eq!(api.purge(RetentionCategory::UsageData, &days).await, 2);
    assert_eq!(api.text(left).await, "1 0 0 2");
    api.post("/save", note("ok")).await;
    wait_for(&api, left, "1 1 1 2").await;
    api.delete("/projects/shop").await.ok();
    assert_eq!(api.text(left).await, "0 0 0 0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn login_at_a_provider_belongs_to_one_user() {
    let api = TestApi::start().await;
    let ann = joined(&api, "ann", "member").await;
    joined(&api, "bob", "member").await;
    let path = |user: &str, host: &str| format!("/users/{user}/provider-logins/{host}");
    let set = api.put(&path("ann", "GitHub.com"), json!({ "login": "ann-gh" })).await.ok();
    assert_eq!((&set["host"], &set["is_verified"]), (&json!("github.com"), &json!(false)));
    let taken = api.put(&path("bob", "github.com"), json!({ "login": "ANN-gh" })).await;
    assert_eq!(taken.fault(409), "login");
    let own = api.with(&ann).get("/users/ann/provider-logins").await.ok();
    assert_eq!(own["items"][0]["login"], "ann-gh");
    assert_eq!(api.with(&ann).get("/users/bob/provider-logins").await.status, 403);
    let claimed = api.with(&ann).put(&path("ann", "github.com"), json!({ "login": "bob" })).await;
    assert_eq!(claimed.status, 403);
    for bad in ["https:%2F%2Fgithub.com", "a_b", "github.com:x", "-x"] {
        let refused = api.put(&path("ann", bad), json!({ "login": "ann" })).await;
        assert_eq!(refused.fault(400), "host", "{bad}");
    }

    // A sign-in proves the login, so another user loses it.
    let verify = async |login: &str| {
        let id = api.text(&format!("select id::text from users where login = '{login}'")).await;
        let user = UserId(id.parse().unwrap());
        let mut tx = api.service().begin().await.unwrap();
        let is_new = accounts::verify_provider_login(&mut tx, user, "github.com", "Ann-gh").await;
        tx.commit().await.unwrap();
        is_new.unwrap()
    };
    assert!(verify("bob").await);
    assert!(!verify("bob").await, "it is stored already");
    let logins = api.get("/users/bob/provider-logins").await.ok();
    assert_eq!(logins["items"][0]["is_verified"], json!(true));
    let logins = api.get("/users/ann/provider-logins").await.ok();
    assert_eq!(logins["items"], json!([]));
    api.patch("/users/ann", json!({ "is_disabled": true })).await.ok();
    assert!(!verify("ann").await, "the account is disabled");
    let set = json!({ "login": "ann" });
    assert_eq!(api.put(&path("ann", "gitlab.com"), set).await.fault(409), "login");
    for bad in ["@bob", "https://github.com/bob", "Bob B"] {
        let refused = api.put(&path("bob", "gitlab.com"), json!({ "login": bad })).await;
        assert_eq!(refused.fault(400), "login", "{bad}");
    }
    let set = api.put(&path("bob", "www.GitLab.com:443"), json!({ "login": "bob[bot]" })).await;
    assert_eq!(set.ok()["host"], "gitlab.com");
    api.delete(&path("bob", "gitlab.com")).await.ok();

    assert_eq!(api.delete(&path("bob", "github.com")).await.status, 204);
    assert_eq!(api.delete(&path("bob", "github.com")).await.fault(404), "host");
}
