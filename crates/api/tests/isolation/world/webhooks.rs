//! Webhooks of the projects and their deliveries, as SQL statements.

use mc_crypto::{AssociatedData, Encryptor};
use serde_json::json;
use uuid::Uuid;

use super::rows::{Plain, Rows, row};
use super::seed::text;
use super::{Person, Post, Project, Thing, World};

/// Providers: each project has one webhook for each of them. Git hosts come first.
pub const SOURCES: [&str; 6] = ["github", "gitlab", "jira", "youtrack", "redmine", "confluence"];
/// How many of them are git hosts.
pub const GIT_HOSTS: usize = 2;
/// States of deliveries.
pub const STATES: [&str; 3] = ["pending", "completed", "ignored"];
/// Prefix of all webhook secrets of the world.
pub const SECRET_PREFIX: &str = "hook-secret-";

/// Returns the secret of a webhook. It contains the webhook's mark, so that a leak is detected.
pub fn webhook_secret(webhook: &Thing) -> String {
    format!("{SECRET_PREFIX}{}", webhook.mark)
}

/// Returns the webhook of the n-th delivery of a project, and the state of the delivery.
pub fn webhook_of_delivery(project: &Project, n: usize) -> (&Thing, &'static str) {
    (&project.webhooks[n % project.webhooks.len()], STATES[n % STATES.len()])
}

/// All of it as statements. The people must be there already.
pub fn sql(projects: &[Project], people: &[Person], encryptor: &Encryptor) -> String {
    let mut rows = Rows::default();
    for project in projects {
        let of_tenant =
            |one: &&Person| one.tenant == Some(project.tenant) && one.post == Post::Maintainer;
        let maintainer = people.iter().find(of_tenant).expect("a maintainer").id;
        rows.each(
            "webhooks (id, project_id, provider, secret, created_by)",
            &project.webhooks,
            |_, webhook| {
                let secret = Plain(encrypted(encryptor, webhook.id, &webhook_secret(webhook)));
                row![webhook.id, project.id, webhook.name.as_str(), secret, maintainer]
            },
        );
        rows.each(
            "webhook_deliveries (id, project_id, webhook_id, external_id, event_type, event, \
             state, outcome, completed_at)",
            &project.deliveries,
            |n, Thing { id, name, mark }| {
                let (webhook, state) = webhook_of_delivery(project, n);
                let event = json!({"kind": "issue", "external_id": mark, "title": text(n, mark)});
                let (outcome, handled) = if state == "pending" {
                    (Plain("null".to_owned()), Plain("null"))
                } else {
                    (Plain(format!("'seen to {mark}'")), Plain("now()"))
                };
                let sender = format!("sent-{mark}");
                row![
                    *id,
                    project.id,
                    webhook.id,
                    sender,
                    name.as_str(),
                    event,
                    state,
                    outcome,
                    handled
                ]
            },
        );
    }
    rows.0
}

/// Returns a statement that inserts a webhook.
pub fn webhook(world: &World, project: &Project, id: Uuid, source: &str) -> String {
    let secret = encrypted(&world.encryptor, id, &format!("{SECRET_PREFIX}{id}"));
    format!(
        "insert into webhooks (id, project_id, provider, secret)
         values ('{id}', '{}', '{source}', {secret})",
        project.id
    )
}

/// Returns a statement that inserts a delivery to a webhook of the project, with these words as its
/// event type.
pub fn delivery(project: &Project, id: Uuid, words: &str) -> String {
    format!(
        "insert into webhook_deliveries (id, project_id, webhook_id, external_id, event_type, \
         event, state, outcome, completed_at)
         values ('{id}', '{}', '{}', '{id}', '{words}', '{{}}', 'completed', 'processed', now())",
        project.id, project.webhooks[0].id
    )
}

/// Returns the encrypted secret of a webhook, as a literal.
fn encrypted(encryptor: &Encryptor, webhook: Uuid, secret: &str) -> String {
    let place = AssociatedData { purpose: "webhooks.secret", row: webhook.as_bytes() };
    format!("'\\x{}'::bytea", hex::encode(encryptor.encrypt(place, secret.as_bytes())))
}
