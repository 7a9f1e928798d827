//! Audit events: those of a project for its maintainers, and those without a project for
//! administrators of the service.

use serde_json::json;

use super::{Draw, Target, projects};
use crate::attempt::Attempt;
use crate::marks::Places;
use crate::oracle::OVERSEE;
use crate::world::COMMON;

pub fn list(d: &mut Draw<'_>) -> Attempt {
    let (attempt, target) = of(d, "/audit?limit=200");
    let Target::Of(project) = target else { return attempt };
    if d.one_in(2) {
        return attempt;
    }
    let (login, missing) = (d.outsider(project), d.name());
    let target = format!("{}&actor={login}", attempt.target);
    if !attempt.is_allowed() || !attempt.target.contains("project_key") {
        return Attempt { target, ..attempt };
    }
    // The response does not reveal which other users exist.
    Attempt { target, twin: Some((login, missing)), ..attempt }
}

pub fn export(d: &mut Draw<'_>) -> Attempt {
    let (attempt, target) = of(d, "/audit/export?");
    match target {
        Target::Of(project) if attempt.target.contains("project_key") => {
            attempt.shows(&project.audit_mark)
        }
        _ => attempt,
    }
}

pub fn verification(d: &mut Draw<'_>) -> Attempt {
    let (attempt, _) = of(d, "/audit/verification?");
    attempt.check(|answer| {
        let holds = !answer.is_success()
            || (answer.body["is_valid"] == true && answer.body["events"] != json!(0));
        holds.then_some(()).ok_or_else(|| "the audit is not as it was written".to_owned())
    })
}

/// The audit of a project, or that of the service.
fn of<'a>(d: &mut Draw<'a>, path: &str) -> (Attempt, Target<'a>) {
    if d.one_in(4) {
        return (d.for_root(Attempt::get(path).places(Places::ALL)), Target::Missing);
    }
    let target = d.project();
    if d.one_in(6) {
        // As if the project had been removed: while it lives its audit is its own people's.
        let id = if let Target::Of(project) = target { project.id } else { d.id() };
        let attempt = Attempt::get(format!("{path}&project_id={id}").replace("?&", "?"));
        let attempt = d.for_root(attempt);
        let attempt = if attempt.is_allowed() { attempt.expect(404) } else { attempt };
        return (attempt, Target::Missing);
    }
    let attempt = Attempt::get(format!("{path}&project_key={}", d.key(target)).replace("?&", "?"));
    let attempt = d.in_project(attempt, OVERSEE, target);
    let (Target::Of(project), true) = (target, attempt.is_allowed()) else {
        return (attempt, target);
    };
    // Events name a user who had a role for a while, and the teams of attempts. Of private data
    // they have only the ids.
    let places = attempt.places | projects::pawn(d, project).place() | Places::one(COMMON);
    let ids = project.private_places();
    (Attempt { ids, ..attempt.places(places) }, target)
}
