//! A webhook as its sender sees it, and its deliveries: GitHub's events about issues.

use anyhow::{Context, Result};
use hmac::{Hmac, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;

use super::sender::FORGED_EVERY;
use crate::harness::service::Api;

/// The project of the webhook.
pub const PROJECT: &str = "bench";
const REPOSITORY: &str = "shop/core";
const SITE: &str = "https://git.example.org";
const TIME: &str = "2026-11-20T10:00:00Z";

/// The text of an issue; the service does not interpret it.
const TEXT: &str = "Since the release of last week some orders stay in the state *packed* although \
                    the carrier has taken the parcel. The planner asks the carrier once, gets an \
                    answer without a tracking number, and takes that for final. It should ask \
                    again after a while, as it does when the carrier does not answer at all.\n\nTo \
                    see it: place an order with two parcels, have the first one fetched, and look \
                    at the list of deliveries an hour later. Expected: both parcels have a number. \
                    Instead the second one has none, and the customer is told that nothing was \
                    sent.\n\n";
/// Repetitions for a body of about 10 kB.
const TEXTS: usize = 5;

/// Names of URL fields, without `_url`, by object.
const OF_AN_ISSUE: &[&str] = &["repository", "labels", "comments", "events", "timeline"];
const OF_A_PERSON: &[&str] = &[
    "avatar",
    "followers",
    "following",
    "gists",
    "starred",
    "subscriptions",
    "organizations",
    "repos",
    "events",
    "received_events",
];
const OF_A_REPOSITORY: &[&str] = &[
    "forks",
    "keys",
    "collaborators",
    "teams",
    "hooks",
    "issue_events",
    "events",
    "assignees",
    "branches",
    "tags",
    "blobs",
    "git_tags",
    "git_refs",
    "trees",
    "statuses",
    "languages",
    "stargazers",
    "contributors",
    "subscribers",
    "subscription",
    "commits",
    "git_commits",
    "comments",
    "issue_comment",
    "contents",
    "compare",
    "merges",
    "archive",
    "downloads",
    "issues",
    "pulls",
    "milestones",
    "notifications",
    "labels",
    "releases",
    "deployments",
];

/// The URL and the secret of a webhook.
pub struct Webhook {
    /// The URL.
    pub url: String,
    secret: String,
    /// The event, without its issue.
    event: Value,
}

/// A delivery.
pub struct Delivery {
    /// The sender's id.
    pub id: String,
    /// The JSON body.
    pub body: Vec<u8>,
    /// The signature.
    pub signature: String,
}

/// Returns the sender's id of the event about an issue.
pub fn id(number: u32) -> String {
    format!("delivery-{number}")
}

/// Returns the id of the task of an issue.
pub fn task(number: u32) -> String {
    format!("{REPOSITORY}#{number}")
}

impl Webhook {
    /// Creates a project with a webhook.
    pub async fn add(api: &Api) -> Result<Self> {
        api.post("/projects", &json!({ "key": PROJECT })).await?;
        Self::add_to(PROJECT, api).await
    }

    /// Creates a webhook of a project.
    pub async fn add_to(project: &str, api: &Api) -> Result<Self> {
        let path = format!("/projects/{project}/webhooks");
        let made = api.post(&path, &json!({ "provider": "github" })).await?;
        let text = |name: &str| {
            let text = made[name].as_str().map(str::to_owned);
            text.with_context(|| format!("the service created a webhook without {name}"))
        };
        Ok(Self { url: api.address(&text("url_path")?), secret: text("secret")?, event: event() })
    }

    /// Builds a delivery about an issue.
    pub fn genuine(&self, number: u32) -> Delivery {
        let body = self.body(number);
        Delivery { id: id(number), signature: sign(&self.secret, &body), body }
    }

    /// Builds a delivery without an event, which the service stores and does not process.
    pub fn ping(&self, number: usize) -> Delivery {
        let body = json!({ "zen": "Approachable is better than simple." }).to_string().into_bytes();
        Delivery { id: format!("ping-{number}"), signature: sign(&self.secret, &body), body }
    }

    /// Builds a forged delivery: signed with another secret, or with the signature of another body.
    pub fn forged(&self, number: u32) -> Delivery {
        let body = self.body(number);
        let signature = if (number / FORGED_EVERY).is_multiple_of(2) {
            sign("a secret that is not the webhook's", &body)
        } else {
            sign(&self.secret, b"{}")
        };
        Delivery { id: id(number), signature, body }
    }

    fn body(&self, number: u32) -> Vec<u8> {
        let mut event = self.event.clone();
        let issue = &mut event["issue"];
        issue["number"] = number.into();
        issue["title"] = format!("Order {number} stays packed").into();
        issue["html_url"] = format!("{SITE}/{REPOSITORY}/issues/{number}").into();
        event.to_string().into_bytes()
    }
}

fn sign(secret: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("any length will do");
    mac.update(body);
    format!("sha256={}", hex::encode(mac.finalize().into_bytes()))
}

fn event() -> Value {
    let base = format!("{SITE}/api/v3/repos/{REPOSITORY}");
    let issue = json!({
        "id": 2_164_903_127_u64, "state": "open", "locked": false, "milestone": null, "comments": 0,
        "user": person("oleg"), "assignee": person("vera"), "assignees": [person("vera")],
        "labels": [label("bug"), label("orders")], "author_association": "MEMBER",
        "created_at": TIME, "updated_at": TIME, "closed_at": null, "body": TEXT.repeat(TEXTS),
    });
    let repository = json!({
        "id": 659_842_310, "name": "core", "full_name": REPOSITORY, "private": true,
        "owner": person("shop"), "description": "Orders, parcels and carriers", "fork": false,
        "html_url": format!("{SITE}/{REPOSITORY}"), "default_branch": "main",
        "clone_url": format!("{SITE}/{REPOSITORY}.git"), "created_at": TIME, "pushed_at": TIME,
        "open_issues": 112, "watchers": 14, "topics": ["orders", "carriers"],
        "visibility": "internal",
    });
    json!({
        "action": "opened",
        "issue": with_addresses(issue, &format!("{base}/issues"), OF_AN_ISSUE),
        "repository": with_addresses(repository, &base, OF_A_REPOSITORY),
        "sender": person("oleg"),
    })
}

fn person(login: &str) -> Value {
    let person = json!({
        "login": login, "id": 4_802_113, "type": "User", "site_admin": false,
        "html_url": format!("{SITE}/{login}"),
    });
    with_addresses(person, &format!("{SITE}/api/v3/users/{login}"), OF_A_PERSON)
}

fn label(name: &str) -> Value {
    let url = format!("{SITE}/api/v3/repos/{REPOSITORY}/labels/{name}");
    json!({ "id": 5_904_117_223_u64, "url": url, "name": name, "color": "d73a4a",
        "default": false })
}

fn with_addresses(mut thing: Value, base: &str, names: &[&str]) -> Value {
    for name in names {
        thing[format!("{name}_url")] = format!("{base}/{name}").into();
    }
    thing
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hook() -> Webhook {
        Webhook { url: String::new(), secret: "a secret".to_owned(), event: event() }
    }

    /// The example of GitHub's documentation.
    #[test]
    fn bodies_are_signed_as_github_signs() {
        let signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        assert_eq!(sign("It's a Secret to Everybody", b"Hello, World!"), signature);
    }

    #[test]
    fn delivery_contains_its_issue_and_has_a_usual_size() {
        let Delivery { id, body, signature } = hook().genuine(4_711);
        assert_eq!((id.as_str(), signature), ("delivery-4711", sign("a secret", &body)));
        assert!((8_000..16_000).contains(&body.len()), "{} bytes", body.len());
        let body: Value = serde_json::from_slice(&body).expect("JSON");
        assert_eq!((&body["issue"]["number"], &body["action"]), (&json!(4_711), &json!("opened")));
        assert_eq!(body["repository"]["full_name"], "shop/core");
    }

    #[test]
    fn forged_deliveries_have_two_wrong_signatures() {
        let [first, second] = [100, 200].map(|number| hook().forged(number));
        for forged in [&first, &second] {
            assert_ne!(forged.signature, sign("a secret", &forged.body));
        }
        assert_eq!(
            [first, second].map(|forged| forged.signature == sign("a secret", b"{}")),
            [true, false]
        );
    }
}
