//! What other systems tell: taken for the project of the hook that it is signed for and no other,
//! whoever sends it. Who is not known by the hook's secret does not learn whether there is such a
//! hook.

use hmac::{Hmac, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;
use uuid::Uuid;

use super::draw::refused;
use super::{Draw, Things};
use crate::attempt::Attempt;
use crate::world::{GIT_HOSTS, SOURCES, hook_secret};

pub fn from_tracker(d: &mut Draw<'_>) -> Attempt {
    delivered(d, |project| &project.hooks[GIT_HOSTS..])
}

pub fn from_git_host(d: &mut Draw<'_>) -> Attempt {
    delivered(d, |project| &project.hooks[..GIT_HOSTS])
}

/// Through a hook of any project: no caller's role counts here.
fn delivered(d: &mut Draw<'_>, hooks: Things) -> Attempt {
    let projects: Vec<_> = d.world.projects.iter().collect();
    let (project, elsewhere) = (d.pick(&projects), d.pick(&projects));
    let hook = d.of(project, hooks);
    let (source, secret) = (hook.name.as_str(), hook_secret(hook));
    // What is kept has marks of its own project only, or the world would no longer be in order.
    let mark = &d.of(project, |project| &project.records).mark;
    let words = format!("The gateway counts in other units than the cart ({mark})");
    let (sender, missing) = (d.name(), d.id());
    let to = |path: &str| told(path, source, &words, &sender);
    let own_path = path(source, hook.id);
    let proof =
        d.pick(&["its secret", "its secret", "another's", "the caller's", "", "crossed", "nobody"]);
    let (attempt, is_taken) = match proof {
        "its secret" => (proven(d, to(&own_path), source, &secret), true),
        "another's" => {
            let signer = d.of(elsewhere, |project| &project.hooks);
            let attempt = proven(d, to(&own_path), source, &hook_secret(signer));
            (attempt, signer.id == hook.id)
        }
        // A token of this service, good or not, is no secret of a hook.
        "the caller's" => (d.signed(to(&own_path)), false),
        "crossed" => {
            let other = path(d.pick(&SOURCES), hook.id);
            (proven(d, to(&other), source, &secret), other == own_path)
        }
        "nobody" => (proven(d, to(&path(source, missing)), source, &secret), false),
        _ => (to(&own_path), false),
    };
    if is_taken {
        return attempt;
    }
    let twin = (hook.id.to_string(), missing.to_string());
    Attempt { twin: Some(twin), ..refused(attempt, 403) }
}

fn path(provider: &str, hook: Uuid) -> String {
    if SOURCES[..GIT_HOSTS].contains(&provider) {
        format!("/ingest/git?webhook_id={hook}")
    } else {
        format!("/webhooks/{provider}?webhook_id={hook}")
    }
}

/// A delivery without what it is signed with.
fn told(path: &str, source: &str, words: &str, sender: &str) -> Attempt {
    let attempt = Attempt::post(path, &said(source, words)).expect(202);
    match source {
        "github" => attempt.header("x-github-event", "issues").header("x-github-delivery", sender),
        "gitlab" => {
            attempt.header("x-gitlab-event", "Issue Hook").header("x-gitlab-event-uuid", sender)
        }
        _ => attempt.header("x-atlassian-webhook-identifier", sender),
    }
}

/// The delivery with what shows that its source knows the secret, in one of the source's ways.
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

/// What a source tells of an issue or a page.
fn said(source: &str, words: &str) -> Value {
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
