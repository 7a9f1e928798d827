//! Task comments: their preview, and their approval by digest.

use serde_json::{Value, json};

use crate::accounts::newcomer;
use crate::client::{CONNECTOR, TestApi};

const COMMENT: &str = "/tasks/redmine%237/comment?project_key=shop";

/// Creates a task of an integration with a team record, and returns the record's id.
async fn task(api: &TestApi) -> String {
    let integration = json!({ "connector": CONNECTOR, "resource": "carts" });
    api.post("/projects/shop/integrations", integration).await.ok();
    let tasks = json!([{"external_id": "redmine#7", "title": "Nil delay"}]);
    api.post("/tasks/sync", json!({ "project_key": "shop", "tasks": tasks })).await.ok();
    api.execute("update tasks set integration_id = (select id from integrations)").await;
    save(api, "Delays are in milliseconds", "The gateway's delays are given in milliseconds.").await
}

async fn save(api: &TestApi, title: &str, content: &str) -> String {
    let record = json!({ "project_key": "shop", "kind": "fact", "title": title, "content": content,
                         "task_external_id": "redmine#7" });
    api.post("/save", record).await.ok()["id"].as_str().unwrap().to_owned()
}

async fn allow(api: &TestApi) {
    let policy = json!({ "trackers": { "post_comments": true } });
    api.put_if("/projects/shop/policy", "*", policy).await.ok();
}

