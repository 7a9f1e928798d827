//! `/tasks` and `/dialogs`.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::accounts::newcomer;
use crate::client::TestApi;

fn sync(title: &str) -> Value {
    json!({"project_key": "shop", "tasks": [
        {"external_id": "CS-214", "title": title, "status": "open", "labels": ["bug"],
         "links": [{"title": "PR", "url": "https://git.example.org/pr/88"}]},
        {"external_id": "org/repo#7", "title": "Second"},
    ]})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repeated_sync_changes_only_differing_tasks() {
    let api = TestApi::start().await;
    let first = api.post("/tasks/sync", sync("Nil delay")).await.ok();
    assert_eq!(first, json!({"created": 2, "updated": 0, "unchanged": 0}));
    let second = api.post("/tasks/sync", sync("Nil trigger delay")).await.ok();
    assert_eq!(second, json!({"created": 0, "updated": 1, "unchanged": 1}));

    let task = api.get("/tasks/CS-214?project_key=shop").await.ok();
    assert_eq!(task["title"], "Nil trigger delay");
    assert_eq!(task["links"][0]["url"], "https://git.example.org/pr/88");
    let second = api.get("/tasks/org%2Frepo%237?project_key=shop").await.ok();
    assert_eq!(second["title"], "Second");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_task_rejects_its_whole_batch() {
    let api = TestApi::start().await;
    let mut request = sync("Nil delay");
    request["tasks"][1]["links"] = json!([{"url": "javascript:alert(1)"}]);
    assert_eq!(api.post("/tasks/sync", request).await.fault(400), "tasks[1].links[0].url");
    assert_eq!(api.get("/tasks/CS-214?project_key=shop").await.fault(404), "external_id");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secret_in_a_task_title_is_masked() {
    let api = TestApi::start().await;
    let key = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    api.post("/tasks/sync", sync(&format!("Rotate {key}"))).await.ok();
    let task = api.get("/tasks/CS-214?project_key=shop").await.ok();
    assert!(!task.to_string().contains(&key), "{task}");
    assert!(task["title"].as_str().unwrap().contains("[secret:"), "{task}");
}

/// A client could add the comment that allows a secret in the source code of a repository.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn allow_comments_have_no_effect_in_api_requests() {
    let api = TestApi::start().await;
    let name = format!("ghp_{} # nosec", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let mut tasks = sync("Nil delay");
    tasks["tasks"][0]["external_id"] = name.as_str().into();
    assert_eq!(api.post("/tasks/sync", tasks).await.fault(400), "tasks[0].external_id");
    let fact = json!({"project_key": "shop", "kind": "fact", "task_external_id": name,
                      "content": "The delay was nil because the two units differed."});
    assert_eq!(api.post("/save", fact).await.fault(400), "task_external_id");
    let pages = json!({"project_key": "shop", "source": name, "documents": [
        {"doc_id": "1", "title": "Units", "content": "# Units\n\nThey differ."}]});
    api.post("/ingest/docs", pages).await.ok();
    for table in ["docs", "audit_events", "passages"] {
        let rows =
            api.text(&format!("select coalesce(json_agg(t)::text, '') from {table} t")).await;
        assert!(!rows.contains("ghp_"), "{table}: {rows}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dialog_is_stored_linked_and_replaced_by_id() {
    let api = TestApi::start().await;
    let dialog = json!({"project_key": "shop", "task_external_id": "CS-214", "developer": "vera",
        "messages": [{"role": "user", "content": "Why is the delay nil?"}],
        "distilled": "The delay was nil because the two units differed."});
    let created = api.post("/dialogs", dialog.clone()).await;
    assert_eq!(created.status, 201);
    let id = created.body["id"].clone();
    let task = api.get("/tasks/CS-214?project_key=shop").await.ok();
    assert_eq!(task["dialog_ids"], json!([id]));
    assert_eq!(task["status"], "unknown");

    let mut again = dialog;
    again["id"] = id.clone();
    assert_eq!(api.post("/dialogs", again.clone()).await.ok()["id"], id);
    assert_eq!(api.get("/projects/shop").await.ok()["dialogs"], 1);

    api.database.project("bank").await;
    again["project_key"] = json!("bank");
    assert_eq!(api.post("/dialogs", again).await.fault(404), "id");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn task_is_linked_to_a_given_dialog_and_to_no_empty_one() {
    let api = TestApi::start().await;
    let link = json!({"project_key": "shop", "task_external_id": "CS-9"});
    for _ in 0..2 {
        let linked = api.post("/tasks/link", link.clone()).await.ok();
        assert_eq!(linked["task"]["external_id"], "CS-9");
        assert_eq!((&linked["records_linked"], linked.get("dialog_id")), (&json!(0), None));
    }
    assert_eq!(api.get("/projects/shop").await.ok()["dialogs"], 0);
    let spoken = json!({"project_key": "shop",
        "messages": [{"role": "user", "content": "Why is the delay nil?"}]});
    let dialog = api.post("/dialogs", spoken).await.ok()["id"].clone();

    let mut named = link.clone();
    named["dialog_id"] = dialog.clone();
    assert_eq!(api.post("/tasks/link", named.clone()).await.ok()["dialog_id"], dialog);
    named["dialog_id"] = json!(Uuid::now_v7());
    named["task_external_id"] = json!("CS-10");
    assert_eq!(api.post("/tasks/link", named).await.fault(404), "dialog_id");
    let untouched = api.get("/tasks/CS-10?project_key=shop").await;
    assert_eq!(untouched.fault(404), "external_id");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_is_linked_by_its_url_or_number() {
    let api = TestApi::start().await;
    let link = |id: &str| json!({"project_key": "shop", "task_external_id": id});
    let linked = async |id: &str| api.post("/tasks/link", link(id)).await;
    let refused = linked("#12").await;
    assert!(refused.body["detail"].to_string().contains("such as owner/name#12"));
    assert_eq!(refused.fault(400), "task_external_id");
    let refused = linked("https://git.example.org/acme/shop").await;
    assert!(refused.body["detail"].to_string().contains("SHOP-12"), "{}", refused.body);
    assert_eq!(refused.fault(400), "task_external_id");

    let url = "https://github.com/acme/shop/issues/12";
    assert_eq!(linked(url).await.ok()["task"]["external_id"], "acme/shop#12");
    for number in ["#12", "#012"] {
        assert_eq!(linked(number).await.ok()["task"]["external_id"], "acme/shop#12");
    }
    let save = json!({ "project_key": "shop", "kind": "fact", "task_external_id": url,
                       "content": "The cart keeps its delay in minutes, not in seconds." });
    let saved = api.post("/save", save.clone()).await.ok();
    let record = format!("/records/{}", saved["id"].as_str().unwrap());
    assert_eq!(api.get(&record).await.ok()["task_external_id"], "acme/shop#12");
    let by_url = json!({ "project_key": "shop", "task_external_id": url });
    let found = api.post("/search", by_url).await.ok();
    assert!(found.to_string().contains("in minutes"), "{found}");
    let encoded = "https%3A%2F%2Fgithub.com%2Facme%2Fshop%2Fissues%2F12";
    let task = api.get(&format!("/tasks/{encoded}?project_key=shop")).await.ok();
    assert_eq!(task["external_id"], "acme/shop#12");
    linked("acme/web#12").await.ok();
    let detail = linked("#12").await.body["detail"].to_string();
    assert!(detail.contains("more than one repository; give the full id"), "{detail}");
    let mut ambiguous = save;
    ambiguous["task_external_id"] = json!("#12");
    assert_eq!(api.post("/save", ambiguous).await.fault(400), "task_external_id");

    let hosted = json!({"project_key": "shop", "location": "https://93.184.215.14/acme/shop.git"});
    api.post("/ingest/git", hosted).await.ok();
    assert_eq!(linked("#13").await.ok()["task"]["external_id"], "acme/shop#13");
    let names = "select string_agg(external_id, ' ' order by external_id) from tasks";
    assert_eq!(api.text(names).await, "acme/shop#12 acme/shop#13 acme/web#12");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_records_are_reported_and_the_others_linked() {
    let api = TestApi::start().await;
    let save = json!({"project_key": "shop", "kind": "fact",
        "content": "The delay is nil while delay_unit and trigger_delay_unit differ."});
    let known = api.post("/save", save).await.ok()["id"].clone();
    let stranger = json!(Uuid::now_v7());
    let link = json!({"project_key": "shop", "task_external_id": "CS-9",
        "record_ids": [stranger, known]});
    let linked = api.post("/tasks/link", link).await.ok();
    assert_eq!(linked["records_linked"], 1);
    assert_eq!(linked["unknown_record_ids"], json!([stranger]));
    let task = api.get("/tasks/CS-9?project_key=shop").await.ok();
    assert_eq!(task["record_ids"], json!([known]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deleted_task_keeps_its_linked_records() {
    let api = TestApi::start().await;
    let ann = newcomer(&api, "ann").await;
    api.put("/projects/shop/members/ann", json!({"role": "member"})).await.ok();
    let (ann, task) = (api.with(&ann), "/tasks/CS-214?project_key=shop");
    assert_eq!(api.delete(task).await.fault(404), "external_id");
    let mut told = sync("Nil delay");
    told["tasks"][0]["assignee"] = "vera".into();
    ann.post("/tasks/sync", told.clone()).await.ok();
    let spoken = json!({"project_key": "shop", "task_external_id": "CS-214",
        "messages": [{"role": "user", "content": "Why is the delay nil?"}]});
    let dialog = ann.post("/dialogs", spoken).await.ok()["id"].clone();
    // As where nothing but links has named it.
    api.execute("update tasks set source_updated_at = null").await;

    assert_eq!(ann.delete(task).await.status, 403);
    assert_eq!(api.delete(task).await.status, 204);
    let left = api.get(task).await.ok();
    assert_eq!((&left["title"], &left["status"]), (&json!(""), &json!("unknown")));
    assert_eq!((&left["labels"], &left["links"]), (&json!([]), &json!([])));
    assert_eq!((&left["assignee"], &left["dialog_ids"]), (&json!(null), &json!([dialog])));
    let since =
        "select (source_updated_at = updated_at)::text from tasks where external_id = 'CS-214'";
    assert_eq!(api.text(since).await, "true", "what was said before does not bring it back");
    let second = api.get("/tasks/org%2Frepo%237?project_key=shop").await.ok();
    assert_eq!(second["title"], "Second");

    ann.post("/tasks/sync", told).await.ok();
    assert_eq!(api.get(task).await.ok()["title"], "Nil delay", "and what is said now does");
}
