//! Where other systems tell the projects of what happens there, and what they told, as statements
//! for the database.

use mc_crypto::{AssociatedData, Encryptor};
use serde_json::json;
use uuid::Uuid;

use super::rows::{Plain, Rows, row};
use super::seed::text;
use super::{Person, Post, Project, Thing, World};

/// Who sends: each project has a hook for each, by this name. Git hosts come first.
pub const SOURCES: [&str; 6] = ["github", "gitlab", "jira", "youtrack", "redmine", "confluence"];
/// How many of them are git hosts.
pub const GIT_HOSTS: usize = 2;
/// What came of deliveries.
pub const STATES: [&str; 3] = ["pending", "completed", "ignored"];
/// What every secret of the world's hooks begins with.
pub const HOOK_SECRET: &str = "hook-secret-";

/// What deliveries through a hook are signed with. It has the hook's mark, by which it is known
/// where it must not be.
pub fn hook_secret(hook: &Thing) -> String {
    format!("{HOOK_SECRET}{}", hook.mark)
}

/// Through which hook the n-th delivery of a project came, and what came of it.
pub fn came_through(project: &Project, n: usize) -> (&Thing, &'static str) {
    (&project.hooks[n % project.hooks.len()], STATES[n % STATES.len()])
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
            &project.hooks,
            |_, hook| {
                let secret = Plain(sealed(encryptor, hook.id, &hook_secret(hook)));
                row![hook.id, project.id, hook.name.as_str(), secret, maintainer]
            },
        );
        rows.each(
            "webhook_deliveries (id, project_id, webhook_id, external_id, event_type, event, \
             state, outcome, completed_at)",
            &project.deliveries,
            |n, Thing { id, name, mark }| {
                let (hook, state) = came_through(project, n);
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
                    hook.id,
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

/// A statement that adds a hook.
pub fn hook(world: &World, project: &Project, id: Uuid, source: &str) -> String {
    let secret = sealed(&world.encryptor, id, &format!("{HOOK_SECRET}{id}"));
    format!(
        "insert into webhooks (id, project_id, provider, secret)
         values ('{id}', '{}', '{source}', {secret})",
        project.id
    )
}

/// A statement that adds something which came through a hook of the project, with these words as
/// its name.
pub fn delivery(project: &Project, id: Uuid, words: &str) -> String {
    format!(
        "insert into webhook_deliveries (id, project_id, webhook_id, external_id, event_type, \
         event, state, outcome, completed_at)
         values ('{id}', '{}', '{}', '{id}', '{words}', '{{}}', 'completed', 'seen to', now())",
        project.id, project.hooks[0].id
    )
}

/// A hook's secret as the service keeps it, as a literal.
fn sealed(encryptor: &Encryptor, hook: Uuid, secret: &str) -> String {
    let place = AssociatedData { purpose: "webhooks.secret", row: hook.as_bytes() };
    format!("'\\x{}'::bytea", hex::encode(encryptor.encrypt(place, secret.as_bytes())))
}
