//! Pull requests, CI results, comments, releases and wikis, received by webhooks.

use mc_memory::export;
use serde_json::{Value, json};

use crate::client::TestApi;
use crate::webhooks::{Webhook, github, processed, webhook};

const NOTE: &str = "The delay is nil when delay_unit and trigger_delay_unit differ";

fn sha(digit: &str) -> String {
    digit.repeat(40)
}

fn at(minute: u32) -> String {
    format!("2026-11-20T10:{minute:02}:00Z")
}

fn repository() -> Value {
    json!({ "name": "core", "full_name": "shop/core", "default_branch": "main",
            "clone_url": "https://git.example.org/shop/core.git",
            "html_url": "https://git.example.org/shop/core" })
}

/// A pull request with this head; merged by that of 9s.
fn pull(action: &str, head: &str, minute: u32) -> Value {
    let is_merged = action == "closed";
    json!({
        "action": action, "repository": repository(),
        "pull_request": {
            "number": 12, "title": "Mend the delay", "body": "Fixes #7 for CS-214.",
            "state": if is_merged { "closed" } else { "open" }, "merged": is_merged,
            "merge_commit_sha": sha("9"), "user": { "login": "vera" }, "updated_at": at(minute),
            "head": { "ref": "delay", "sha": head }, "base": { "ref": "main" },
            "html_url": "https://git.example.org/shop/core/pull/12",
        },
    })
}

/// A check of a commit; without a conclusion it is in progress.
fn check(name: &str, sha: &str, conclusion: Option<&str>, minute: u32) -> Value {
    let status = if conclusion.is_some() { "completed" } else { "in_progress" };
    json!({
        "action": status, "repository": repository(),
        "check_run": { "id": 4, "name": name, "head_sha": sha, "status": status,
                       "conclusion": conclusion, "started_at": at(minute),
                       "completed_at": conclusion.map(|_| at(minute)),
                       "html_url": "https://git.example.org/runs/4" },
    })
}

/// Delivers the events one after the other and returns the last delivery, once processed.
async fn deliver(api: &TestApi, webhook: &Webhook, events: &[(&str, Value)]) -> Value {
    let mut last = Value::Null;
    for (event, body) in events {
        let id = uuid::Uuid::new_v4().to_string();
        github(api, webhook, event, &id, body).await.ok();
        last = processed(api, &id).await;
    }
    last
}

async fn save(api: &TestApi, patch: &str) -> String {
    let note = json!({ "project_key": "shop", "kind": "gotcha", "content": NOTE,
                       "scope": ["cart_sessions"], "meta": { "patch_sha": patch } });
    api.post("/save", note).await.ok()["id"].as_str().unwrap().to_owned()
}

