//! A project's policy: typed, versioned, and in force at once.

use futures::future::join_all;
use serde_json::{Value, json};

use crate::accounts::newcomer;
use crate::client::TestApi;

const POLICY: &str = "/projects/shop/policy";
const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

fn fact(content: &str) -> Value {
    json!({"project_key": "shop", "kind": "fact", "content": content})
}

/// Sets the policy whatever it was.
async fn set(api: &TestApi, policy: Value) -> Value {
    api.put_if(POLICY, "*", policy).await.ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_is_set_by_who_read_the_one_before() {
    let api = TestApi::start().await;
    let first = api.get(POLICY).await;
    assert_eq!(first.etag, "\"0\"");
    let mut policy = first.ok()["policy"].take();
    assert_eq!(policy["roles"]["save"], "member");

    policy["ttl_days"]["gotcha"] = 30.into();
    assert_eq!(api.put(POLICY, policy.clone()).await.fault(428), "If-Match");
    assert_eq!(api.put_if(POLICY, "\"7\"", policy.clone()).await.fault(412), "If-Match");
    assert_eq!(api.put_if(POLICY, "W/\"0\"", policy.clone()).await.fault(412), "If-Match");
    let second = api.put_if(POLICY, "\"0\"", policy.clone()).await;
    assert_eq!(second.etag, "\"1\"");
    assert_eq!(second.ok()["policy"], policy);
    assert_eq!(api.put_if(POLICY, "\"0\"", json!({})).await.fault(412), "If-Match");

    set(&api, json!({"roles": {"publish": "admin"}})).await;
    let versions = api.get("/projects/shop/policy/versions?limit=1").await.ok();
    let newest = &versions["versions"][0];
    assert_eq!((&newest["version"], &newest["changed_by"]), (&json!(2), &json!("local")));
    let changes = newest["changes"].as_array().unwrap();
    let fields: Vec<_> = changes.iter().map(|change| change["field"].as_str().unwrap()).collect();
    assert_eq!(fields, ["roles.publish", "ttl_days.gotcha"], "with what went back to its default");
    assert_eq!(versions["next"], 2);
    let rest = api.get("/projects/shop/policy/versions?before=2").await.ok();
    assert_eq!(rest["versions"].as_array().unwrap().len(), 1);
    assert!(rest["next"].is_null());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_who_set_it_at_once_one_does() {
    let api = TestApi::start().await;
    let each = (1..=8).map(|days| {
        let policy = json!({"ttl_days": {"fact": days}});
        api.put_if(POLICY, "\"0\"", policy)
    });
    let answers = join_all(each).await;
    let won: Vec<_> = answers.iter().filter(|answer| answer.status.is_success()).collect();
    assert_eq!(won.len(), 1);
    assert!(answers.iter().all(|answer| answer.status.is_success() || answer.status == 412));
    let now = api.get(POLICY).await.ok();
    assert_eq!((&now["version"], &now["policy"]), (&json!(1), &won[0].body["policy"]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_that_breaks_a_rule_names_it() {
    let api = TestApi::start().await;
    for (policy, field) in [
        (json!({"ttl_days": {"fact": 0}}), "ttl_days.fact"),
        (json!({"ttl_days": {"hunch": 1}}), "ttl_days.hunch"),
        (json!({"roles": {"save": "agent"}}), "roles.save"),
        (json!({"roles": {"save": "boss"}}), "roles.save"),
        (json!({"sanitizer": {"secrets": "allow"}}), "sanitizer.secrets"),
        (json!({"sanitizer": {"categories": {"jwtt": "mask"}}}), "sanitizer.categories"),
        (json!({"notices": {"webhook_url": "http://example.com/"}}), "notices.webhook_url"),
        (json!({"notices": {"webhook_url": "https://169.254.169.254/"}}), "notices.webhook_url"),
        (json!({"nonsense": 1}), "nonsense"),
    ] {
        let refused = api.put_if(POLICY, "*", policy.clone()).await;
        assert_eq!(refused.fault(400), field, "{policy}");
    }
    assert_eq!(api.get(POLICY).await.ok()["version"], 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_policy_says_of_finds_is_done_at_once() {
    let api = TestApi::start().await;
    let secret = fact(&format!("The deploy job of the shop authenticates with {TOKEN}."));
    set(&api, json!({"sanitizer": {"categories": {"github-token": "reject"}}})).await;
    let refused = api.post("/save", secret.clone()).await.ok();
    assert_eq!(refused["outcome"], "rejected");
    assert!(refused["reason"].as_str().unwrap().contains("github-token"), "{refused}");

    set(&api, json!({"sanitizer": {"secrets": "quarantine"}})).await;
    assert_eq!(api.post("/save", secret.clone()).await.ok()["outcome"], "quarantined");

    set(&api, json!({})).await;
    let taken = api.post("/save", secret).await.ok();
    assert_eq!(taken["outcome"], "created");
    assert_eq!(taken["masked"][0]["category"], "github-token");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn days_and_tokens_are_those_of_the_policy() {
    let api = TestApi::start().await;
    set(&api, json!({"ttl_days": {"fact": 3}, "tokens": {"recall": 200}})).await;
    let days = async |saved: &Value| {
        let ttl: chrono::DateTime<chrono::Utc> =
            saved["record"]["ttl"].as_str().unwrap().parse().unwrap();
        (ttl - chrono::Utc::now()).num_hours()
    };
    let mut texts = Vec::new();
    for part in ["cart", "checkout", "mailer", "search", "invoice", "ledger"] {
        let text = format!(
            "The {part} service retries a failed delivery of its events three times, waiting twice as \
             long before each, and then writes the event to the table {part}_dead_letters."
        );
        texts.push(api.post("/save", fact(&text)).await.ok());
    }
    assert_eq!(days(&texts[0]).await, 71);
    let asked = json!({"project_key": "shop", "query": "retries of failed delivery of events",
                       "limit_tokens": 4000, "time_budget_ms": 20000});
    let bundle = api.post("/recall", asked).await.ok();
    assert!(bundle["tokens"].as_u64().unwrap() <= 200, "{bundle}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_may_save_is_for_the_policy_to_say() {
    let api = TestApi::start().await;
    let ann = newcomer(&api, "ann").await;
    api.put("/projects/shop/members/ann", json!({"role": "member"})).await.ok();
    set(&api, json!({"roles": {"save": "maintainer", "review": "maintainer"}})).await;
    let ann = api.with(&ann);
    let saved = ann.post("/save", fact("Refunds above 500 euros need two approvals.")).await.ok();
    assert_eq!(saved["outcome"], "proposed");
    let accept = format!("/proposals/{}/accept", saved["id"].as_str().unwrap());
    assert_eq!(ann.post(&accept, json!({"version": 1})).await.status, 403);
    assert_eq!(ann.put(POLICY, json!({})).await.status, 403);
    assert_eq!(ann.get(POLICY).await.ok()["version"], 1);
    api.post(&accept, json!({"version": 1})).await.ok();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_project_keeps_an_administrator() {
    let api = TestApi::start().await;
    newcomer(&api, "ann").await;
    let local = "/projects/shop/members/local";
    assert_eq!(api.put(local, json!({"role": "viewer"})).await.fault(409), "login");
    assert_eq!(api.delete(local).await.fault(409), "login");
    api.put("/projects/shop/members/ann", json!({"role": "admin"})).await.ok();
    api.delete(local).await.ok();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repositories_are_read_again_once_other_things_are_masked() {
    let api = TestApi::start().await;
    let folder = tempfile::tempdir().unwrap();
    let location = folder.path().to_str().unwrap();
    let ingest = json!({"project_key": "shop", "location": location, "name": "shop"});
    let run = api.post("/ingest/git", ingest).await.ok();
    // As if it had been worked off.
    let done = "update ingest_runs set status = 'SUCCEEDED', requested_ref = 'main'";
    api.execute(done).await;
    api.execute(
        "insert into files (id, repository_id, project_id, path, content_hash, size, language,
                            line_count, chunker, masked_by)
         select gen_random_uuid(), id, project_id, 'a.rb', sha256('a'), 1, 'ruby', 1, 1, 7
         from repositories",
    )
    .await;
    let queued = async || {
        let runs = api
            .text("select coalesce(string_agg(requested_ref, ','), '') from ingest_runs where status = 'QUEUED'");
        let started = api.get("/audit?project_key=shop&action=ingest.started").await.ok();
        (runs.await, started["events"].as_array().unwrap().len())
    };
    set(&api, json!({"sanitizer": {"categories": {"email": "allow"}}})).await;
    assert_eq!(queued().await, ("main".to_owned(), 2), "at the ref of {run}");
    set(&api, json!({"sanitizer": {"categories": {"email": "allow"}}})).await;
    assert_eq!(queued().await, ("main".to_owned(), 2), "it waits already");
    api.execute(done).await;
    let rules = mc_store::policies::fingerprint(
        &serde_json::from_value(json!({"sanitizer": {"categories": {"email": "allow"}}})).unwrap(),
    );
    api.execute(&format!("update files set masked_by = {rules}")).await;
    let held = json!({"sanitizer": {"categories": {"email": "allow", "jwt": "reject"},
                                    "addressed_to_models": "reject"}});
    set(&api, held).await;
    assert_eq!(queued().await, (String::new(), 2), "what is masked is the same");
}
