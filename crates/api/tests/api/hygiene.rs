//! Hygiene runs, duplicates and exports by the API.

use std::time::Duration;

use mc_memory::normalize::content_hash;
use serde_json::{Value, json};
use tokio_util::sync::DropGuard;

use crate::accounts::newcomer;
use crate::client::TestApi;

const RETRY: &str =
    "The payments worker retries a failed charge 3 times with jitter before it gives up";
const RETOLD: &str =
    "Before it gives up, the payments worker retries failed charges three times with jitter";

/// Inserts a record with this content, even if it is a duplicate.
async fn told(api: &TestApi, content: &str, filler: &str) -> String {
    let note = json!({"project_key": "shop", "kind": "fact", "content": filler});
    let id = api.post("/save", note).await.ok()["id"].as_str().unwrap().to_owned();
    let hash = hex::encode(content_hash(content));
    api.execute(&format!(
        "with said as (update memory_records set content = '{content}', content_hash = '\\x{hash}'
                       where id = '{id}')
         delete from embeddings where passage_id in (select id from passages where record_id = \
         '{id}')"
    ))
    .await;
    id
}

async fn pair(api: &TestApi) -> [String; 2] {
    [
        told(api, RETRY, "The nightly export writes totals to a bucket of the finance team").await,
        told(api, RETOLD, "Feature flags are read once when a worker process begins").await,
    ]
}

/// Runs requested jobs and no scheduled ones: workers would start with the ticks of last night.
async fn work(api: &TestApi) -> DropGuard {
    for task in mc_domain::HygieneTask::ALL {
        let sql = format!(
            "insert into idempotency_keys (kind, key)
             values ('run_hygiene_task', '{task} ' || current_date), ('run_hygiene_task', '{task} \
             ' || current_date + 1)"
        );
        api.execute(&sql).await;
    }
    api.work()
}