fn approval(view: &Value) -> Value {
    json!({ "digest": view["digest"] })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn comment_needs_the_policy_and_a_current_approval() {
    let api = TestApi::start().await;
    let record = task(&api).await;
    let shown = api.get(COMMENT).await.ok();
    let text = shown["text"].as_str().unwrap();
    assert!(
        text.starts_with("Memory Copilot: what the project shop knows of redmine#7\n"),
        "{text}"
    );
    assert!(
        text.contains("- Delays are in milliseconds (fact ") && text.contains(&record),
        "{text}"
    );
    assert_eq!(
        (&shown["connector"], &shown["is_allowed_by_policy"]),
        (&json!(CONNECTOR), &json!(false))
    );
    assert_eq!((&shown["is_current"], &shown["state"]), (&json!(false), &Value::Null));

    assert_eq!(api.post(COMMENT, approval(&shown)).await.status, 403, "the policy forbids it");
    allow(&api).await;
    let other = json!({ "digest": "00".repeat(32) });
    assert_eq!(api.post(COMMENT, other).await.fault(409), "digest");
    save(&api, "Delays may be nil", "A delay of nil is taken for none at all by carts.").await;
    assert_eq!(api.post(COMMENT, approval(&shown)).await.fault(409), "digest", "it names more now");

    let shown = api.get(COMMENT).await.ok();
    let approved = api.post(COMMENT, approval(&shown)).await;
    assert_eq!((approved.status.as_u16(), &approved.body["state"]), (202, &json!("pending")));
    let jobs = "select string_agg(convert_from(job, 'utf8'), '') from apalis.jobs where job_type = \
        'post_task_comment'";
    let job = api.text(jobs).await;
    assert!(job.contains(shown["digest"].as_str().unwrap()) && !job.contains("Delays"), "{job}");
    let events = api.get("/audit?project_key=shop&action=task_comment.approved").await.ok();
    assert_eq!(events["items"][0]["details"]["digest"], shown["digest"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn approval_is_valid_for_one_connector() {
    let api = TestApi::start().await;
    task(&api).await;
    allow(&api).await;
    let shown = api.get(COMMENT).await.ok();
    assert_eq!((&shown["connector"], &shown["resource"]), (&json!(CONNECTOR), &json!("carts")));
    let other = json!({ "connector": CONNECTOR, "resource": "customers" });
    api.post("/projects/shop/integrations", other).await.ok();
    api.execute(
        "update tasks set integration_id = (select id from integrations where resource = \
         'customers')",
    )
    .await;
    let moved = api.get(COMMENT).await.ok();
    assert_eq!((&moved["resource"], &moved["text"]), (&json!("customers"), &shown["text"]));
    assert_eq!(api.post(COMMENT, approval(&shown)).await.fault(409), "digest");
    assert_eq!(api.post(COMMENT, approval(&moved)).await.status, 202);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn discarded_comment_has_failed_until_approved_again() {
    let api = TestApi::start().await;
    task(&api).await;
    allow(&api).await;
    let shown = api.get(COMMENT).await.ok();
    api.post(COMMENT, approval(&shown)).await.ok();
    assert_eq!(api.get(COMMENT).await.ok()["state"], "pending");
    api.execute("update apalis.jobs set status = 'Killed' where job_type = 'post_task_comment'")
        .await;
    let given_up = api.get(COMMENT).await.ok();
    assert_eq!(given_up["state"], "failed");
    assert!(given_up["reason"].as_str().unwrap().contains("discarded"), "{given_up}");
    api.execute("update task_comments set reason = 'ours is unavailable'").await;
    assert_eq!(
        api.get(COMMENT).await.ok()["reason"],
        "ours is unavailable",
        "as far as that is known"
    );
    let approved = api.post(COMMENT, approval(&shown)).await.ok();
    assert_eq!((&approved["state"], &approved["reason"]), (&json!("pending"), &Value::Null));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn comment_omits_private_proposed_and_expired_items() {
    let api = TestApi::start().await;
    task(&api).await;
    let before = api.get(COMMENT).await.ok();
    save(&api, "Of my own", "This concerns nobody else, it is a note of my own.").await;
    save(&api, "Proposed", "This is proposed and was reviewed by nobody yet.").await;
    let of_mine = "update memory_records set visibility = 'private', private_to = (select id from \
        users limit 1)
                   where title = 'Of my own'";
    api.execute(of_mine).await;
    api.execute("update memory_records set visibility = 'proposed' where title = 'Proposed'").await;
    save(&api, "Expired", "This was so until yesterday, and nobody said it again.").await;
    let expired =
        "update memory_records set ttl = now() - interval '1 hour' where title = 'Expired'";
    api.execute(expired).await;
    let after = api.get(COMMENT).await.ok();
    assert_eq!(before["text"], after["text"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn comment_needs_an_active_integration_and_content() {
    let api = TestApi::start().await;
    assert_eq!(api.get(COMMENT).await.fault(404), "external_id");
    let tasks = json!([{"external_id": "redmine#7", "title": "Nil delay"}]);
    api.post("/tasks/sync", json!({ "project_key": "shop", "tasks": tasks })).await.ok();
    assert_eq!(api.get(COMMENT).await.fault(409), "external_id");
    let integration = json!({ "connector": CONNECTOR, "resource": "carts" });
    api.post("/projects/shop/integrations", integration).await.ok();
    api.execute("update tasks set integration_id = (select id from integrations)").await;
    allow(&api).await;
    let shown = api.get(COMMENT).await.ok();
    assert_eq!(api.post(COMMENT, approval(&shown)).await.fault(409), "external_id");
    api.execute("update integrations set is_paused = true").await;
    assert_eq!(
        api.get(COMMENT).await.fault(409),
        "external_id",
        "a paused integration sends no requests"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn viewers_and_agents_approve_nothing() {
    let api = TestApi::start().await;
    task(&api).await;
    allow(&api).await;
    let shown = api.get(COMMENT).await.ok();
    let token = newcomer(&api, "ann").await;
    for (role, status) in [("viewer", 403), ("agent", 403), ("member", 202)] {
        api.put("/projects/shop/members/ann", json!({ "role": role })).await.ok();
        let answer = api.with(&token).post(COMMENT, approval(&shown)).await;
        assert_eq!(answer.status.as_u16(), status, "{role}: {}", answer.body);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deleting_a_task_deletes_its_comment_state() {
    let api = TestApi::start().await;
    task(&api).await;
    allow(&api).await;
    let shown = api.get(COMMENT).await.ok();
    api.post(COMMENT, approval(&shown)).await.ok();
    assert_eq!(api.delete("/tasks/redmine%237?project_key=shop").await.status, 204);
    assert_eq!(api.text("select count(*)::text from task_comments").await, "0");
}
