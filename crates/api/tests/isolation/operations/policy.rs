//! The policy of a project, with its versions and notification settings.

use http::Method;
use serde_json::json;

use super::draw::refused;
use super::{Draw, Target};
use crate::attempt::Attempt;
use crate::oracle::{OVERSEE, READ};
use crate::world;

pub fn show(d: &mut Draw<'_>) -> Attempt {
    let target = d.project();
    let attempt = Attempt::get(format!("/projects/{}/policy", d.key(target)));
    let attempt = d.in_project(attempt, READ, target);
    match target {
        Target::Of(project) => attempt.shows(&project.policy_mark),
        Target::Missing => attempt,
    }
}

/// Sets the policy to its current value, because the oracle of other attempts depends on it.
pub fn set(d: &mut Draw<'_>) -> Attempt {
    let target = d.project();
    let path = format!("/projects/{}/policy", d.key(target));
    let policy = match target {
        Target::Of(project) => world::policy(project),
        Target::Missing => json!({}),
    };
    let tag = d.pick(&["*", "*", "\"999999\"", ""]);
    let request = Attempt::new(Method::PUT, path).json(&policy);
    let request = if tag.is_empty() { request } else { request.header("if-match", tag) };
    let attempt = d.in_project(request, OVERSEE, target);
    match tag {
        _ if !attempt.is_allowed() => attempt,
        // A concurrent attempt may have changed it first.
        "*" => attempt.or(412),
        "" => refused(attempt, 428),
        _ => refused(attempt, 412),
    }
}

pub fn versions(d: &mut Draw<'_>) -> Attempt {
    let target = d.project();
    let attempt = Attempt::get(format!("/projects/{}/policy/versions?limit=20", d.key(target)));
    let attempt = d.in_project(attempt, OVERSEE, target);
    match target {
        Target::Of(project) => attempt.shows(&project.policy_mark),
        Target::Missing => attempt,
    }
}

pub fn notices(d: &mut Draw<'_>) -> Attempt {
    let target = d.project();
    let attempt = Attempt::get(format!("/projects/{}/notification-settings", d.key(target)));
    d.in_project(attempt, OVERSEE, target)
}
