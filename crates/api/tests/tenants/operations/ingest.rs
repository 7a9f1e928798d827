//! Repositories and documents to index.

use serde_json::json;

use super::draw::refused;
use super::{Draw, Target, webhooks};
use crate::attempt::Attempt;
use crate::oracle::{INGEST, READ};

pub fn git(d: &mut Draw<'_>) -> Attempt {
    // Git hosts deliver to the same path, past all that asks for a token.
    if d.one_in(3) {
        return webhooks::from_git_host(d);
    }
    let target = d.project();
    // A folder of the machine is for its administrators; nothing runs the ingest here.
    let is_local = d.one_in(3);
    let location =
        if is_local { "/srv/repositories/core" } else { "https://git.example/spare.git" };
    let name = if is_local { "local" } else { "spare" };
    let body =
        json!({"project_key": d.key(target), "location": location, "owner": "team", "name": name});
    let attempt = Attempt::post("/ingest/git", &body).expect(202);
    let attempt = d.in_project(attempt, INGEST, target);
    if !attempt.is_allowed() || !is_local {
        return attempt;
    }
    // The folder is not there: an administrator gets as far as that.
    if d.who.administers_service() { attempt.expect(400).or(404) } else { refused(attempt, 403) }
}

pub fn docs(d: &mut Draw<'_>) -> Attempt {
    let target = d.project();
    let mut document = json!({"doc_id": "sent", "title": "Sent", "content": "The gateway's units"});
    if let Target::Of(project) = target {
        let thing = d.of(project, |project| &project.docs);
        let n = d.pick(&[0, 1]);
        document = json!({"doc_id": format!("sent-{n}"), "title": format!("Sent {n}"),
            "content": format!("# Units\n\nThe gateway counts in other units than the cart.\n\n{}", thing.mark)});
    }
    let body = json!({"project_key": d.key(target), "source": "sent", "documents": [document]});
    d.in_project(Attempt::post("/ingest/docs", &body), INGEST, target)
}

pub fn show(d: &mut Draw<'_>) -> Attempt {
    let run = d.thing(|project| &project.runs);
    let id = run.map_or_else(|| d.id(), |(_, thing)| thing.id);
    let attempt = d.holding(Attempt::get(format!("/ingest/{id}")), READ, run);
    match run {
        Some((project, thing)) if attempt.is_allowed() => {
            attempt.shows(&thing.mark).check(super::memory::waits_for_own(Target::Of(project)))
        }
        _ => attempt,
    }
}

pub fn of_repository(d: &mut Draw<'_>) -> Attempt {
    let target = d.project();
    let name = d.named(|project| &project.repositories);
    let attempt = Attempt::get(format!("/repos/team/{name}/index?project_key={}", d.key(target)));
    let attempt = d.in_project(attempt, READ, target);
    let (Target::Of(project), true) = (target, attempt.is_allowed()) else { return attempt };
    let own = project.repositories.iter().find(|one| one.name == name);
    if let Some(own) = own {
        return attempt.shows(&own.mark).check(super::memory::waits_for_own(target));
    }
    let missing = d.name_like(&name);
    Attempt { twin: Some((name, missing)), ..attempt.expect(404) }
}
