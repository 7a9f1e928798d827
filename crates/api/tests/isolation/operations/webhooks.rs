//! Webhooks and their deliveries, for maintainers of the project.

use serde_json::json;
use uuid::Uuid;

use super::draw::naming;
use super::{Draw, Target};
use crate::attempt::{Answer, Attempt};
use crate::oracle::OVERSEE;
use crate::world::{self, SECRET_PREFIX, SOURCES, STATES, webhook_of_delivery};

pub fn create(d: &mut Draw<'_>) -> Attempt {
    let target = d.project();
    let mut body = json!({"provider": d.pick(&SOURCES)});
    if d.one_in(3) {
        body["secret"] = format!("made-by-the-sender-{}", d.name()).into();
    }
    let path = format!("/projects/{}/webhooks", d.key(target));
    d.in_project(Attempt::post(path, &body).expect(201), OVERSEE, target)
}

pub fn list(d: &mut Draw<'_>) -> Attempt {
    let target = d.project();
    let attempt = Attempt::get(format!("/projects/{}/webhooks", d.key(target)));
    let attempt = d.in_project(attempt, OVERSEE, target).check(keeps_secrets);
    match target {
        Target::Of(project) => {
            let ids = project.webhooks.iter().map(|webhook| webhook.id.to_string());
            ids.fold(attempt, |attempt, id| attempt.shows(&id))
        }
        Target::Missing => attempt,
    }
}

/// Checks that the secret of a webhook is shown only when it is created.
fn keeps_secrets(answer: &Answer) -> Result<(), String> {
    let has_secret = answer.text().contains(SECRET_PREFIX);
    if has_secret { Err("a webhook secret is shown".to_owned()) } else { Ok(()) }
}

pub fn rotate(d: &mut Draw<'_>) -> Attempt {
    let body = d.pick(&[
        json!({}),
        json!({"previous_secret_ttl_hours": 0}),
        json!({"previous_secret_ttl_hours": 168}),
    ]);
    let request = |key: &str, id: Uuid| {
        Attempt::post(format!("/projects/{key}/webhooks/{id}/rotate-secret"), &body)
    };
    changed(d, request)
}

pub fn remove(d: &mut Draw<'_>) -> Attempt {
    let request = |key: &str, id: Uuid| Attempt::delete(format!("/projects/{key}/webhooks/{id}"));
    changed(d, request)
}

fn changed(d: &mut Draw<'_>, request: impl Fn(&str, Uuid) -> Attempt) -> Attempt {
    let (attempt, own) = naming(d, |project| &project.webhooks, |_| OVERSEE, &request);
    let Some((project, _)) = own else { return attempt };
    // One that is there for it: deliveries come through the others.
    let (spare, source) = (d.id(), d.pick(&SOURCES));
    let sql = world::webhook(d.world, project, spare, source);
    let request = d.signed(request(&project.key, spare));
    request.places(attempt.places).before(sql).check(keeps_secrets)
}

pub fn deliveries(d: &mut Draw<'_>) -> Attempt {
    let target = d.project();
    let by = d.pick(&["", "webhook_id", "state", "cursor"]);
    let webhook =
        d.thing(|project| &project.webhooks).map_or_else(|| d.id(), |(_, webhook)| webhook.id);
    let state = d.pick(&STATES);
    let query = match by {
        "webhook_id" => format!("limit=200&webhook_id={webhook}"),
        "state" => format!("limit=200&state={state}"),
        "cursor" => {
            let one = d.thing(|project| &project.deliveries);
            let before = one.map_or_else(|| d.id(), |(_, one)| one.id);
            format!("limit=2&cursor={before}")
        }
        _ => "limit=200".to_owned(),
    };
    let attempt = Attempt::get(format!("/projects/{}/webhook-deliveries?{query}", d.key(target)));
    let attempt = d.in_project(attempt, OVERSEE, target);
    let (Target::Of(project), true) = (target, attempt.is_allowed()) else { return attempt };
    let is_listed = |n: usize| {
        let (through, ended) = webhook_of_delivery(project, n);
        match by {
            "webhook_id" => through.id == webhook,
            "state" => ended == state,
            "cursor" => false,
            _ => true,
        }
    };
    let listed = project.deliveries.iter().enumerate().filter(|(n, _)| is_listed(*n));
    let attempt = listed.fold(attempt, |attempt, (_, thing)| attempt.shows(&thing.mark));
    if by != "webhook_id" || project.webhooks.iter().any(|own| own.id == webhook) {
        return attempt;
    }
    // Webhooks of others have no deliveries to show, like unknown ones.
    let twin = (webhook.to_string(), d.id().to_string());
    Attempt { twin: Some(twin), ..attempt }
}

pub fn delivery(d: &mut Draw<'_>) -> Attempt {
    let request =
        |key: &str, id: Uuid| Attempt::get(format!("/projects/{key}/webhook-deliveries/{id}"));
    let (attempt, own) = naming(d, |project| &project.deliveries, |_| OVERSEE, request);
    own.into_iter().fold(attempt, |attempt, (_, thing)| attempt.shows(&thing.mark))
}

pub fn replay(d: &mut Draw<'_>) -> Attempt {
    let request = |key: &str, id: Uuid| {
        Attempt::post(format!("/projects/{key}/webhook-deliveries/{id}/replay"), &json!({}))
            .expect(202)
    };
    let (attempt, own) = naming(d, |project| &project.deliveries, |_| OVERSEE, request);
    let Some((project, _)) = own else { return attempt };
    // A delivery of its own, because the outcomes of the others are checked.
    let (spare, words) = (d.id(), d.name());
    let sql = world::delivery(project, spare, &words);
    let request = d.signed(request(&project.key, spare));
    request.places(attempt.places).before(sql).shows(&words)
}
