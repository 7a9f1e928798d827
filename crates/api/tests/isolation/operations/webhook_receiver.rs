//! Webhook deliveries: accepted for the project of the webhook only, whoever sends them. Without
//! its secret, the response does not reveal whether the webhook exists.

use hmac::{Hmac, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;
use uuid::Uuid;

use super::draw::refused;
use super::{Draw, Things};
use crate::attempt::Attempt;
use crate::world::{GIT_HOSTS, SOURCES, webhook_secret};

pub fn from_tracker(d: &mut Draw<'_>) -> Attempt {
    delivered(d, |project| &project.webhooks[GIT_HOSTS..])
}

pub fn from_git_host(d: &mut Draw<'_>) -> Attempt {
    delivered(d, |project| &project.webhooks[..GIT_HOSTS])
}

/// Draws a delivery to a webhook of any project. The role of the caller does not matter.
fn delivered(d: &mut Draw<'_>, webhooks: Things) -> Attempt {
    let projects: Vec<_> = d.world.projects.iter().collect();
    let (project, elsewhere) = (d.pick(&projects), d.pick(&projects));
    let webhook = d.of(project, webhooks);
    let (source, secret) = (webhook.name.as_str(), webhook_secret(webhook));
    // Stored texts have marks of their own project only; otherwise the world would become
    // inconsistent.
    let mark = &d.of(project, |project| &project.records).mark;
    let words = format!("The gateway counts in other units than the cart ({mark})");
    let (sender, missing) = (d.name(), d.id());
    let to = |path: &str| unsigned(path, source, &words, &sender);
    let own_path = path(source, webhook.id);
    let proof =
        d.pick(&["its secret", "its secret", "another's", "the caller's", "", "crossed", "nobody"]);
    let (attempt, is_taken) = match proof {
        "its secret" => (proven(d, to(&own_path), source, &secret), true),
        "another's" => {
            let signer = d.of(elsewhere, |project| &project.webhooks);
            let attempt = proven(d, to(&own_path), source, &webhook_secret(signer));
            (attempt, signer.id == webhook.id)
        }
        // A token of this service, valid or not, is not the secret of a webhook.
        "the caller's" => (d.signed(to(&own_path)), false),
        "crossed" => {
            let other = path(d.pick(&SOURCES), webhook.id);
            (proven(d, to(&other), source, &secret), other == own_path)
        }
        "nobody" => (proven(d, to(&path(source, missing)), source, &secret), false),
        _ => (to(&own_path), false),
    };
    if is_taken {
        return attempt;
    }
    let twin = (webhook.id.to_string(), missing.to_string());
    Attempt { twin: Some(twin), ..refused(attempt, 403) }
}

fn path(provider: &str, webhook: Uuid) -> String {
    if SOURCES[..GIT_HOSTS].contains(&provider) {
        format!("/ingest/git?webhook_id={webhook}")
    } else {
        format!("/webhooks/{provider}?webhook_id={webhook}")
    }
}

/// Returns a delivery without a signature.
fn unsigned(path: &str, source: &str, words: &str, sender: &str) -> Attempt {
    let attempt = Attempt::post(path, &event_body(source, words)).expect(202);
    match source {
        "github" => attempt.header("x-github-event", "issues").header("x-github-delivery", sender),
        "gitlab" => {
            attempt.header("x-gitlab-event", "Issue Hook").header("x-gitlab-event-uuid", sender)
        }
        _ => attempt.header("x-atlassian-webhook-identifier", sender),
    }
}

/// Signs a delivery with the secret, in one of the ways of the provider.
fn proven(d: &mut Draw<'_>, attempt: Attempt, source: &str, secret: &str) -> Attempt {
    let body = attempt.body.as_deref().unwrap_or_default();
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("a key of any length");
    mac.update(body.as_bytes());
    let signature = format!("sha256={}", hex::encode(mac.finalize().into_bytes()));
    match source {
        "github" => attempt.header("x-hub-signature-256", signature),
        "gitlab" => attempt.header("x-gitlab-token", secret),
        _ if d.rng_bool() => attempt.header("authorization", format!("Bearer {secret}")),
        "youtrack" => attempt.header("x-youtrack-token", secret),
        "redmine" => attempt.header("x-redmine-signature-256", signature),
        _ => attempt.header("x-hub-signature", signature),
    }
}

/// Returns the body of an event about an issue or a page.
fn event_body(source: &str, words: &str) -> Value {
    let (at, url) = ("2026-11-20T10:00:00Z", "https://tracker.example/9");
    let repository = "https://git.example/team/core";
    match source {
        "github" => json!({
            "action": "edited",
            "issue": {"number": 9, "title": words, "state": "open", "updated_at": at,
            "html_url": url,
                "labels": [{"name": "units"}], "assignee": {"login": "vera"}, "body": words},
            "repository": {"name": "core", "full_name": "team/core", "default_branch": "main",
                "html_url": repository},
        }),
        "gitlab" => json!({
            "object_kind": "issue",
            "project": {"path_with_namespace": "team/core", "default_branch": "main",
                "web_url": repository, "git_http_url": format!("{repository}.git"),
                "git_ssh_url": "git@git.example:team/core.git"},
            "object_attributes": {"id": 9, "iid": 9, "title": words, "state": "opened",
                "description": words, "url": url, "updated_at": "2026-11-20 10:00:00 UTC",
                "action": "update", "labels": [{"title": "units"}]},
            "labels": [{"title": "units"}],
            "assignees": [{"name": "Vera", "username": "vera"}],
        }),
        "jira" => json!({
            "webhookEvent": "jira:issue_updated",
            "timestamp": 1,
            "issue": {"id": "9", "key": "CS-9001", "self": url, "fields": {"summary": words,
                "description": words, "status": {"name": "Open"}, "labels": ["units"],
                "assignee": {"displayName": "Vera"}, "updated": "2026-11-20T10:00:00.000+0000"}},
        }),
        "youtrack" => json!({
            "event": "issueUpdated",
            "issue": {"idReadable": "CS-9001", "summary": words, "description": words,
                "state": "Open", "assignee": {"fullName": "Vera"}, "tags": [{"name": "units"}],
                "updated": 1_790_000_000_000_u64, "url": url},
        }),
        "redmine" => json!({
            "type": "issue.updated",
            "timestamp": at,
            "data": {"issue": {"id": 9, "subject": words, "description": words,
                "status": {"name": "Open"}, "assigned_to": {"name": "Vera"},
                "project": {"name": "core"}, "updated_on": at}, "url": url},
        }),
        _ => json!({
            "event": "page_updated",
            "timestamp": 9,
            "userKey": "vera",
            "page": {"id": 9, "title": words, "self": url},
        }),
    }
}
