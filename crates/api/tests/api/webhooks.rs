//! Webhooks: authentication, storage and processing of deliveries.

use std::time::Duration;

use hmac::{Hmac, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::accounts::newcomer;
use crate::client::{Answer, TestApi};

/// A webhook of the project `shop` as its provider knows it.
pub struct Webhook {
    pub id: String,
    pub path: String,
    pub secret: String,
}

pub async fn webhook(api: &TestApi, source: &str) -> Webhook {
    let made = api.post("/projects/shop/webhooks", json!({ "provider": source })).await.ok();
    let text = |name: &str| made[name].as_str().unwrap().to_owned();
    Webhook { id: text("id"), path: text("url_path"), secret: text("secret") }
}

pub fn signature(secret: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(body);
    format!("sha256={}", hex::encode(mac.finalize().into_bytes()))
}

/// Sends a delivery as GitHub does.
pub async fn github(
    api: &TestApi,
    webhook: &Webhook,
    event: &str,
    id: &str,
    body: &Value,
) -> Answer {
    let body = body.to_string();
    let signature = signature(&webhook.secret, body.as_bytes());
    let headers = [
        ("content-type", "application/json"),
        ("x-github-event", event),
        ("x-github-delivery", id),
        ("x-hub-signature-256", &signature),
    ];
    api.deliver(&webhook.path, &headers, body.as_bytes()).await
}

fn issue(title: &str, updated: &str) -> Value {
    json!({
        "action": "edited",
        "issue": { "number": 7, "title": title, "state": "open", "updated_at": updated,
                   "html_url": "https://git.example.org/shop/core/issues/7",
                   "labels": [{ "name": "bug" }],
                   "assignee": { "login": "vera" }, "body": "It waits for ever." },
        "repository": { "name": "core", "full_name": "shop/core", "default_branch": "main",
                        "html_url": "https://git.example.org/shop/core" },
    })
}

/// Waits until the delivery with this external id is processed, and returns it.
pub async fn processed(api: &TestApi, id: &str) -> Value {
    loop {
        let page = api.get("/projects/shop/webhook-deliveries").await.ok();
        let deliveries = page["items"].as_array().unwrap();
        let found =
            deliveries.iter().find(|one| one["external_id"] == id && one["state"] != "pending");
        if let Some(found) = found {
            return found.clone();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

const TASK: &str = "/tasks/shop%2Fcore%237?project_key=shop";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_event_creates_or_updates_one_task() {
    let api = TestApi::start().await;
    let _work = api.work();
    let webhook = webhook(&api, "github").await;
    let payload = issue("Carts hang", "2026-11-20T10:00:00Z");
    let first = github(&api, &webhook, "issues", "d-1", &payload).await;
    assert_eq!(first.status, 202, "{}", first.body);
    let again = github(&api, &webhook, "issues", "d-1", &payload).await;
    assert_eq!((again.status, &again.body), (first.status, &first.body));
    let delivery = processed(&api, "d-1").await;
    assert_eq!(
        (&delivery["state"], &delivery["event_type"]),
        (&json!("completed"), &json!("issues.edited"))
    );
    let task = api.get(TASK).await.ok();
    assert_eq!((&task["title"], &task["status"]), (&json!("Carts hang"), &json!("open")));
    assert_eq!((&task["assignee"], &task["labels"]), (&json!("vera"), &json!(["bug"])));

    // An older state that arrives later is ignored; a newer one is applied.
    github(&api, &webhook, "issues", "d-0", &issue("Carts are slow", "2026-11-20T09:00:00Z"))
        .await
        .ok();
    assert_eq!(processed(&api, "d-0").await["state"], "ignored");
    assert_eq!(api.get(TASK).await.ok()["title"], "Carts hang");
    github(&api, &webhook, "issues", "d-2", &issue("Carts hang at night", "2026-11-20T11:00:00Z"))
        .await
        .ok();
    assert_eq!(processed(&api, "d-2").await["state"], "completed");
    assert_eq!(api.get(TASK).await.ok()["title"], "Carts hang at night");

    let mut deleted = issue("Carts hang at night", "2026-11-20T11:00:00Z");
    deleted["action"] = "deleted".into();
    github(&api, &webhook, "issues", "d-3", &deleted).await.ok();
    assert_eq!(processed(&api, "d-3").await["state"], "completed");
    let task = api.get(TASK).await.ok();
    assert_eq!((&task["title"], &task["status"]), (&json!(""), &json!("deleted")));
    assert_eq!(api.text("select count(*)::text from webhook_deliveries").await, "4");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hundred_concurrent_copies_are_one_delivery() {
    let api = TestApi::start().await;
    let webhook = webhook(&api, "github").await;
    let payload = issue("Carts hang", "2026-11-20T10:00:00Z");
    let copies = (0..100).map(|_| github(&api, &webhook, "issues", "d-1", &payload));
    for answer in futures::future::join_all(copies).await {
        assert_eq!(answer.ok(), json!({ "external_id": "d-1" }));
    }
    assert_eq!(api.text("select count(*)::text from webhook_deliveries").await, "1");
    let jobs = api.get("/jobs?kind=process_delivery").await.ok();
    assert_eq!(jobs["items"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_signature_is_rejected_and_nothing_is_stored() {
    let api = TestApi::start().await;
    let (webhook, other) = (webhook(&api, "github").await, webhook(&api, "github").await);
    let jira = self::webhook(&api, "jira").await;
    let body = issue("Carts hang", "2026-11-20T10:00:00Z").to_string();
    let good = signature(&webhook.secret, body.as_bytes());
    let truncated = &good[..good.len() - 2];
    let others = signature(&other.secret, body.as_bytes());
    let of_another_body = signature(&webhook.secret, b"{}");
    let bearer = format!("Bearer {}", webhook.secret);
    let event = [("x-github-event", "issues"), ("x-github-delivery", "d-1")];
    let unknown = webhook.path.replace(&webhook.id, "01920000-0000-7000-8000-000000000000");
    let crossed = format!("/webhooks/jira?webhook_id={}", webhook.id);
    let attempts: [(&str, Vec<(&str, &str)>); 9] = [
        (&webhook.path, vec![]),
        (&webhook.path, vec![("x-hub-signature-256", "")]),
        (&webhook.path, vec![("x-hub-signature-256", truncated)]),
        (&webhook.path, vec![("x-hub-signature-256", &others)]),
        (&webhook.path, vec![("x-hub-signature-256", &of_another_body)]),
        (&webhook.path, vec![("x-hub-signature", &good)]),
        (&webhook.path, vec![("authorization", &bearer)]),
        (&unknown, vec![("x-hub-signature-256", &good)]),
        (&crossed, vec![("authorization", &bearer)]),
    ];
    let mut said = Vec::new();
    for (path, headers) in attempts {
        let headers = [&event[..], &headers[..]].concat();
        let answer = api.deliver(path, &headers, body.as_bytes()).await;
        answer.fault(403);
        said.push(answer.body["detail"].clone());
    }
    said.dedup();
    assert_eq!(said.len(), 1, "nobody learns which hooks there are: {said:?}");
    // A git host's address is none of the trackers', and theirs is none of its.
    let answer =
        api.deliver(&format!("/webhooks/github?webhook_id={}", webhook.id), &event, b"{}").await;
    assert_eq!(answer.fault(400), "provider");
    let jira = format!("/ingest/git?webhook_id={}", jira.id);
    api.deliver(&jira, &[("authorization", &bearer)], b"{}").await.fault(403);
    assert_eq!(api.text("select count(*)::text from webhook_deliveries").await, "0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn previous_secret_is_valid_until_it_expires() {
    let api = TestApi::start().await;
    let old = webhook(&api, "github").await;
    let rotate = format!("/projects/shop/webhooks/{}/rotate-secret", old.id);
    let rotated = api.post(&rotate, json!({ "previous_secret_ttl_hours": 1 })).await.ok();
    let new = Webhook {
        id: old.id.clone(),
        path: rotated["url_path"].as_str().unwrap().to_owned(),
        secret: rotated["secret"].as_str().unwrap().to_owned(),
    };
    let ping = json!({ "zen": "Keep it logically awesome.", "webhook_id": 1 });
    for (id, webhook) in [("d-1", &old), ("d-2", &new)] {
        assert_eq!(github(&api, webhook, "ping", id, &ping).await.status, 202);
    }
    assert!(
        api.get("/projects/shop/webhooks").await.ok()["items"][0]["previous_secret_expires_at"]
            .is_string()
    );
    // The previous secret has expired.
    api.execute("update webhooks set previous_secret_expires_at = now() - interval '1 second'")
        .await;
    github(&api, &old, "ping", "d-3", &ping).await.fault(403);
    api.post(&rotate, json!({ "previous_secret_ttl_hours": 0 })).await.ok();
    github(&api, &new, "ping", "d-4", &ping).await.fault(403);
    assert_eq!(
        api.post(&rotate, json!({ "previous_secret_ttl_hours": 169 })).await.fault(400),
        "previous_secret_ttl_hours"
    );
    assert_eq!(api.post(&rotate, json!({ "secret": "too short" })).await.fault(400), "secret");
    let git = api.post("/projects/shop/webhooks", json!({ "provider": "git" })).await;
    assert_eq!(git.fault(400), "provider", "git itself sends nothing");
    let own = json!({ "provider": "gitlab", "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLjSw" });
    let own = api.post("/projects/shop/webhooks", own).await.ok();
    assert_eq!(own["secret"], "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLjSw");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ignored_delivery_has_a_reason_and_can_be_replayed() {
    let api = TestApi::start().await;
    let webhook = webhook(&api, "github").await;
    github(&api, &webhook, "no_such_event", "d-1", &json!({ "a": 1 })).await.ok();
    let ignored = processed(&api, "d-1").await;
    assert_eq!(ignored["state"], "ignored");
    assert!(!ignored["outcome"].as_str().unwrap().is_empty());

    let _work = api.work();
    let payload = json!({
        "ref": "refs/heads/main", "before": "1".repeat(40), "after": "2".repeat(40),
        "forced": false,
        "repository": { "full_name": "shop/core", "default_branch": "main",
                        "clone_url": "https://git.example.org/shop/core.git",
                        "html_url": "https://git.example.org/shop/core" },
        "commits": [],
    });
    github(&api, &webhook, "push", "d-2", &payload).await.ok();
    let pushed = processed(&api, "d-2").await;
    assert_eq!(pushed["outcome"], "the project has not indexed that repository");
    let location = "https://git.example.org/shop/core";
    let git = json!({ "project_key": "shop", "location": location });
    api.post("/ingest/git", git).await.ok();
    api.execute("update ingest_runs set status = 'SUCCEEDED'").await;
    let replay =
        format!("/projects/shop/webhook-deliveries/{}/replay", pushed["id"].as_str().unwrap());
    assert_eq!(api.post(&replay, json!({})).await.status, 202);
    let pushed = processed(&api, "d-2").await;
    assert_eq!(
        (&pushed["state"], &pushed["outcome"]),
        (&json!("completed"), &json!("enqueued an index run of repo:shop/core"))
    );
    let queued = api.text("select count(*)::text from ingest_runs where status = 'QUEUED'").await;
    assert_eq!(queued, "1");

    // A push to another branch, or its deletion, requests no index run.
    for (id, name, value, outcome) in [
        ("d-3", "ref", json!("refs/heads/wip"), "the push is not to the indexed branch"),
        (
            "d-4",
            "after",
            json!("0".repeat(40)),
            "the branch was deleted; its index stays until another branch is indexed",
        ),
    ] {
        let mut payload = payload.clone();
        payload[name] = value;
        github(&api, &webhook, "push", id, &payload).await.ok();
        assert_eq!(processed(&api, id).await["outcome"], outcome);
    }
    let queued = api.text("select count(*)::text from ingest_runs where status = 'QUEUED'").await;
    assert_eq!(queued, "1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failing_delivery_blocks_no_other_and_can_be_replayed() {
    let api = TestApi::start().await;
    let webhook = webhook(&api, "github").await;
    api.execute(
        "create function refuse() returns trigger language plpgsql as $$ begin raise exception \
         'no'; end $$",
    )
    .await;
    api.execute(
        "create trigger refuse before insert on tasks for each row when (new.title = 'Broken')
         execute function refuse()",
    )
    .await;
    // All deliveries are pending before the workers start.
    let push = json!({ "ref": "refs/heads/main", "after": "2".repeat(40), "repository": {
        "full_name": "shop/core", "default_branch": "main",
        "clone_url": "https://git.example.org/shop/core" } });
    github(&api, &webhook, "push", "d-0", &push).await.ok();
    for (at, (number, title)) in
        [(1, "One"), (1, "Once"), (1, "Once"), (2, "Broken"), (3, "Three")].into_iter().enumerate()
    {
        let mut payload = issue(title, &format!("2026-11-20T10:{at:02}:00Z"));
        payload["issue"]["number"] = json!(number);
        github(&api, &webhook, "issues", &format!("d-{}", at + 1), &payload).await.ok();
        if number == 2 {
            github(&api, &webhook, "push", "d-p", &push).await.ok();
        }
    }
    let _work = api.work();
    for (id, state, outcome) in [
        ("d-0", "ignored", "the project has not indexed that repository"),
        ("d-1", "completed", "created the task"),
        ("d-2", "completed", "updated the task"),
        ("d-3", "ignored", "the task is already at this version or a newer one"),
        ("d-p", "ignored", "the project has not indexed that repository"),
        ("d-5", "completed", "created the task"),
    ] {
        let came = processed(&api, id).await;
        assert_eq!((&came["state"], &came["outcome"]), (&json!(state), &json!(outcome)), "{id}");
    }
    let failed = processed(&api, "d-4").await;
    assert_eq!(failed["state"], "failed");
    let listed = api.get("/projects/shop/webhook-deliveries?state=failed").await.ok();
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);

    api.execute("drop trigger refuse on tasks").await;
    let replay =
        format!("/projects/shop/webhook-deliveries/{}/replay", failed["id"].as_str().unwrap());
    assert_eq!(api.post(&replay, json!({})).await.status, 202);
    assert_eq!(processed(&api, "d-4").await["state"], "completed");
    let task = api.get("/tasks/shop%2Fcore%232?project_key=shop").await.ok();
    assert_eq!(task["title"], "Broken");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jira_delivery_is_accepted_with_a_bearer_token() {
    let api = TestApi::start().await;
    let _work = api.work();
    let webhook = webhook(&api, "jira").await;
    let payload = json!({ "webhookEvent": "jira:issue_updated", "timestamp": 1, "issue": {
        "id": "1", "key": "CS-9", "self": "https://jira.example.org/rest/api/2/issue/1",
        "fields": { "summary": "Carts hang", "status": { "name": "Open" }, "labels": ["bug"],
                    "updated": "2026-11-20T10:00:00.000+0000" } } });
    let bearer = format!("Bearer {}", webhook.secret);
    // Jira appends the user to the URL.
    let path = format!("{}&user_id=vera&user_key=vera", webhook.path);
    let headers = [("authorization", bearer.as_str()), ("x-atlassian-webhook-identifier", "j-1")];
    let answer = api.deliver(&path, &headers, payload.to_string().as_bytes()).await;
    assert_eq!(answer.ok(), json!({ "external_id": "j-1" }));
    processed(&api, "j-1").await;
    let task = api.get("/tasks/CS-9?project_key=shop").await.ok();
    assert_eq!((&task["title"], &task["status"]), (&json!("Carts hang"), &json!("Open")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn body_size_is_limited_and_invalid_json_is_reported() {
    let api = TestApi::start().await;
    let webhook = webhook(&api, "github").await;
    let most = 25 * 1024 * 1024;
    let filled = |bytes: usize| {
        let frame = r#"{"zen":""}"#.len();
        format!(r#"{{"zen":"{}"}}"#, "x".repeat(bytes - frame))
    };
    let send = async |body: String, id: &str| {
        let signature = signature(&webhook.secret, body.as_bytes());
        let headers = [
            ("content-type", "application/json"),
            ("x-github-event", "ping"),
            ("x-github-delivery", id),
            ("x-hub-signature-256", &signature),
        ];
        api.deliver(&webhook.path, &headers, body.as_bytes()).await
    };
    assert_eq!(send(filled(most), "d-1").await.status, 202);
    // The response to a too large body does not reveal whether the webhook exists.
    let unknown = webhook.path.replace(&webhook.id, "01920000-0000-7000-8000-000000000000");
    let length = (most + 1).to_string();
    for path in [&webhook.path, &unknown] {
        let large = filled(most + 1);
        let declared = [("content-length", length.as_str())];
        api.deliver(path, &declared, large.as_bytes()).await.fault(413);
        api.deliver(path, &[], large.as_bytes()).await.fault(403);
    }
    assert_eq!(send("{\"zen\": ".to_owned(), "d-3").await.fault(400), "body");
    assert_eq!(send("{\"a\":".repeat(100_000), "d-4").await.fault(400), "body");
    assert_eq!(api.text("select count(*)::text from webhook_deliveries").await, "1");
    // A body of an unknown shape is accepted: the provider could not fix it.
    assert_eq!(send("[1]".to_owned(), "d-5").await.status, 202);
    assert_eq!(processed(&api, "d-5").await["event_type"], "unreadable");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_maintainers_manage_webhooks_of_their_project() {
    let api = TestApi::start().await;
    let webhook = webhook(&api, "github").await;
    github(&api, &webhook, "ping", "d-1", &json!({ "zen": "x" })).await.ok();
    let delivery = processed(&api, "d-1").await["id"].as_str().unwrap().to_owned();
    let ann = newcomer(&api, "ann").await;
    api.put("/projects/shop/members/ann", json!({ "role": "member" })).await.ok();
    let ann = api.with(&ann);
    for path in ["/projects/shop/webhooks", "/projects/shop/webhook-deliveries"] {
        assert_eq!(ann.get(path).await.status, 403, "{path}");
    }
    let shown = format!("/projects/shop/webhook-deliveries/{delivery}");
    assert_eq!(ann.get(&shown).await.status, 403);
    let one = format!("/projects/shop/webhooks/{}", webhook.id);
    assert_eq!(ann.delete(&one).await.status, 403);
    assert_eq!(ann.post(&format!("{one}/rotate-secret"), json!({})).await.status, 403);

    api.post("/projects", json!({ "key": "bank" })).await.ok();
    let elsewhere = format!("/projects/bank/webhooks/{}", webhook.id);
    assert_eq!(api.delete(&elsewhere).await.fault(404), "id");
    assert_eq!(api.post(&format!("{elsewhere}/rotate-secret"), json!({})).await.fault(404), "id");
    let elsewhere = format!("/projects/bank/webhook-deliveries/{delivery}");
    assert_eq!(api.get(&elsewhere).await.fault(404), "id");
    assert_eq!(api.post(&format!("{elsewhere}/replay"), json!({})).await.fault(404), "id");

    assert_eq!(api.delete(&one).await.status, 204);
    github(&api, &webhook, "ping", "d-2", &json!({ "zen": "x" })).await.fault(403);
    let events = api.get("/audit?project_key=shop").await.ok();
    let changes = events["items"].as_array().unwrap().iter();
    let changes: Vec<_> = changes
        .filter(|event| event["action"] == "webhook.changed")
        .map(|event| event["details"]["change"].clone())
        .collect();
    assert_eq!(changes, [json!("deleted"), json!("created")]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn out_of_order_deliveries_keep_the_newest_state() {
    let api = TestApi::start().await;
    let _work = api.work();
    let webhook = webhook(&api, "jira").await;
    let bearer = format!("Bearer {}", webhook.secret);
    let deliver = async |id: &str, event: &str, fields: Value| {
        let payload =
            json!({ "webhookEvent": event, "issue": { "key": "CS-9", "fields": fields } });
        let headers = [("authorization", bearer.as_str()), ("x-atlassian-webhook-identifier", id)];
        let answer = api.deliver(&webhook.path, &headers, payload.to_string().as_bytes()).await;
        assert_eq!(answer.status, 202, "{}", answer.body);
        processed(&api, id).await
    };
    let at = |minute: u32| format!("2026-11-20T10:{minute:02}:00.000+0000");
    let fields = |title: &str, minute: u32| {
        json!({ "summary": title, "status": { "name": "Open" }, "labels": ["bug"],
                "assignee": { "displayName": "Vera" }, "updated": at(minute) })
    };
    // The title changed and changed back; the state in between arrives last.
    deliver("j-1", "jira:issue_updated", fields("one", 1)).await;
    assert_eq!(deliver("j-3", "jira:issue_updated", fields("one", 3)).await["state"], "ignored");
    assert_eq!(deliver("j-2", "jira:issue_updated", fields("other", 2)).await["state"], "ignored");
    let task = api.get("/tasks/CS-9?project_key=shop").await.ok();
    assert_eq!(task["title"], "one");

    // A comment event has no labels and no assignee; an issue event without them clears them.
    let said = json!({ "summary": "two", "status": { "name": "Done" }, "updated": at(4) });
    deliver("j-4", "comment_created", said.clone()).await;
    let task = api.get("/tasks/CS-9?project_key=shop").await.ok();
    assert_eq!((&task["title"], &task["status"]), (&json!("two"), &json!("Done")));
    assert_eq!((&task["labels"], &task["assignee"]), (&json!(["bug"]), &json!("Vera")));
    deliver("j-5", "jira:issue_updated", said).await;
    let task = api.get("/tasks/CS-9?project_key=shop").await.ok();
    assert_eq!((&task["labels"], &task["assignee"]), (&json!([]), &Value::Null));

    // An issue deleted before its first event stays deleted.
    api.execute("delete from tasks").await;
    assert_eq!(deliver("j-6", "jira:issue_deleted", json!({})).await["state"], "completed");
    assert_eq!(deliver("j-7", "jira:issue_updated", fields("late", 5)).await["state"], "ignored");
    let task = api.get("/tasks/CS-9?project_key=shop").await.ok();
    assert_eq!((&task["title"], &task["status"]), (&json!(""), &json!("deleted")));

    // A restricted issue stays withheld: a comment event does not have the issue's visibility.
    let withheld = json!({ "summary": "secret", "security": { "id": "1" }, "updated": at(50) });
    deliver("j-8", "jira:issue_updated", withheld).await;
    let later = "2037-01-01T00:00:00.000+0000";
    let said = json!({ "summary": "secret", "status": { "name": "Open" }, "updated": later });
    assert_eq!(deliver("j-9", "comment_created", said.clone()).await["state"], "ignored");
    let task = api.get("/tasks/CS-9?project_key=shop").await.ok();
    assert_eq!(task["title"], "");
    deliver("j-10", "jira:issue_updated", said).await;
    assert_eq!(api.get("/tasks/CS-9?project_key=shop").await.ok()["title"], "secret");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replay_under_another_id_has_no_effect() {
    let api = TestApi::start().await;
    let _work = api.work();
    let webhook = webhook(&api, "github").await;
    let mut deleted = issue("Carts hang", "2026-11-20T10:00:00Z");
    deleted["action"] = "deleted".into();
    github(&api, &webhook, "issues", "d-1", &deleted).await.ok();
    assert_eq!(processed(&api, "d-1").await["state"], "completed");
    github(&api, &webhook, "issues", "d-2", &issue("Back again", "2030-11-20T11:00:00Z"))
        .await
        .ok();
    assert_eq!(processed(&api, "d-2").await["state"], "completed");
    // The response is the same, and the issue stays.
    let again = github(&api, &webhook, "issues", "d-3", &deleted).await;
    assert_eq!(again.status, 202);
    assert_eq!(again.body, json!({ "external_id": "d-3" }));
    assert_eq!(api.text("select count(*)::text from webhook_deliveries").await, "2");
    assert_eq!(api.get(TASK).await.ok()["title"], "Back again");
    // Another webhook has its own deliveries, and a body without a timestamp may be repeated.
    let other = self::webhook(&api, "github").await;
    github(&api, &other, "issues", "d-3", &deleted).await.ok();
    let mut timeless = issue("Carts hang", "");
    timeless["issue"]["updated_at"] = Value::Null;
    github(&api, &webhook, "issues", "d-4", &timeless).await.ok();
    github(&api, &webhook, "issues", "d-5", &timeless).await.ok();
    assert_eq!(api.text("select count(*)::text from webhook_deliveries").await, "5");
}
