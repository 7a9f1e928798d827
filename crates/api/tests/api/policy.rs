//! Policies of projects: typed, versioned, and effective at once.

use futures::future::join_all;
use serde_json::{Value, json};

use crate::accounts::newcomer;
use crate::client::TestApi;

const POLICY: &str = "/projects/shop/policy";
const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

fn fact(content: &str) -> Value {
    json!({"project_key": "shop", "kind": "fact", "content": content})
}

/// Sets the policy, whatever its version.
async fn set(api: &TestApi, policy: Value) -> Value {
    api.put_if(POLICY, "*", policy).await.ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_is_set_with_the_version_that_it_replaces() {
    let api = TestApi::start().await;
    let first = api.get(POLICY).await;
    assert_eq!(first.etag, "\"0\"");
    let mut policy = first.ok()["policy"].take();
    assert_eq!(policy["min_roles"]["save"], "member");

    policy["ttl_days"]["gotcha"] = 30.into();
    assert_eq!(api.put(POLICY, policy.clone()).await.fault(428), "If-Match");
    assert_eq!(api.put_if(POLICY, "\"7\"", policy.clone()).await.fault(412), "If-Match");
    assert_eq!(api.put_if(POLICY, "W/\"0\"", policy.clone()).await.fault(412), "If-Match");
    let second = api.put_if(POLICY, "\"0\"", policy.clone()).await;
    assert_eq!(second.etag, "\"1\"");
    assert_eq!(second.ok()["policy"], policy);
    assert_eq!(api.put_if(POLICY, "\"0\"", json!({})).await.fault(412), "If-Match");

    set(&api, json!({"min_roles": {"publish": "admin"}})).await;
    let versions = api.get("/projects/shop/policy/versions?limit=1").await.ok();
    let newest = &versions["items"][0];
    assert_eq!((&newest["version"], &newest["changed_by"]), (&json!(2), &json!("local")));
    let changes = newest["changes"].as_array().unwrap();
    let fields: Vec<_> = changes.iter().map(|change| change["field"].as_str().unwrap()).collect();
    assert_eq!(
        fields,
        ["min_roles.publish", "ttl_days.gotcha"],
        "with what went back to its default"
    );
    assert_eq!(versions["next_cursor"], "2");
    let rest = api.get("/projects/shop/policy/versions?cursor=2").await.ok();
    assert_eq!(rest["items"].as_array().unwrap().len(), 1);
    assert!(rest["next_cursor"].is_null());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_one_of_concurrent_policy_updates_succeeds() {
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
async fn an_invalid_policy_names_the_rule() {
    let api = TestApi::start().await;
    for (policy, field) in [
        (json!({"ttl_days": {"fact": 0}}), "ttl_days.fact"),
        (json!({"ttl_days": {"hunch": 1}}), "ttl_days.hunch"),
        (json!({"min_roles": {"save": "agent"}}), "min_roles.save"),
        (json!({"min_roles": {"save": "boss"}}), "min_roles.save"),
        (json!({"sanitizer": {"secrets": "allow"}}), "sanitizer.secrets"),
        (json!({"sanitizer": {"categories": {"jwtt": "mask"}}}), "sanitizer.categories"),
        (
            json!({"notifications": {"webhook_url": "http://example.com/"}}),
            "notifications.webhook_url",
        ),
        (
            json!({"notifications": {"webhook_url": "https://169.254.169.254/"}}),
            "notifications.webhook_url",
        ),
        (json!({"nonsense": 1}), "nonsense"),
    ] {
        let refused = api.put_if(POLICY, "*", policy.clone()).await;
        assert_eq!(refused.fault(400), field, "{policy}");
    }
    assert_eq!(api.get(POLICY).await.ok()["version"], 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changed_finding_actions_apply_at_once() {
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
    assert_eq!(taken["redactions"][0]["category"], "github-token");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn policy_sets_ttl_days_and_token_limits() {
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
            "The {part} service retries a failed delivery of its events three times, waiting twice \
             as \
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
async fn the_policy_sets_the_role_for_saving() {
    let api = TestApi::start().await;
    let ann = newcomer(&api, "ann").await;
    api.put("/projects/shop/members/ann", json!({"role": "member"})).await.ok();
    // Members may still review, but not in ways that would bypass the limit for their own saves.
    set(&api, json!({"min_roles": {"save": "maintainer", "review": "member"}})).await;
    let ann = api.with(&ann);
    let saved = ann.post("/save", fact("Refunds above 500 euros need two approvals.")).await.ok();
    assert_eq!(saved["outcome"], "proposed");
    let accept = format!("/proposals/{}/accept", saved["id"].as_str().unwrap());
    assert_eq!(ann.post(&accept, json!({"version": 1})).await.status, 403);
    let waiting = ann.get("/proposals?project_key=shop").await.ok();
    assert_eq!(waiting["items"][0]["id"], saved["id"], "it waits still");
    assert_eq!(ann.put(POLICY, json!({})).await.status, 403);
    assert_eq!(ann.get(POLICY).await.ok()["version"], 1);
    api.post(&accept, json!({"version": 1})).await.ok();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_who_may_not_save_may_not_ingest_either() {
    let api = TestApi::start().await;
    let ann = newcomer(&api, "ann").await;
    let role = async |role: &str| {
        api.put("/projects/shop/members/ann", json!({"role": role})).await.ok();
    };
    role("member").await;
    set(&api, json!({"min_roles": {"save": "maintainer"}})).await;
    let ann = api.with(&ann);
    let page = json!({"doc_id": "1", "title": "Refunds", "url": "https://wiki.example.org/1",
                      "content": "# Refunds\n\nRefunds above 500 euros need two approvals."});
    let pages = json!({"project_key": "shop", "source": "wiki", "documents": [page]});
    let refused = ann.post("/ingest/docs", pages.clone()).await;
    assert_eq!(refused.status, 403, "{}", refused.body);
    let [detail, hint] = ["detail", "hint"].map(|part| refused.body[part].as_str().unwrap());
    assert!(detail.contains("role maintainer") && detail.contains("`min_roles.save`"), "{detail}");
    assert!(hint.contains("POST /save"), "{hint}");
    assert_eq!(api.get("/documents?project_key=shop").await.ok()["items"], json!([]));

    // Nor may they store the same text by another route.
    let repository = json!({"project_key": "shop", "location": "https://93.184.215.14/a/shop.git"});
    assert_eq!(ann.post("/ingest/git", repository.clone()).await.status, 403);
    let task = json!({"external_id": "CS-1", "title": "Refunds"});
    let tasks = json!({"project_key": "shop", "tasks": [task]});
    assert_eq!(ann.post("/tasks/sync", tasks.clone()).await.status, 403);

    role("maintainer").await;
    assert_eq!(ann.post("/ingest/docs", pages).await.ok()["created"], 1);
    assert_eq!(ann.post("/ingest/git", repository).await.status, 202);
    role("viewer").await;
    set(&api, json!({})).await;
    let refused = ann.post("/tasks/sync", tasks).await;
    let detail = refused.body["detail"].as_str().unwrap();
    assert!(detail.contains("role member") && !detail.contains("policy"), "{detail}");
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

/// Requests an index run, which no worker runs here.
async fn asked_for(api: &TestApi, requested_ref: &str) {
    let ingest = json!({"project_key": "shop", "location": std::env::temp_dir(), "name": "shop",
                        "ref": requested_ref});
    api.post("/ingest/git", ingest).await.ok();
}

/// Marks all runs as completed, with a file that was masked by no policy.
async fn worked_off(api: &TestApi) {
    api.execute("update ingest_runs set status = 'SUCCEEDED'").await;
    api.execute(
        "insert into files (id, repository_id, project_id, path, content_hash, size_bytes, language,
                            line_count, chunker_version, masking_fingerprint)
         select gen_random_uuid(), id, project_id, 'a.rb', sha256('a'), 1, 'ruby', 1, 1, 7
         from repositories",
    )
    .await;
}

/// Returns the refs of pending runs, and the number of all runs.
async fn queued(api: &TestApi) -> (String, usize) {
    let runs = "select coalesce(string_agg(requested_ref, ',' order by queued_at), '')
                from ingest_runs where status = 'QUEUED'";
    let started = api.get("/audit?project_key=shop&action=ingest_run.requested").await.ok();
    (api.text(runs).await, started["items"].as_array().unwrap().len())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repositories_are_reindexed_when_masking_changes() {
    let api = TestApi::start().await;
    asked_for(&api, "main").await;
    worked_off(&api).await;
    set(&api, json!({"sanitizer": {"categories": {"email": "allow"}}})).await;
    assert_eq!(queued(&api).await, ("main".to_owned(), 2), "at the ref that it was read at");
    set(&api, json!({"sanitizer": {"categories": {"email": "allow"}}})).await;
    assert_eq!(queued(&api).await, ("main".to_owned(), 2), "it waits already");
    api.execute("update ingest_runs set status = 'SUCCEEDED'").await;
    let rules = mc_store::policies::fingerprint(
        &serde_json::from_value(json!({"sanitizer": {"categories": {"email": "allow"}}})).unwrap(),
    );
    api.execute(&format!("update files set masking_fingerprint = {rules}")).await;
    let policy = json!({"sanitizer": {"categories": {"email": "allow", "jwt": "reject"},
                                    "prompt_injection": "reject"}});
    set(&api, policy).await;
    assert_eq!(queued(&api).await, (String::new(), 2), "what is masked is the same");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reindex_reads_the_ref_that_was_requested_last() {
    let api = TestApi::start().await;
    asked_for(&api, "main").await;
    worked_off(&api).await;
    asked_for(&api, "dev").await;
    set(&api, json!({})).await;
    assert_eq!(queued(&api).await, ("dev".to_owned(), 2), "it waits, and main would follow it");
    api.execute("update ingest_runs set status = 'RUNNING' where requested_ref = 'dev'").await;
    set(&api, json!({})).await;
    assert_eq!(queued(&api).await, ("dev".to_owned(), 3), "behind the one that is at work");
    api.execute("update ingest_runs set status = 'FAILED' where requested_ref = 'dev'").await;
    set(&api, json!({})).await;
    assert_eq!(queued(&api).await, ("main".to_owned(), 4), "dev was never read");
    api.execute("update ingest_runs set status = 'FAILED'").await;
    set(&api, json!({})).await;
    assert_eq!(queued(&api).await, ("main".to_owned(), 5), "as it was asked for last");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_and_its_index_runs_are_stored_atomically() {
    let api = TestApi::start().await;
    asked_for(&api, "main").await;
    worked_off(&api).await;
    api.execute("alter table ingest_runs add constraint is_full check (false) not valid").await;
    assert_eq!(api.put_if(POLICY, "*", json!({})).await.status, 500);
    assert_eq!(api.get(POLICY).await.ok()["version"], 0);
    let changed = api.get("/audit?project_key=shop&action=policy.changed").await.ok();
    assert_eq!(changed["items"], json!([]));
    api.execute("alter table ingest_runs drop constraint is_full").await;
    set(&api, json!({})).await;
    assert_eq!(queued(&api).await, ("main".to_owned(), 2));
}
