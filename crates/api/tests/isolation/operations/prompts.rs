//! The system prompt of a project, and its versions.

use serde_json::json;

use super::draw::refused;
use super::{Draw, Target};
use crate::attempt::Attempt;
use crate::oracle::{CURATE, READ};

pub fn show(d: &mut Draw<'_>) -> Attempt {
    read(d, "")
}

pub fn versions(d: &mut Draw<'_>) -> Attempt {
    let path = d.pick(&["/versions", "/versions?limit=200", "/versions/1"]);
    read(d, path)
}

fn read(d: &mut Draw<'_>, path: &str) -> Attempt {
    let target = d.project();
    let attempt = Attempt::get(format!("/prompts/{}{path}", d.key(target)));
    let attempt = d.in_project(attempt, READ, target);
    match target {
        Target::Of(project) => attempt.shows(&project.bundles[0].mark),
        Target::Missing => attempt,
    }
}

/// Nothing is tried, and no version was in use before.
pub fn decide(d: &mut Draw<'_>) -> Attempt {
    let target = d.project();
    let action = d.pick(&["promote", "rollback"]);
    let request = Attempt::post(format!("/prompts/{}/{action}", d.key(target)), &json!({}));
    let attempt = d.in_project(request, CURATE, target);
    if attempt.is_allowed() { refused(attempt, 409) } else { attempt }
}
