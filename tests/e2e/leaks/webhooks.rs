//! Canaries in webhook deliveries, in used and unused fields, signed and forged.

use hmac::{Hmac, Mac as _};
use reqwest::Method;
use serde_json::{Value, json};
use sha2::Sha256;

use super::canaries::{Form, Kind};
use super::world::{PROJECT, World};

const WORD: usize = 120;
const TITLE: usize = 300;

/// A webhook with its signature scheme.
struct SentWebhook {
    source: &'static str,
    path: String,
    secret: String,
}

/// Sends deliveries of every provider. Returns their secrets.
pub async fn deliver(world: &mut World) -> Vec<String> {
    let mut sent_webhooks = Vec::new();
    for source in ["github", "gitlab", "jira", "youtrack", "redmine", "confluence"] {
        // Sent without recording the response, which contains the secret.
        let webhook =
            world.send_unrecorded("/projects/shop/webhooks", &json!({ "provider": source })).await;
        let text = |name: &str| webhook[name].as_str().expect(name).to_owned();
        sent_webhooks.push(SentWebhook { source, path: text("url_path"), secret: text("secret") });
    }
    for webhook in &sent_webhooks {
        for kind in Kind::ALL {
            let number = kind as u32 + 1;
            for (event, body) in bodies(world, webhook.source, kind, number) {
                let body = body.to_string();
                let id = world.word("id of a delivery", kind, WORD);
                let id = id.unwrap_or_else(|| format!("{event}-{number}"));
                let (status, answer) =
                    send(world, webhook, event, &id, &body, &webhook.secret).await;
                assert_eq!(status, 202, "{} {event}: {answer}", webhook.source);
            }
        }
        let forged = world.generator.everything("forged delivery");
        let forged = json!({ "action": "opened", "issue": { "title": forged } }).to_string();
        let wrong = world.word("secret of a forger", Kind::GithubToken, WORD).expect("a word");
        assert_eq!(send(world, webhook, "issues", "forged", &forged, &wrong).await.0, 403);
        let broken = format!("{{\"a\": \"{}", world.generator.word("broken delivery", Kind::Mail));
        let (status, answer) =
            send(world, webhook, "issues", "broken", &broken, &webhook.secret).await;
        assert_eq!(status, 400, "{}: {answer}", webhook.source);
    }
    let waiting = "/projects/shop/webhook-deliveries?state=pending";
    world.service.until(waiting, |page| page["items"] == json!([])).await;
    sent_webhooks.into_iter().map(|webhook| webhook.secret).collect()
}

async fn send(
    world: &mut World,
    webhook: &SentWebhook,
    event: &str,
    id: &str,
    body: &str,
    secret: &str,
) -> (u16, Value) {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("a key");
    mac.update(body.as_bytes());
    let signature = format!("sha256={}", hex::encode(mac.finalize().into_bytes()));
    let (signed, value) = match webhook.source {
        "github" => ("x-hub-signature-256", signature.as_str()),
        "gitlab" => ("x-gitlab-token", secret),
        "redmine" => ("x-redmine-signature-256", signature.as_str()),
        "youtrack" => ("x-youtrack-token", secret),
        _ => ("x-hub-signature", signature.as_str()),
    };
    let (event_name, id_name) = match webhook.source {
        "gitlab" => ("x-gitlab-event", "x-gitlab-event-uuid"),
        "github" => ("x-github-event", "x-github-delivery"),
        _ => ("x-event", "x-atlassian-webhook-identifier"),
    };
    let headers =
        [("content-type", "application/json"), (signed, value), (event_name, event), (id_name, id)];
    world.send_raw(Method::POST, &webhook.path, &headers, body).await
}