async fn ci_of(api: &TestApi, record: &str) -> Value {
    api.get(&format!("/records/{record}")).await.ok()["ci_status"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pull_request_is_one_row_in_any_order_of_events() {
    let api = TestApi::start().await;
    let _work = api.work();
    let webhook = webhook(&api, "github").await;
    let issue = json!({ "action": "opened", "repository": repository(),
        "issue": { "number": 7, "title": "The delay is nil", "state": "open",
        "updated_at": at(0) } });
    let merged = deliver(
        &api,
        &webhook,
        &[("issues", issue), ("pull_request", pull("closed", &sha("b"), 5))],
    )
    .await;
    assert_eq!(
        (&merged["state"], &merged["event_type"]),
        (&json!("completed"), &json!("pull_request.closed"))
    );
    let late = deliver(&api, &webhook, &[("pull_request", pull("opened", &sha("a"), 1))]).await;
    assert_eq!(late["state"], "ignored");

    let listed = api.get("/projects/shop/pull-requests").await.ok();
    let change = &listed["items"][0];
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    let expected = json!({
        "id": change["id"], "external_id": "shop/core!12", "title": "Mend the delay",
        "state": "merged",
        "author": "vera", "head_sha": sha("b"), "merge_sha": sha("9"), "base_ref": "main",
        "url": "https://git.example.org/shop/core/pull/12", "task_external_ids": ["shop/core#7"],
        "source_updated_at": at(5), "closed_at": at(5), "merged_at": at(5),
    });
    assert_eq!(change, &expected, "of the keys only those of tasks that there are");
    let task = api.get("/tasks/shop%2Fcore%237?project_key=shop").await.ok();
    assert_eq!(task["pull_requests"], json!([expected]));
    for (query, found) in [
        ("state=merged", 1),
        ("state=open", 0),
        ("task_external_id=shop%2Fcore%237", 1),
        ("task_external_id=CS-214", 1),
        ("task_external_id=CS-1", 0),
    ] {
        let listed = api.get(&format!("/projects/shop/pull-requests?{query}")).await.ok();
        assert_eq!(listed["items"].as_array().unwrap().len(), found, "{query}");
    }
    let unknown = "/projects/shop/pull-requests/01920000-0000-7000-8000-000000000000";
    assert_eq!(api.get(unknown).await.fault(404), "id");
    let events = api.get("/audit?project_key=shop").await.ok();
    assert!(
        events["items"]
            .as_array()
            .unwrap()
            .iter()
            .any(|one| one["action"] == "pull_requests.synced")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_review_of_each_reviewer_counts() {
    let api = TestApi::start().await;
    let _work = api.work();
    let webhook = webhook(&api, "github").await;
    let review = |who: &str, state: &str, minute: u32| {
        let mut payload = pull("submitted", &sha("a"), minute);
        payload["review"] = json!({ "id": minute, "user": { "login": who }, "state": state,
        "body": null,
                                 "submitted_at": at(minute) });
        ("pull_request_review", payload)
    };
    let shown = async || {
        api.get("/projects/shop/pull-requests").await.ok()["items"][0]["review_state"].clone()
    };
    deliver(&api, &webhook, &[review("ann", "approved", 4), review("bo", "changes_requested", 3)])
        .await;
    assert_eq!(shown().await, "changes_requested");
    // An earlier review by Bo that arrives later changes nothing.
    deliver(&api, &webhook, &[review("bo", "approved", 2)]).await;
    assert_eq!(shown().await, "changes_requested");
    deliver(&api, &webhook, &[review("bo", "approved", 5), review("cy", "commented", 6)]).await;
    assert_eq!(shown().await, "approved");
    deliver(&api, &webhook, &[review("ann", "dismissed", 7), review("bo", "dismissed", 8)]).await;
    assert_eq!(shown().await, Value::Null);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ci_result_applies_before_or_after_the_save() {
    let api = TestApi::start().await;
    let _work = api.work();
    let webhook = webhook(&api, "github").await;
    // The result first.
    deliver(&api, &webhook, &[("check_run", check("build", &sha("a"), Some("success"), 1))]).await;
    let record = save(&api, &sha("A")).await;
    assert_eq!(ci_of(&api, &record).await, "passed");
    // The record first; nothing ended yet.
    deliver(&api, &webhook, &[("check_run", check("lint", &sha("a"), None, 2))]).await;
    assert_eq!(ci_of(&api, &record).await, "passed");
    deliver(&api, &webhook, &[("check_run", check("lint", &sha("a"), Some("failure"), 3))]).await;
    assert_eq!(ci_of(&api, &record).await, "failed");
    // A restarted check keeps its failure until it passes; an older failure that arrives later is
    // ignored.
    deliver(&api, &webhook, &[("check_run", check("lint", &sha("a"), None, 4))]).await;
    assert_eq!(ci_of(&api, &record).await, "failed");
    deliver(&api, &webhook, &[("check_run", check("lint", &sha("a"), Some("success"), 5))]).await;
    let late =
        deliver(&api, &webhook, &[("check_run", check("lint", &sha("a"), Some("timed_out"), 4))])
            .await;
    assert_eq!((&late["state"], ci_of(&api, &record).await), (&json!("ignored"), json!("passed")));

    let recalled = api
        .post(
            "/recall",
            json!({ "project_key": "shop", "query": "why is the trigger delay nil?",
              "repo_path": "app/services/cart_sessions", "time_budget_ms": 20_000 }),
        )
        .await
        .ok();
    assert_eq!(recalled["gotchas"][0]["ci_status"], "passed", "{recalled}");
    let listed = api.get("/records?project_key=shop").await.ok();
    assert_eq!(listed["items"][0]["ci_status"], "passed");
    assert_eq!(export::exported(listed["items"][0].clone())["ci_status"], "passed");
    let stored = export::team_records(api.background(), api.shop().await).await.unwrap();
    assert_eq!(stored[0]["ci_status"], "passed", "{stored:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_result_of_a_merge_counts_more_than_earlier_ones() {
    let api = TestApi::start().await;
    let _work = api.work();
    let webhook = webhook(&api, "github").await;
    let record = save(&api, &sha("1")).await;
    deliver(&api, &webhook, &[("check_run", check("build", &sha("1"), Some("failure"), 1))]).await;
    assert_eq!(ci_of(&api, &record).await, "failed");
    // It was pushed with the last commit of the pull request, whose event arrives before the push.
    deliver(&api, &webhook, &[("pull_request", pull("synchronize", &sha("2"), 2))]).await;
    deliver(&api, &webhook, &[("check_run", check("build", &sha("2"), Some("success"), 3))]).await;
    assert_eq!(ci_of(&api, &record).await, "failed", "nothing says whose it is");
    let push = json!({ "ref": "refs/heads/delay", "after": sha("2"), "repository": repository(),
                       "commits": [{ "id": sha("1") }, { "id": sha("2") }] });
    let pushed = deliver(&api, &webhook, &[("push", push)]).await;
    assert_eq!(pushed["state"], "completed", "{pushed}");
    assert_eq!(ci_of(&api, &record).await, "passed");
    // Merged, it fails; and then the base is mended.
    deliver(&api, &webhook, &[("pull_request", pull("closed", &sha("2"), 4))]).await;
    assert_eq!(ci_of(&api, &record).await, "passed");
    deliver(&api, &webhook, &[("check_run", check("build", &sha("9"), Some("failure"), 5))]).await;
    assert_eq!(ci_of(&api, &record).await, "failed");
    deliver(&api, &webhook, &[("check_run", check("build", &sha("9"), Some("success"), 6))]).await;
    assert_eq!(ci_of(&api, &record).await, "passed");

    let id = api.get("/projects/shop/pull-requests").await.ok()["items"][0]["id"].clone();
    let change =
        api.get(&format!("/projects/shop/pull-requests/{}", id.as_str().unwrap())).await.ok();
    assert_eq!((&change["ci_status"], &change["record_ids"]), (&json!("passed"), &json!([record])));
    let results: Vec<_> =
        change["ci_results"].as_array().unwrap().iter().map(|one| &one["sha"]).collect();
    assert_eq!(results, [&json!(sha("9")), &json!(sha("2"))]);
}

/// The pull request of that number with this head; where it is merged, by that commit.
fn numbered(
    number: u64,
    action: &str,
    head: &str,
    merge: &str,
    minute: u32,
) -> (&'static str, Value) {
    let mut payload = pull(action, &sha(head), minute);
    payload["pull_request"]["number"] = number.into();
    payload["pull_request"]["merge_commit_sha"] = sha(merge).into();
    ("pull_request", payload)
}

/// A push of these commits, as of a host that doesn't say which of them are new.
fn push(head: &str, commits: &[&str]) -> (&'static str, Value) {
    let commits: Vec<_> = commits.iter().map(|id| json!({ "id": sha(id) })).collect();
    let payload = json!({ "ref": "refs/heads/x", "after": sha(head), "repository": repository(),
                       "commits": commits });
    ("push", payload)
}

fn ended(sha_of: &str, how: &str, minute: u32) -> (&'static str, Value) {
    ("check_run", check("build", &sha(sha_of), Some(how), minute))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_result_is_listed_once_if_the_head_is_the_merge_commit() {
    let api = TestApi::start().await;
    let _work = api.work();
    let webhook = webhook(&api, "github").await;
    deliver(&api, &webhook, &[numbered(12, "closed", "4", "4", 1), ended("4", "success", 2)]).await;
    let id = api.get("/projects/shop/pull-requests").await.ok()["items"][0]["id"].clone();
    let change =
        api.get(&format!("/projects/shop/pull-requests/{}", id.as_str().unwrap())).await.ok();
    assert_eq!(change["merge_sha"], change["head_sha"]);
    assert_eq!(change["ci_results"].as_array().unwrap().len(), 1, "{change}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pull_request_with_commits_of_another_does_not_count() {
    let api = TestApi::start().await;
    let _work = api.work();
    let webhook = webhook(&api, "github").await;
    let record = save(&api, &sha("1")).await;
    let events = [
        numbered(12, "opened", "1", "0", 1),
        numbered(13, "opened", "2", "0", 2),
        push("2", &["1", "2"]),
        ended("2", "success", 3),
    ];
    deliver(&api, &webhook, &events).await;
    assert_eq!(ci_of(&api, &record).await, Value::Null, "its own has not ended");
    deliver(&api, &webhook, &[ended("1", "failure", 4)]).await;
    assert_eq!(ci_of(&api, &record).await, "failed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn merged_pull_request_of_a_patch_precedes_the_first() {
    let api = TestApi::start().await;
    let _work = api.work();
    let webhook = webhook(&api, "github").await;
    let record = save(&api, &sha("3")).await;
    let events = [
        push("5", &["3", "4", "5"]),
        numbered(15, "opened", "5", "0", 5),
        push("4", &["3", "4"]),
        numbered(14, "opened", "4", "0", 6),
        ended("5", "success", 7),
        ended("4", "failure", 7),
    ];
    deliver(&api, &webhook, &events).await;
    assert_eq!(ci_of(&api, &record).await, "passed");
    let events = [numbered(14, "closed", "4", "6", 8), numbered(15, "edited", "5", "0", 9)];
    deliver(&api, &webhook, &events).await;
    assert_eq!(ci_of(&api, &record).await, "failed");
}

fn comment(id: u64, text: &str, action: &str, minute: u32) -> (&'static str, Value) {
    let payload = json!({
        "action": action, "repository": repository(),
        "issue": { "number": 7, "title": "The delay is nil", "state": "open", "updated_at": at(0),
                   "html_url": "https://git.example.org/shop/core/issues/7" },
        "comment": { "id": id, "user": { "login": "vera" }, "body": text,
                     "created_at": at(u32::try_from(id).unwrap()), "updated_at": at(minute) },
    });
    ("issue_comment", payload)
}

/// What the project has of the issue's comments.
async fn comments(api: &TestApi) -> Option<String> {
    let opened = api.get("/documents/lookup?project_key=shop&title=The%20delay%20is%20nil").await;
    (opened.status == 200).then(|| opened.body["content"].as_str().unwrap().to_owned())
}

async fn import_comments(api: &TestApi) {
    let policy = json!({ "trackers": {"import_comments": true } });
    api.put_if("/projects/shop/policy", "*", policy).await.ok();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn comments_are_imported_only_if_the_policy_allows_it() {
    let api = TestApi::start().await;
    let _work = api.work();
    let webhook = webhook(&api, "github").await;
    deliver(&api, &webhook, &[comment(3, "Not in May.", "created", 3)]).await;
    assert_eq!(comments(&api).await, None);
    let kept = api.text("select string_agg(event::text, '') from webhook_deliveries").await;
    assert!(!kept.contains("May"), "{kept}");

    import_comments(&api).await;
    deliver(
        &api,
        &webhook,
        &[
            comment(2, "Seen with ghp_16C7e42F292c6912E7710c838347Ae178B4a.", "created", 2),
            comment(1, "Since the release of June.", "edited", 4),
            comment(1, "Since the release of May.", "created", 1),
        ],
    )
    .await;
    let said = comments(&api).await.unwrap();
    assert!(said.starts_with("vera: Since the release of June.\n\nvera: Seen with ["), "{said}");
    let query =
        json!({ "project_key": "shop", "query": "since which release?", "sources": ["doc"] });
    let found = api.post("/search", query).await.ok();
    assert!(found.to_string().contains("June") && !found.to_string().contains("ghp_"), "{found}");

    // A deleted comment stays deleted despite late events; the last one deletes the document.
    deliver(
        &api,
        &webhook,
        &[comment(1, "", "deleted", 4), comment(1, "Since June.", "edited", 3)],
    )
    .await;
    assert!(comments(&api).await.unwrap().starts_with("vera: Seen with"));
    deliver(&api, &webhook, &[comment(2, "", "deleted", 5)]).await;
    assert_eq!(comments(&api).await, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn imported_comments_stay_when_the_import_is_disabled() {
    let api = TestApi::start().await;
    let _work = api.work();
    let webhook = webhook(&api, "github").await;
    import_comments(&api).await;
    deliver(&api, &webhook, &[comment(1, "Since the release of May.", "created", 1)]).await;
    let policy = json!({ "trackers": {"import_comments": false } });
    api.put_if("/projects/shop/policy", "*", policy).await.ok();
    deliver(&api, &webhook, &[comment(2, "Mended by the new timer.", "created", 2)]).await;
    assert_eq!(comments(&api).await.unwrap(), "vera: Since the release of May.");
    deliver(&api, &webhook, &[comment(1, "", "deleted", 3)]).await;
    assert_eq!(comments(&api).await, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn comments_are_deleted_with_their_issue() {
    let api = TestApi::start().await;
    let _work = api.work();
    let webhook = webhook(&api, "github").await;
    import_comments(&api).await;
    deliver(&api, &webhook, &[comment(1, "Since the release of May.", "created", 1)]).await;
    assert!(comments(&api).await.is_some());
    let forgotten = api.delete("/tasks/shop%2Fcore%237?project_key=shop").await;
    assert_eq!(forgotten.status, 204);
    assert_eq!(comments(&api).await, None);
    // No earlier event restores it.
    let replayed =
        api.get("/projects/shop/webhook-deliveries").await.ok()["items"][0]["id"].clone();
    let replay = format!("/projects/shop/webhook-deliveries/{}/replay", replayed.as_str().unwrap());
    assert_eq!(api.post(&replay, json!({})).await.status, 202);
    deliver(&api, &webhook, &[comment(2, "Mended by the new timer.", "created", 2)]).await;
    assert_eq!(comments(&api).await.unwrap(), "vera: Mended by the new timer.");
    let (_, mut deleted) = comment(2, "", "deleted", 9);
    deleted["comment"] = Value::Null;
    deleted.as_object_mut().unwrap().remove("comment");
    deliver(&api, &webhook, &[("issues", deleted)]).await;
    assert_eq!(comments(&api).await, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn release_is_a_document_until_it_is_deleted() {
    let api = TestApi::start().await;
    let _work = api.work();
    let webhook = webhook(&api, "github").await;
    let release = |action: &str, notes: &str, minute: u32| {
        let payload = json!({ "action": action, "repository": repository(), "release": {
            "id": 9, "tag_name": "v1.2", "name": "Retries", "body": notes, "draft": false,
            "author": { "login": "vera" },
            "html_url": "https://git.example.org/shop/core/releases/v1.2",
            "published_at": at(1), "updated_at": at(minute) } });
        ("release", payload)
    };
    deliver(
        &api,
        &webhook,
        &[release("edited", "Payments are tried thrice.", 3), release("published", "Twice.", 1)],
    )
    .await;
    let opened = api.get("/documents/lookup?project_key=shop&title=Retries").await.ok();
    assert_eq!((&opened["source"], &opened["doc_id"]), (&json!("releases:shop/core"), &json!("9")));
    assert_eq!(opened["content"], "# Retries (v1.2)\n\nPayments are tried thrice.");
    deliver(&api, &webhook, &[release("deleted", "", 3)]).await;
    assert_eq!(
        api.get("/documents/lookup?project_key=shop&title=Retries").await.fault(404),
        "title"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wiki_event_reindexes_an_indexed_wiki() {
    let api = TestApi::start().await;
    let _work = api.work();
    let webhook = webhook(&api, "github").await;
    let page = |sha: &str| {
        let payload =
            json!({ "repository": repository(), "pages": [{ "sha": sha, "action": "edited" }] });
        ("gollum", payload)
    };
    let unknown = deliver(&api, &webhook, &[page("1")]).await;
    let outcome = unknown["outcome"].as_str().unwrap();
    assert!(outcome.contains("ingest https://git.example.org/shop/core.wiki.git"), "{outcome}");
    let location = "https://git.example.org/shop/core.wiki.git";
    api.post("/ingest/git", json!({ "project_key": "shop", "location": location })).await.ok();
    api.execute("update ingest_runs set status = 'SUCCEEDED'").await;
    let payload = deliver(&api, &webhook, &[page("2")]).await;
    assert_eq!(payload["outcome"], "enqueued an index run of repo:shop/core.wiki");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deleted_page_deletes_its_document() {
    let api = TestApi::start().await;
    let _work = api.work();
    let webhook = webhook(&api, "confluence").await;
    let documents =
        json!([{ "doc_id": "98", "title": "Timing", "content": "Delays have a unit." }]);
    let docs = json!({ "project_key": "shop", "source": "confluence", "documents": documents });
    api.post("/ingest/docs", docs).await.ok();
    let bearer = format!("Bearer {}", webhook.secret);
    let outcome_of = async |id: &str, event: &str| {
        let body = json!({ "event": event, "page": { "id": 98 } }).to_string();
        let headers = [("authorization", bearer.as_str()), ("x-atlassian-webhook-identifier", id)];
        api.deliver(&webhook.path, &headers, body.as_bytes()).await.ok();
        processed(&api, id).await
    };
    assert_eq!(outcome_of("c-1", "page_updated").await["state"], "ignored");
    assert_eq!(outcome_of("c-2", "page_trashed").await["state"], "completed");
    assert_eq!(
        api.get("/documents/lookup?project_key=shop&title=Timing").await.fault(404),
        "title"
    );
    assert_eq!(
        outcome_of("c-3", "page_removed").await["outcome"],
        "the project has no document of that page"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn page_events_delete_synced_pages_or_request_a_sync() {
    let api = TestApi::start().await;
    let webhook = webhook(&api, "confluence").await;
    let project = "(select id from projects where key = 'shop')";
    api.execute(&format!(
        "insert into integrations (id, project_id, connector, resource, capability, \
         interval_minutes, include_comments, is_paused,
             next_sync_at)
         select gen_random_uuid(), {project}, 'ours', resource, capability, 15, false, is_paused, \
         now() + interval '1 day'
         from (values ('OPS', 'pages', false), ('OLD', 'pages', true), ('CS', 'issues', false))
             of (resource, capability, is_paused)"
    ))
    .await;
    api.execute(&format!(
        "insert into docs (id, project_id, source, doc_id, title, content, integration_id)
         select gen_random_uuid(), {project}, source, '98', source, 'Delays have a unit.',
             case when is_brought then (select id from integrations where resource = 'OPS') end
         from (values ('wiki:ours', true), ('wiki:sent', false), ('tracker:ours', true)) of \
         (source, is_brought)"
    ))
    .await;
    let _work = api.work();
    let bearer = format!("Bearer {}", webhook.secret);
    let outcome_of = async |id: &str, event: &str| {
        let body = json!({ "event": event, "page": { "id": 98 } }).to_string();
        let headers = [("authorization", bearer.as_str()), ("x-atlassian-webhook-identifier", id)];
        api.deliver(&webhook.path, &headers, body.as_bytes()).await.ok();
        processed(&api, id).await
    };
    let changed = outcome_of("c-1", "page_updated").await;
    assert_eq!(
        (&changed["state"], &changed["outcome"]),
        (&json!("completed"), &json!("enqueued a sync of the wiki integration"))
    );
    let asked = "select string_agg(distinct c.resource, ' ') from integrations c, apalis.jobs j
                 where j.job_type = 'sync_integration' and j.idempotency_key like c.id || ' %'";
    assert_eq!(api.text(asked).await, "OPS");
    assert_eq!(outcome_of("c-2", "page_trashed").await["state"], "completed");
    let left = "select string_agg(source, ' ' order by source) from docs where doc_id = '98'";
    assert_eq!(api.text(left).await, "tracker:ours wiki:sent");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pull_request_has_its_times_and_the_reason_for_missing_files() {
    let api = TestApi::start().await;
    let _work = api.work();
    let webhook = webhook(&api, "github").await;
    let mut opened = pull("opened", &sha("1"), 0);
    opened["pull_request"]["created_at"] = json!("2026-11-20T09:00:00Z");
    let mut merged = pull("closed", &sha("1"), 5);
    merged["pull_request"]["closed_at"] = json!("2026-11-20T10:04:30Z");
    merged["pull_request"]["merged_at"] = json!("2026-11-20T10:04:29Z");
    deliver(&api, &webhook, &[("pull_request", opened), ("pull_request", merged)]).await;
    let list = api.get("/projects/shop/pull-requests").await.ok();
    let found = &list["items"][0];
    assert_eq!(found["opened_at"], "2026-11-20T09:00:00Z", "{found}");
    assert_eq!(found["closed_at"], "2026-11-20T10:04:30Z");
    assert_eq!(found["merged_at"], "2026-11-20T10:04:29Z");
    let path = format!("/projects/shop/pull-requests/{}", found["id"].as_str().unwrap());
    let files = api.get(&path).await.ok()["files"].clone();
    assert_eq!(files["items"], json!([]));
    assert!(files["error"].as_str().unwrap().contains("no active integration"), "{files}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn end_without_a_time_of_its_own_is_the_first_closed_state() {
    let api = TestApi::start().await;
    let _work = api.work();
    let webhook = webhook(&api, "github").await;
    let later = pull("closed", &sha("1"), 9);
    let events = [pull("opened", &sha("1"), 0), pull("closed", &sha("1"), 5), later];
    let events: Vec<_> = events.into_iter().map(|event| ("pull_request", event)).collect();
    deliver(&api, &webhook, &events).await;
    let times = "select concat_ws(' ', closed_at = '2026-11-20 10:05:00Z', closed_at = merged_at,
        opened_at is null) from pull_requests";
    assert_eq!(api.text(times).await, "t t t");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_has_its_times_and_loses_the_end_when_reopened() {
    let api = TestApi::start().await;
    let _work = api.work();
    let webhook = webhook(&api, "github").await;
    let issue = |state: &str, closed_at: Value, minute: u32| {
        json!({ "action": "edited", "repository": repository(), "issue": {
            "number": 7, "title": "It hangs", "state": state, "updated_at": at(minute),
            "created_at": "2026-11-20T09:00:00Z", "closed_at": closed_at } })
    };
    let closed = issue("closed", json!(at(5)), 5);
    deliver(&api, &webhook, &[("issues", issue("open", Value::Null, 0)), ("issues", closed)]).await;
    let task = || api.get("/tasks/shop%2Fcore%237?project_key=shop");
    let found = task().await.ok();
    assert_eq!(found["opened_at"], "2026-11-20T09:00:00Z", "{found}");
    assert_eq!(found["closed_at"], at(5));
    deliver(&api, &webhook, &[("issues", issue("open", Value::Null, 6))]).await;
    assert_eq!(task().await.ok().get("closed_at"), None);
}
