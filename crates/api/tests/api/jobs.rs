//! Background jobs, as service administrators see them.

use std::time::Duration;

use mc_store::jobs::{self, NewJob};
use serde_json::json;

use crate::accounts::newcomer;
use crate::client::TestApi;

async fn put(api: &TestApi, kind: &str, n: i32) {
    let mut tx = api.background().begin().await.unwrap();
    let job = NewJob {
        kind,
        unique_key: None,
        args: json!({"n": n}),
        delay: Duration::ZERO,
        max_attempts: 3,
    };
    assert!(jobs::enqueue(&mut tx, &job).await.unwrap().is_some());
    tx.commit().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_discarded_job_is_listed_retried_and_deleted() {
    let api = TestApi::start().await;
    for n in 0..3 {
        put(&api, "note", n).await;
    }
    put(&api, "other", 9).await;
    api.execute(
        r#"update apalis.jobs set status = 'Killed', done_at = now(),
        last_result = '{"Err": "no such thing"}'
           where job_type = 'note'"#,
    )
    .await;
    let page = api.get("/jobs?state=discarded&limit=2").await.ok();
    assert_eq!(page["items"].as_array().unwrap().len(), 2);
    let newest = &page["items"][0];
    assert_eq!((&newest["kind"], &newest["args"]["n"]), (&json!("note"), &json!(2)));
    assert_eq!(
        (&newest["last_error"], &newest["max_attempts"]),
        (&json!("no such thing"), &json!(3))
    );
    let next = page["next_cursor"].as_str().unwrap();
    let rest = api.get(&format!("/jobs?state=discarded&limit=2&cursor={next}")).await.ok();
    assert_eq!(rest["items"][0]["args"]["n"], 0);
    assert!(rest["next_cursor"].is_null());
    assert_eq!(api.get("/jobs?kind=other").await.ok()["items"][0]["state"], "pending");

    let id = newest["id"].as_str().unwrap();
    let path = format!("/jobs/{id}");
    assert_eq!(api.post(&format!("{path}/retry"), json!({})).await.ok()["state"], "pending");
    assert_eq!(api.post(&format!("{path}/retry"), json!({})).await.fault(409), "id");
    assert_eq!(api.delete(&path).await.status, 204);
    assert_eq!(api.get(&path).await.fault(404), "id");
    assert_eq!(api.delete(&path).await.fault(404), "id");
    let events = api.get(&format!("/audit?target={id}")).await.ok();
    let actions: Vec<_> =
        events["items"].as_array().unwrap().iter().map(|event| event["action"].clone()).collect();
    assert_eq!(actions, [json!("job.deleted"), json!("job.retried")]);

    let other = api.get("/jobs?kind=other").await.ok()["items"][0]["id"].clone();
    api.execute("update apalis.jobs set status = 'Running' where job_type = 'other'").await;
    let other = format!("/jobs/{}", other.as_str().unwrap());
    assert_eq!(api.delete(&other).await.fault(409), "id");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_are_listed_in_the_order_of_their_creation() {
    let api = TestApi::start().await;
    for n in 0..40 {
        put(&api, "note", n).await;
    }
    let page = api.get("/jobs?kind=note&limit=100").await.ok();
    let jobs = page["items"].as_array().unwrap().iter();
    let order: Vec<_> = jobs.map(|job| job["args"]["n"].as_i64().unwrap()).collect();
    assert_eq!(order, (0..40).rev().collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_service_administrators_see_jobs() {
    let api = TestApi::start().await;
    put(&api, "note", 1).await;
    let ann = newcomer(&api, "ann").await;
    api.put("/projects/shop/members/ann", json!({"role": "admin"})).await.ok();
    let ann = api.with(&ann);
    assert_eq!(ann.get("/jobs").await.status, 403);
    let id = api.get("/jobs").await.ok()["items"][0]["id"].clone();
    let path = format!("/jobs/{}", id.as_str().unwrap());
    assert_eq!(ann.get(&path).await.status, 403);
    assert_eq!(ann.post(&format!("{path}/retry"), json!({})).await.status, 403);
    assert_eq!(ann.delete(&path).await.status, 403);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn index_and_sync_jobs_have_a_progress_url() {
    let api = TestApi::start().await;
    put(&api, "note", 1).await;
    let folder = tempfile::tempdir().unwrap();
    let location = folder.path().to_str().unwrap();
    let notes = json!({"project_key": "shop", "location": location, "name": "notes"});
    let run = api.post("/ingest/git", notes).await.ok();
    let notes = json!({"connector": "git", "resource": "local/notes"});
    let connection = api.post("/projects/shop/integrations", notes).await.ok();
    let run = format!("/ingest/runs/{}", run["ingest_id"].as_str().unwrap());
    let connection = format!("/projects/shop/integrations/{}", connection["id"].as_str().unwrap());
    for (kind, path) in
        [("note", None), ("index_repository", Some(run)), ("sync_integration", Some(connection))]
    {
        let jobs = api.get(&format!("/jobs?kind={kind}")).await.ok();
        let job =
            api.get(&format!("/jobs/{}", jobs["items"][0]["id"].as_str().unwrap())).await.ok();
        assert_eq!(job["progress_url"].as_str(), path.as_deref(), "{job}");
        if let Some(path) = path {
            api.get(&path).await.ok();
        }
    }
}