/// Returns events about an issue, and about commits if the provider has some, with canaries in
/// every text.
fn bodies(world: &mut World, source: &str, kind: Kind, number: u32) -> Vec<(&'static str, Value)> {
    let title = world.line("title of a delivered issue", kind, TITLE).unwrap_or("None".to_owned());
    let status = world.line("status of a delivered issue", kind, WORD);
    let label = world.word("label of a delivered issue", kind, WORD).unwrap_or("bug".to_owned());
    let person = world.line("assignee of a delivered issue", kind, WORD);
    let url = world.generator.text("address of a delivered issue", kind, Form::Url);
    let url = url.lines().last().unwrap_or_default().to_owned();
    let text = world.generator.text("text of a delivered issue", kind, Form::Plain);
    let branch = world.word("branch of a delivered push", kind, WORD);
    let commit = world.generator.text("message of a delivered commit", kind, Form::Env);
    let reference = format!("refs/heads/{}", branch.unwrap_or("main".to_owned()));
    let path = world.word("name of a delivered repository", kind, WORD);
    let path = format!("shop/{}", path.unwrap_or("core".to_owned()));
    let updated = "2026-11-20T10:00:00Z";
    match source {
        "github" => {
            let repository = json!({ "name": "core", "full_name": "shop/core", "html_url": url,
                "clone_url": "https://git.example.org/shop/core.git", "default_branch": "main",
                "ssh_url": "git@git.example.org:shop/core.git" });
            let issue = json!({ "number": number, "title": title, "state": status, "body": text,
                "html_url": url, "labels": [{ "name": label }], "updated_at": updated,
                "assignee": { "login": person }, "assignees": [{ "login": person }] });
            let mut pushed = repository.clone();
            pushed["full_name"] = path.into();
            vec![
                ("issues", json!({ "action": "opened", "issue": issue, "repository": repository })),
                (
                    "push",
                    json!({ "ref": reference, "before": "1".repeat(40), "after": "2".repeat(40),
                        "forced": false, "repository": pushed,
                        "commits": [{ "message": commit }] }),
                ),
                ("release", json!({ "action": "published", "release": { "body": text } })),
            ]
        }
        "gitlab" => {
            let project = json!({ "path_with_namespace": "shop/core", "default_branch": "main",
                "web_url": "https://git.example.org/shop/core",
                "git_http_url": "https://git.example.org/shop/core.git",
                "git_ssh_url": "git@git.example.org:shop/core.git" });
            let issue = json!({ "iid": number, "id": number, "title": title, "state": status,
                "description": text, "url": url, "updated_at": "2026-11-20 10:00:00 UTC",
                "action": "open", "labels": [{ "title": label }] });
            let mut pushed = project.clone();
            pushed["path_with_namespace"] = path.into();
            vec![
                (
                    "Issue Hook",
                    json!({ "object_kind": "issue", "project": project, "object_attributes": issue,
                        "labels": [{ "title": label }], "assignees": [{ "name": person,
                        "username": person }] }),
                ),
                (
                    "Push Hook",
                    json!({ "object_kind": "push", "ref": reference, "before": "1".repeat(40),
                        "after": "2".repeat(40), "project": pushed,
                        "commits": [{ "message": commit }] }),
                ),
            ]
        }
        "jira" => {
            let fields = json!({ "summary": title, "description": text, "labels": [label],
                "status": { "name": status }, "assignee": { "displayName": person },
                "updated": "2026-11-20T10:00:00.000+0000" });
            let issue = json!({ "id": "1", "key": format!("CS-{number}"), "fields": fields,
                "self": "https://jira.example.org/rest/api/2/issue/1" });
            vec![(
                "jira",
                json!({ "webhookEvent": "jira:issue_updated", "timestamp": 1, "issue": issue }),
            )]
        }
        "youtrack" => {
            let issue = json!({ "idReadable": format!("YT-{number}"), "summary": title,
                "description": text, "state": status, "assignee": { "fullName": person },
                "tags": [{ "name": label }], "updated": 1_790_000_000_000_u64, "url": url });
            vec![("youtrack", json!({ "event": "issueUpdated", "issue": issue }))]
        }
        "redmine" => {
            let issue = json!({ "id": number, "subject": title, "description": text,
                "status": { "name": status }, "assigned_to": { "name": person },
                "project": { "name": "shop" }, "updated_on": updated });
            let data = json!({ "issue": issue, "url": url });
            vec![(
                "redmine",
                json!({ "type": "issue.updated", "timestamp": updated, "data": data }),
            )]
        }
        _ => vec![(
            "confluence",
            json!({ "event": "page_updated", "timestamp": number, "userKey": person,
                "page": { "id": number, "title": title, "self": url } }),
        )],
    }
}

/// Reads back everything about them.
pub async fn read(world: &mut World) {
    world.get(&format!("/projects/{PROJECT}/webhooks")).await;
    world.get("/jobs?limit=200").await;
    let page = world.get(&format!("/projects/{PROJECT}/webhook-deliveries?limit=200")).await;
    let deliveries = page["items"].as_array().expect("deliveries").clone();
    let done = deliveries.iter().filter(|delivery| delivery["state"] == "completed").count();
    assert!(done >= 5 * Kind::ALL.len(), "{done} of {}", deliveries.len());
    for delivery in deliveries.iter().filter_map(|delivery| delivery["id"].as_str()) {
        world.get(&format!("/projects/{PROJECT}/webhook-deliveries/{delivery}")).await;
    }
    for kind in Kind::ALL {
        let number = kind as u32 + 1;
        for task in
            [format!("shop%2Fcore%23{number}"), format!("CS-{number}"), format!("YT-{number}")]
        {
            world.get(&format!("/tasks/{task}?project_key={PROJECT}")).await;
        }
    }
}
