//! The audit: its events, and that it can't be rewritten.

use std::path::Path;

use mc_domain::policy::RetentionDays;
use mc_store::hygiene::retention::RetentionCategory;
use mc_store::testing;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::accounts::newcomer;
use crate::client::{As, TestApi};
use crate::proposals::agent;
use crate::quarantine::quarantine_order;

async fn actions(api: &TestApi, path: &str) -> Vec<String> {
    let page = api.get(path).await.ok();
    let events = page["items"].as_array().unwrap().iter();
    events.map(|event| event["action"].as_str().unwrap().to_owned()).collect()
}

async fn verified(api: &TestApi) -> Value {
    api.get("/audit/verification?project_key=shop").await.ok()
}

/// A project with events.
async fn busy() -> TestApi {
    let api = TestApi::start().await;
    for text in ["The ledger closes at six.", "Carts are kept in Redis for two days."] {
        let fact = json!({"project_key": "shop", "kind": "fact", "content": text});
        api.post("/save", fact).await.ok();
    }
    let asked = json!({"project_key": "shop", "query": "when does the ledger close",
                       "time_budget_ms": 20000});
    let bundle = api.post("/recall", asked).await.ok();
    let used = json!({"bundle_id": bundle["bundle_id"], "used": [bundle["facts"][0]["id"]]});
    api.post("/feedback", used).await.ok();
    api
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn saves_recalls_and_feedback_are_recorded() {
    let api = busy().await;
    let all = actions(&api, "/audit?project_key=shop").await;
    assert_eq!(
        all,
        ["bundle.feedback_recorded", "bundle.recalled", "record.saved", "record.saved"]
    );
    let recalled = api.get("/audit?project_key=shop&action=bundle.recalled").await.ok();
    let event = &recalled["items"][0];
    assert_eq!((&event["actor"], &event["seq"]), (&json!("local"), &json!(3)));
    assert_eq!(event["details"]["items"][0][0], "facts", "which part of it: {event}");
    assert!(!recalled.to_string().contains("ledger"), "ids, and not what they say: {recalled}");

    let first = api.get("/audit?project_key=shop&limit=3").await.ok();
    assert_eq!(first["next_cursor"], "2");
    assert_eq!(actions(&api, "/audit?project_key=shop&cursor=2").await, ["record.saved"]);
    assert!(actions(&api, "/audit?project_key=shop&actor=nobody").await.is_empty());
    let unknown = api.get("/audit?project_key=shop&action=nonsense").await;
    assert_eq!(unknown.fault(400), "action");
}

/// Saves a record and returns its id.
async fn saved(by: &As<'_>, note: Value) -> String {
    by.post("/save", note).await.ok()["id"].as_str().unwrap().to_owned()
}

/// An issue of a tracker.
fn issue(title: &str) -> Value {
    let task = json!({"external_id": "CS-214", "title": title});
    json!({"project_key": "shop", "tasks": [task]})
}

/// A request to index the repository `api` at a location, which may have changed.
fn relocated(folder: &Path) -> Value {
    json!({"project_key": "shop", "location": folder, "name": "api", "relocate": true})
}

/// Requests to index a repository, and then from another location.
async fn moved(api: &TestApi) {
    let folder = TempDir::new().unwrap();
    for name in ["before", "after"] {
        let folder = folder.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        api.post("/ingest/git", relocated(&folder)).await.ok();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_event_has_its_actor_and_target() {
    const PAGE: &str = "https://wiki.example.org/queues";
    let api = TestApi::start().await;
    let (bot, ann) = (agent(&api).await, newcomer(&api, "ann").await);
    api.put("/projects/shop/members/ann", json!({"role": "maintainer"})).await.ok();
    let (bot, ann) = (api.with(&bot), api.with(&ann));
    let fact = |text: &str| json!({"project_key": "shop", "kind": "fact", "content": text});
    let record = saved(&ann, fact("The cart expires after 45 minutes of silence.")).await;
    let mut note = fact("The staging warehouse resets its stock counters every Thursday at noon.");
    note["visibility"] = "private".into();
    let note = saved(&ann, note).await;
    let mut imported = fact("Queues are named after the team that reads them.");
    imported["source"] = PAGE.into();
    saved(&ann, imported).await;
    let invoices = fact("The invoice numbering restarts on the first of January in Spain.");
    let invoices = saved(&bot, invoices).await;
    let prices = saved(&bot, fact("Prices are rounded half to even.")).await;

    ann.post(&format!("/records/{record}/confirm"), json!({"version": 1})).await.ok();
    ann.delete(&format!("/records/{record}")).await.ok();
    ann.post(&format!("/records/{record}/rollback"), json!({})).await.ok();
    ann.post(&format!("/records/{note}/share"), json!({})).await.ok();
    ann.post(&format!("/proposals/{invoices}/accept"), json!({"version": 1})).await.ok();
    ann.post(&format!("/proposals/{prices}/reject"), json!({"reason": "half up"})).await.ok();
    ann.post("/forget", json!({"project_key": "shop", "source": PAGE})).await.ok();
    let released = quarantine_order(&api).await;
    ann.post(&format!("/quarantine/{released}/release"), json!({})).await.ok();
    let deleted = quarantine_order(&api).await;
    ann.delete(&format!("/quarantine/{deleted}")).await.ok();
    api.put_if("/projects/shop/policy", "*", json!({"ttl_days": {"fact": 90}})).await.ok();
    ann.post("/tasks/sync", issue("Nil delay")).await.ok();
    let link = json!({"project_key": "shop", "task_external_id": "CS-214"});
    let task = ann.post("/tasks/link", link).await.ok()["task"]["id"].clone();
    ann.delete("/tasks/CS-214?project_key=shop").await.ok();
    moved(&api).await;
    let repository = api.text("select id::text from repositories").await;
    api.post("/teams", json!({"key": "platform"})).await.ok();
    let token = api.post("/tokens", json!({"name": "r", "scopes": ["memory:read"]})).await.ok();
    let token = token["id"].as_str().unwrap();
    api.delete(&format!("/tokens/{token}")).await.ok();

    let (here, service) = ("/audit?project_key=shop&", "/audit?");
    for (path, action, actor, subject) in [
        (here, "record.confirmed", "ann", record.as_str()),
        (here, "record.deleted", "ann", record.as_str()),
        (here, "record.rolled_back", "ann", record.as_str()),
        (here, "record.shared", "ann", note.as_str()),
        (here, "proposal.accepted", "ann", invoices.as_str()),
        (here, "proposal.rejected", "ann", prices.as_str()),
        (here, "records.erased", "ann", PAGE),
        (here, "quarantine_item.released", "ann", released.as_str()),
        (here, "quarantine_item.deleted", "ann", deleted.as_str()),
        (here, "policy.changed", "local", "shop"),
        (here, "tasks.synced", "ann", "shop"),
        (here, "task.linked", "ann", task.as_str().unwrap()),
        (here, "task.erased", "ann", task.as_str().unwrap()),
        (here, "repository.relocated", "local", repository.as_str()),
        (service, "team.changed", "local", "platform"),
        (service, "token.revoked", "local", token),
    ] {
        let page = api.get(&format!("{path}action={action}")).await.ok();
        let events = page["items"].as_array().unwrap().iter();
        let told: Vec<_> = events.map(|event| (&event["actor"], &event["target"])).collect();
        assert_eq!(told, [(&json!(actor), &json!(subject))], "{action}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_of_syncs_have_ids_counts_and_masked_locations() {
    let api = TestApi::start().await;
    let detail = async |action: &str| {
        let page = api.get(&format!("/audit?project_key=shop&action={action}")).await.ok();
        let events = page["items"].as_array().unwrap().iter();
        events.map(|event| event["details"].clone()).collect::<Vec<_>>()
    };
    for title in ["Nil delay", "Nil delay", "Nil trigger delay"] {
        api.post("/tasks/sync", issue(title)).await.ok();
    }
    let (created, updated) =
        (json!({"created": 1, "updated": 0}), json!({"created": 0, "updated": 1}));
    assert_eq!(detail("tasks.synced").await, [updated, created], "what stays is nothing to tell");

    let fact = "The cart expires after 45 minutes of silence.";
    let fact = json!({"project_key": "shop", "kind": "fact", "content": fact});
    let record = api.post("/save", fact).await.ok()["id"].clone();
    let link = json!({"project_key": "shop", "task_external_id": "CS-214", "record_ids": [record]});
    let dialog = api.post("/tasks/link", link).await.ok()["dialog_id"].clone();
    let linked = detail("task.linked").await;
    assert_eq!(linked, [json!({"dialog": dialog, "records": [record]})]);

    let folder = TempDir::new().unwrap();
    let [from, to] = ["vera.lang@acme-widgets.io", "shared"].map(|name| folder.path().join(name));
    for folder in [&from, &to, &to] {
        std::fs::create_dir_all(folder).unwrap();
        api.post("/ingest/git", relocated(folder)).await.ok();
    }
    let places = detail("repository.relocated").await;
    assert_eq!(places.len(), 1, "it moved once: {places:?}");
    let [from, to] = ["from", "to"].map(|name| places[0][name].as_str().unwrap());
    assert!(from.contains("[personal:email]") && !from.contains("vera"), "{from}");
    assert!(to.ends_with("/shared"), "{to}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changed_rights_and_denials_are_recorded_for_maintainers() {
    let api = TestApi::start().await;
    let ann = newcomer(&api, "ann").await;
    let other = api.with(&ann);
    assert_eq!(other.get("/projects/shop").await.status, 404);
    api.put("/projects/shop/members/ann", json!({"role": "viewer"})).await.ok();
    assert_eq!(other.get("/audit?project_key=shop").await.status, 403);
    assert_eq!(other.get("/audit").await.status, 403);
    assert_eq!(other.get("/audit/export").await.status, 403);
    assert_eq!(actions(&api, "/audit?project_key=shop").await, ["member.changed"]);
    let service = actions(&api, "/audit").await;
    assert_eq!(service, ["token.created", "session.created", "user.changed", "project.created"]);
    api.state.sign_in.denials().flush(&api.state.background).await.unwrap();
    let here = api.get("/audit?project_key=shop&limit=1").await.ok();
    let event = &here["items"][0];
    assert_eq!((&event["action"], &event["actor"]), (&json!("access.denied"), &json!("ann")));
    assert_eq!(event["details"]["actions"], json!({"audit": 1}));
    let refused = api.get("/audit?action=access.denied").await.ok();
    assert_eq!(refused["items"].as_array().unwrap().len(), 1, "{refused}");
    assert_eq!(refused["items"][0]["actor"], "ann");
    let operations =
        json!({"GET /projects/{key} 404": 1, "GET /audit 403": 2, "GET /audit/export 403": 1});
    assert_eq!(refused["items"][0]["details"]["operations"], operations);
    api.put("/projects/shop/members/ann", json!({"role": "maintainer"})).await.ok();
    assert_eq!(other.get("/audit?project_key=shop").await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn service_administrators_read_audits_of_deleted_projects() {
    let api = busy().await;
    let before = actions(&api, "/audit?project_key=shop").await;
    let project = api.get("/projects/shop").await.ok()["id"].clone();
    let of = |path: &str| format!("{path}?project_id={}", project.as_str().unwrap());
    for path in ["/audit", "/audit/export", "/audit/verification"] {
        assert_eq!(api.get(&of(path)).await.fault(404), "project_id", "it lives");
    }
    api.delete("/projects/shop").await.ok();
    assert_eq!(api.delete("/projects/shop").await.fault(404), "key");
    assert_eq!(actions(&api, &of("/audit")).await, before);
    assert_eq!(api.get(&of("/audit/verification")).await.ok()["is_valid"], true);
    assert_eq!(actions(&api, "/audit?action=audit.read").await.len(), 1);
    let ann = newcomer(&api, "ann").await;
    assert_eq!(api.with(&ann).get(&of("/audit")).await.status, 403);
    let gone = format!("delete from audit_events where chain = '{}'", project.as_str().unwrap());
    api.execute(&gone).await;
    assert_eq!(api.get(&of("/audit/verification")).await.ok()["is_valid"], false, "wiped");
    let never = api.get(&format!("/audit?project_id={}", uuid::Uuid::now_v7())).await;
    assert_eq!(never.fault(404), "project_id");
    let both = api.get(&format!("{}&project_key=shop", of("/audit"))).await;
    assert_eq!(both.fault(404), "project_id");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_that_cannot_be_recorded_is_rolled_back() {
    let api = TestApi::start().await;
    newcomer(&api, "ann").await;
    api.post("/teams", json!({"key": "platform"})).await.ok();
    let folder = TempDir::new().unwrap();
    api.post("/ingest/git", relocated(folder.path())).await.ok();
    let full = "alter table audit_events add constraint is_full check (false) not valid";
    api.execute(full).await;
    let role = json!({"role": "member"});
    assert_eq!(api.put("/projects/shop/members/ann", role.clone()).await.status, 500);
    assert_eq!(api.put("/teams/platform/members/ann", role.clone()).await.status, 500);
    assert_eq!(api.put("/projects/shop/teams/platform", role).await.status, 500);
    assert_eq!(api.post("/users", json!({"login": "bob"})).await.status, 500);
    assert_eq!(api.post("/teams", json!({"key": "other"})).await.status, 500);
    assert_eq!(api.post("/projects", json!({"key": "other"})).await.status, 500);
    let token = json!({"name": "laptop", "scopes": ["memory:read"]});
    assert_eq!(api.post("/tokens", token).await.status, 500);
    assert_eq!(api.delete("/projects/shop").await.status, 500);
    assert_eq!(api.delete("/teams/platform").await.status, 500);
    assert_eq!(api.post("/tasks/sync", issue("Nil delay")).await.status, 500);
    let link = json!({"project_key": "shop", "task_external_id": "CS-214"});
    assert_eq!(api.post("/tasks/link", link).await.status, 500);
    let elsewhere = TempDir::new().unwrap();
    assert_eq!(api.post("/ingest/git", relocated(elsewhere.path())).await.status, 500);
    assert_eq!(api.put_if("/projects/shop/policy", "*", json!({})).await.status, 500);

    let members = api.get("/projects/shop/members").await.ok();
    assert_eq!(members["users"].as_array().unwrap().len(), 1, "{members}");
    assert_eq!(members["teams"], json!([]));
    let of_team = api.get("/teams/platform/members").await.ok();
    assert_eq!(of_team["users"].as_array().unwrap().len(), 1, "{of_team}");
    let users = api.get("/users").await.ok();
    assert_eq!(users["items"].as_array().unwrap().len(), 2, "{users}");
    assert_eq!(api.get("/teams").await.ok()["items"].as_array().unwrap().len(), 1);
    assert_eq!(api.get("/projects").await.ok()["items"].as_array().unwrap().len(), 1);
    let tokens = api.get("/tokens").await.ok().to_string();
    assert!(!tokens.contains("laptop"), "{tokens}");
    let project = api.get("/projects/shop").await.ok();
    assert_eq!((&project["tasks"], &project["dialogs"]), (&json!(0), &json!(0)));
    let location = api.text("select location from repositories").await;
    let stays = folder.path().canonicalize().unwrap();
    assert_eq!(location, stays.to_str().unwrap());
    assert_eq!(api.get("/projects/shop/policy").await.ok()["version"], 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_has_every_event_in_order() {
    let api = busy().await;
    let exported = api.get("/audit/export?project_key=shop").await;
    let text = exported.ok();
    let lines: Vec<Value> =
        text.as_str().unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let order: Vec<_> = lines.iter().map(|event| event["seq"].as_i64().unwrap()).collect();
    assert_eq!(order, [1, 2, 3, 4, 5]);
    assert_eq!(lines[4]["action"], "audit.read", "that it was exported, too");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_rewrite_of_the_audit_is_detected() {
    let clean = busy().await;
    let report = verified(&clean).await;
    assert_eq!((&report["is_valid"], &report["events"]), (&json!(true), &json!(4)));
    let of_project = "chain in (select id from projects)";
    for (attack, at) in [
        (
            format!("update audit_events set target = 'x' where seq = 2 and {of_project}"),
            "event 2 ",
        ),
        (
            format!("update audit_events set details = '{{}}' where seq = 3 and {of_project}"),
            "event 3 ",
        ),
        (
            format!("update audit_events set actor = null where seq = 1 and {of_project}"),
            "event 1 ",
        ),
        (
            format!(
                "update audit_events set occurred_at = occurred_at + interval '1 us' where seq = \
            4 and {of_project}"
            ),
            "event 4 ",
        ),
        (format!("delete from audit_events where seq = 2 and {of_project}"), "event 2 is missing"),
        (format!("delete from audit_events where seq = 1 and {of_project}"), "before 2"),
        (format!("delete from audit_events where seq = 4 and {of_project}"), "reach event 4"),
        (format!("delete from audit_events where {of_project}"), "reach event 4"),
        // Two swapped events, and one that was renumbered to fill a gap.
        (
            format!(
                "update audit_events set seq = -seq where seq in (2, 3) and {of_project};
                  update audit_events set seq = 5 + seq where seq < 0 and {of_project}"
            ),
            "event 2 ",
        ),
        (
            format!(
                "delete from audit_events where seq = 2 and {of_project};
                  update audit_events set seq = seq - 1 where seq > 2 and {of_project}"
            ),
            "event 2 ",
        ),
        // An event of another chain.
        (
            format!(
                "delete from audit_events where seq = 4 and {of_project};
                  insert into audit_events select (select id from projects), 4, occurred_at, \
                  actor, action, target,
                      details, key_id, mac from audit_events where chain not in (select id from \
                      projects) limit 1"
            ),
            "event 4 ",
        ),
        // A cut-off beginning, with a checkpoint that has no valid MAC.
        (
            format!(
                "insert into audit_checkpoints select chain, seq, mac, now(), key_id, mac from \
            audit_events
                      where seq = 2 and {of_project};
                  delete from audit_events where seq <= 2 and {of_project}"
            ),
            "before 3",
        ),
    ] {
        let api = busy().await;
        api.get("/whoami").await.ok();
        for statement in attack.split(';') {
            api.execute(statement).await;
        }
        let report = verified(&api).await;
        assert_eq!(report["is_valid"], false, "{attack}");
        assert!(report["error"].as_str().unwrap().contains(at), "{attack}: {report}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn truncated_audit_is_detected_after_later_events() {
    let api = busy().await;
    api.execute("delete from audit_events where seq >= 3 and chain in (select id from projects)")
        .await;
    for number in 0..4 {
        let content = format!("The depot {number} is counted on the first of the month {number}.");
        let fact = json!({"project_key": "shop", "kind": "fact", "content": content});
        api.post("/save", fact).await.ok();
    }
    let report = verified(&api).await;
    assert_eq!(report["is_valid"], false);
    assert!(report["error"].as_str().unwrap().contains("reach event 4"), "{report}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn serving_roles_may_neither_change_nor_delete_an_event() {
    let api = busy().await;
    let project = api.text("select id::text from projects").await;
    let project = mc_domain::ProjectId(project.parse().unwrap());
    let entered = api.service().for_project(mc_domain::UserId::LOCAL, project);
    for store in [&entered, api.background()] {
        for attack in [
            "update audit_events set target = 'x'",
            "delete from audit_events",
            "truncate audit_events",
            "update audit_checkpoints set seq = 1",
            "alter table audit_events disable row level security",
        ] {
            assert!(testing::write(store, attack).await.is_err(), "{attack}");
        }
    }
    let elsewhere = format!(
        "insert into audit_events select '{}', 1, now(), null, 'x', '', '{{}}', '', ''",
        uuid::Uuid::now_v7()
    );
    assert!(testing::write(&entered, &elsewhere).await.is_err());
    assert_eq!(verified(&api).await["is_valid"], true);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn old_events_are_deleted_without_breaking_the_chain() {
    let api = busy().await;
    let days = RetentionDays { audit: 40, ..RetentionDays::default() };
    // The superuser changes the times of the events, so only the MACs of the remaining events are
    // verified here.
    api.execute("update audit_events set occurred_at = now() - interval '50 days' where seq <= 2")
        .await;
    assert_eq!(api.purge(RetentionCategory::Events, &days).await, 2);
    let report = verified(&api).await;
    assert_eq!((&report["is_valid"], &report["first_seq"]), (&json!(true), &json!(3)), "{report}");
    let newest = actions(&api, "/audit?project_key=shop&limit=2").await;
    assert_eq!(newest, ["audit.read", "audit.pruned"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_events_form_one_chain() {
    let api = TestApi::start().await;
    let each = (0..24).map(|number| {
        let content =
            format!("The shard {number} of the catalogue lives on the host cat-{number}.");
        api.post("/save", json!({"project_key": "shop", "kind": "fact", "content": content}))
    });
    for answer in futures::future::join_all(each).await {
        answer.ok();
    }
    let report = verified(&api).await;
    assert_eq!((&report["is_valid"], &report["events"]), (&json!(true), &json!(24)));
}
