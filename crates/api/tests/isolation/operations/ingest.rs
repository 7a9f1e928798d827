//! Repositories and documents to index.

use serde_json::json;

use super::draw::refused;
use super::{Draw, Target, webhook_receiver};
use crate::attempt::Attempt;
use crate::oracle::{self, READ, Scope};

/// Locations of repositories with a name for each. A directory of the machine, its SSH key and a
/// host inside its network are for administrators with a scope of its own.
pub const LOCATIONS: [(&str, &str); 4] = [
    ("/srv/repositories/core", "local"),
    ("ssh://git@10.0.0.5/by-ssh.git", "by-ssh"),
    ("https://10.0.0.5:8443/inside.git", "inside"),
    ("https://93.184.215.14/spare.git", "spare"),
];

pub fn git(d: &mut Draw<'_>) -> Attempt {
    // Git hosts deliver to the same path, past all that asks for a token.
    if d.one_in(3) {
        return webhook_receiver::from_git_host(d);
    }
    let target = d.project();
    // Nothing runs the ingest here.
    let (location, name) = d.pick(&LOCATIONS);
    let body =
        json!({"project_key": d.key(target), "location": location, "owner": "team", "name": name});
    let attempt = Attempt::post("/ingest/git", &body).expect(202);
    let attempt = d.in_project(attempt, oracle::ingest(target.project()), target);
    at_location(d, attempt, name)
}

/// The request as a repository at one of the [`LOCATIONS`] has it.
pub fn at_location(d: &Draw<'_>, attempt: Attempt, name: &str) -> Attempt {
    if !attempt.is_allowed() || name == "spare" {
        return attempt;
    }
    let has_local_access = d.who.administers_service() && d.with.is_for(Scope::IngestLocal);
    match (has_local_access, name) {
        (false, _) => refused(attempt, 403),
        // The folder is not there: an administrator gets as far as that.
        (true, "local") => attempt.expect(400).or(404),
        (true, _) => attempt,
    }
}

pub fn docs(d: &mut Draw<'_>) -> Attempt {
    let target = d.project();
    let mut document = json!({"doc_id": "sent", "title": "Sent", "content": "The gateway's units"});
    if let Target::Of(project) = target {
        let thing = d.of(project, |project| &project.docs);
        let n = d.pick(&[0, 1]);
        document = json!({"doc_id": format!("sent-{n}"), "title": format!("Sent {n}"),
            "content": format!("# Units\n\nThe gateway counts in other units than the cart.\n\n{}",
            thing.mark)});
    }
    let body = json!({"project_key": d.key(target), "source": "sent", "documents": [document]});
    let action = oracle::ingest(target.project());
    d.in_project(Attempt::post("/ingest/docs", &body), action, target)
}

pub fn show(d: &mut Draw<'_>) -> Attempt {
    let run = d.thing(|project| &project.runs);
    let id = run.map_or_else(|| d.id(), |(_, thing)| thing.id);
    let attempt = d.holding(Attempt::get(format!("/ingest/runs/{id}")), READ, run);
    match run {
        Some((project, thing)) if attempt.is_allowed() => {
            attempt.shows(&thing.mark).check(super::memory::counts_own_vectors(Target::Of(project)))
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
        return attempt.shows(&own.mark).check(super::memory::counts_own_vectors(target));
    }
    let missing = d.name_like(&name);
    Attempt { twin: Some((name, missing)), ..attempt.expect(404) }
}