/// Waits for a hygiene run and returns it.
async fn done(api: &TestApi, request: Value) -> Value {
    let asked = api.post("/projects/shop/hygiene-runs", request).await;
    assert_eq!(asked.status, 202, "{}", asked.body);
    let path = format!("/projects/shop/hygiene-runs/{}", asked.body["id"].as_str().unwrap());
    loop {
        let report = api.get(&path).await.ok();
        if !report["completed_at"].is_null() {
            assert!(report["last_error"].is_null(), "{report}");
            return report;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn duplicates_are_found_merged_and_rolled_back() {
    let api = TestApi::start().await;
    let _work = work(&api).await;
    let [kept, gone] = pair(&api).await;
    let looked = done(&api, json!({"task": "duplicates", "dry_run": true})).await;
    assert_eq!((&looked["dry_run"], &looked["counts"]["clusters"]), (&json!(true), &json!(1)));
    assert_eq!(looked["findings"][0]["keep"], kept.as_str());
    assert!(
        api.get("/projects/shop/duplicates").await.ok()["items"].as_array().unwrap().is_empty()
    );

    let found = done(&api, json!({"task": "duplicates"})).await;
    assert_eq!(found["counts"]["suggested"], 1);
    let page = api.get("/projects/shop/hygiene-runs?task=duplicates&limit=1").await.ok();
    assert_eq!((&page["items"][0]["id"], &page["next_cursor"]), (&found["id"], &found["id"]));
    let clusters = api.get("/projects/shop/duplicates").await.ok();
    let cluster = &clusters["items"][0];
    let records: Vec<_> =
        cluster["records"].as_array().unwrap().iter().map(|record| record["id"].clone()).collect();
    assert_eq!(records, [json!(kept), json!(gone)]);

    let path = format!("/projects/shop/duplicates/{}", cluster["id"].as_str().unwrap());
    let stranger = json!({"keep": "019a0000-0000-7000-8000-000000000001"});
    assert_eq!(api.post(&format!("{path}/merge"), stranger).await.fault(409), "keep");
    let accepted = api.post(&format!("{path}/merge"), json!({})).await.ok();
    assert_eq!(accepted["id"], kept.as_str());
    assert_eq!(api.get(&format!("/records/{gone}")).await.ok()["state"], "superseded");
    assert_eq!(api.post(&format!("{path}/merge"), json!({})).await.fault(404), "id");
    assert_eq!(api.post(&format!("{path}/dismiss"), json!({})).await.fault(404), "id");
    let events = api.get("/audit?project_key=shop&action=duplicate_cluster.merged").await.ok();
    let event = &events["items"][0];
    assert_eq!((&event["actor"], &event["target"]), (&json!("local"), &json!(kept)));
    assert_eq!(event["details"]["replaced"], json!([gone]));

    api.post(&format!("/records/{gone}/rollback"), json!({})).await.ok();
    assert_eq!(api.get(&format!("/records/{gone}")).await.ok()["state"], "active");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_demoted_record_is_not_found_until_it_is_accepted() {
    let api = TestApi::start().await;
    let _work = work(&api).await;
    let saved = async |content: &str| {
        let note = json!({"project_key": "shop", "kind": "fact", "content": content});
        api.post("/save", note).await.ok()["id"].as_str().unwrap().to_owned()
    };
    let other = "Feature flags are read once when a worker process begins";
    let [kept, gone] = [saved(RETRY).await, saved(other).await];
    let finds = async |id: &str| {
        let question = json!({"project_key": "shop", "query": "retries of a failed charge",
                              "time_budget_ms": 20000});
        api.post("/search", question).await.ok().to_string().contains(id)
    };
    api.execute("update memory_records set updated_at = now() - interval '100 days'").await;
    let policy = r#"{"hygiene": {"unused_records": "demote"}}"#;
    api.execute(&format!("update projects set policy = '{policy}' where key = 'shop'")).await;
    assert!(finds(&kept).await);
    assert_eq!(done(&api, json!({"task": "quality"})).await["counts"]["demoted"], 2);
    assert!(!finds(&kept).await);

    let waiting = api.get("/proposals?project_key=shop").await.ok();
    let proposal = &waiting["items"][0];
    assert_eq!((&proposal["id"], &proposal["visibility"]), (&json!(kept), &json!("proposed")));
    let why = &proposal["demotion"];
    assert_eq!(why["reasons"], json!(["neither recalled nor changed for 100 days"]));
    assert!(why["rank_factor"].as_f64().unwrap() < 1.0, "{why}");
    assert_eq!(why["rank_factor"], why["factors"]["recency"]);

    let accept = format!("/proposals/{kept}/accept");
    let accepted = api.post(&accept, json!({"version": proposal["version"]})).await.ok();
    assert_eq!((&accepted["id"], &accepted["visibility"]), (&json!(kept), &json!("team")));
    assert!(finds(&kept).await);
    api.post(&format!("/proposals/{gone}/reject"), json!({"reason": "nobody needs it"})).await.ok();
    assert_eq!(api.get(&format!("/records/{gone}")).await.ok()["state"], "deleted");
    // A record whose demotion was rejected by a reviewer is not demoted again.
    api.execute("update memory_records set updated_at = now() - interval '100 days'").await;
    assert_eq!(done(&api, json!({"task": "quality"})).await["counts"]["unused"], 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_require_a_maintainer_and_decisions_a_reviewer() {
    let api = TestApi::start().await;
    let _work = work(&api).await;
    pair(&api).await;
    let report = done(&api, json!({"task": "duplicates"})).await;
    let report = format!("/projects/shop/hygiene-runs/{}", report["id"].as_str().unwrap());
    let ann = newcomer(&api, "ann").await;
    api.put("/projects/shop/members/ann", json!({"role": "member"})).await.ok();
    let ann = api.with(&ann);
    for path in ["/projects/shop/hygiene-runs", &report] {
        assert_eq!(ann.get(path).await.status, 403);
    }
    let asked = ann.post("/projects/shop/hygiene-runs", json!({"task": "duplicates"})).await;
    assert_eq!(asked.status, 403);

    let clusters = ann.get("/projects/shop/duplicates").await.ok();
    let id = clusters["items"][0]["id"].as_str().unwrap();
    let dismiss = format!("/projects/shop/duplicates/{id}/dismiss");
    api.put("/projects/shop/members/ann", json!({"role": "viewer"})).await.ok();
    assert_eq!(ann.post(&dismiss, json!({})).await.status, 403);
    api.put("/projects/shop/members/ann", json!({"role": "member"})).await.ok();
    assert_eq!(ann.post(&dismiss, json!({})).await.status, 204);
    let found = done(&api, json!({"task": "duplicates"})).await;
    assert_eq!(found["counts"]["clusters"], 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invalid_run_request_names_its_field() {
    let api = TestApi::start().await;
    let path = "/projects/shop/hygiene-runs";
    assert_eq!(api.post(path, json!({"task": "sweeping"})).await.fault(400), "task");
    assert_eq!(api.post(path, json!({})).await.fault(400), "task");
    assert_eq!(api.get("/projects/shop/hygiene-runs?task=sweeping").await.status, 400);
    let unknown = "/projects/shop/hygiene-runs/019a0000-0000-7000-8000-000000000001";
    assert_eq!(api.get(unknown).await.fault(404), "id");
    let policy = json!({"hygiene": {"duplicates": "sometimes"}});
    let refused = api.put("/projects/shop/policy", policy).await;
    assert!(refused.status.is_client_error(), "{}", refused.body);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_equals_the_cli_export_without_private_records() {
    let api = TestApi::start().await;
    let _work = work(&api).await;
    for mut note in [
        json!({"kind": "fewshot", "content": "Fix nil delay: compare both units first, then \
            convert", "title": "Nil delay",
               "steps": ["compare", "convert"], "scope": ["cart"], "tags": ["units"],
               "task_external_id": "CS-1",
               "citations": [{"file": "app/cart.rb", "line_start": 1, "line_end": 3}],
               "ttl": "2030-06-01"}),
        json!({"kind": "fact", "content": RETRY, "meta": {"patch_sha": "abc"}}),
        json!({"kind": "fact", "content": "My own password manager lives on the second monitor",
               "visibility": "private"}),
    ] {
        note["project_key"] = "shop".into();
        api.post("/save", note).await.ok();
    }
    done(&api, json!({"task": "export"})).await;
    let exports = api.get("/projects/shop/exports").await.ok();
    let export = &exports["items"][0];
    assert_eq!(export["record_count"], 2);
    let path = format!("/projects/shop/exports/{}", export["id"].as_str().unwrap());
    let document = api.get(&path).await.ok();
    let document = document.as_str().unwrap();
    let records = api.get("/records?project_key=shop&visibility=team").await.ok();
    let records = records["items"].as_array().unwrap().iter().cloned();
    let expected: Vec<_> = records.map(mc_memory::export::exported).collect();
    assert_eq!(document, mc_memory::export::yaml(&expected).unwrap());
    assert!(!document.contains("second monitor"), "{document}");
    let unknown = "/projects/shop/exports/019a0000-0000-7000-8000-000000000001";
    assert_eq!(api.get(unknown).await.fault(404), "id");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_expiry_decision_is_sent_with_the_task_expiry() {
    let api = TestApi::start().await;
    let path = "/projects/shop/hygiene-runs";
    let asked = json!({"task": "expiry", "expiry_decision": "extend"});
    assert_eq!(api.post(path, asked).await.ok()["task"], "expiry");
    let detail = "select details::jsonb ->> 'expiry_decision' from audit_events where action = \
        'hygiene_run.requested'";
    assert_eq!(api.text(detail).await, "extend");
    for (field, asked) in [
        ("expiry_decision", json!({"task": "duplicates", "expiry_decision": "extend"})),
        ("expiry_decision", json!({"task": "expiry", "expiry_decision": "perhaps"})),
    ] {
        let refused = api.post(path, asked).await;
        assert_eq!(refused.fault(refused.status.as_u16()), field, "{}", refused.body);
    }
}
