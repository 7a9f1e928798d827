//! Pull requests.

use super::{Draw, Target};
use crate::attempt::Attempt;
use crate::oracle::READ;

pub fn list(d: &mut Draw<'_>) -> Attempt {
    let target = d.project();
    let by = d.pick(&["", "task", "before"]);
    let task = d.named(|project| &project.tasks);
    let query = match by {
        "task" => format!("limit=200&task_external_id={task}"),
        "before" => {
            let one = d.thing(|project| &project.changes);
            format!("limit=2&cursor={}", one.map_or_else(|| d.id(), |(_, one)| one.id))
        }
        _ => "limit=200".to_owned(),
    };
    let attempt = Attempt::get(format!("/projects/{}/pull-requests?{query}", d.key(target)));
    let attempt = d.in_project(attempt, READ, target);
    let (Target::Of(project), true) = (target, attempt.is_allowed()) else { return attempt };
    let is_listed = |n: usize| match by {
        "task" => project.tasks[n % project.tasks.len()].name == task,
        "before" => false,
        _ => true,
    };
    let listed = project.changes.iter().enumerate().filter(|(n, _)| is_listed(*n));
    let attempt = listed.fold(attempt, |attempt, (_, one)| attempt.shows(&one.mark));
    if by != "task" || project.tasks.iter().any(|own| own.name == task) {
        return attempt;
    }
    // Others' tasks have no changes here, like those that are not there.
    let missing = d.name_like(&task);
    Attempt { twin: Some((task, missing)), ..attempt }
}

pub fn show(d: &mut Draw<'_>) -> Attempt {
    let target = d.project();
    let key = d.key(target);
    let named = d.thing(|project| &project.changes);
    let id = named.map_or_else(|| d.id(), |(_, one)| one.id);
    let attempt = Attempt::get(format!("/projects/{key}/pull-requests/{id}"));
    let attempt = d.in_project(attempt, READ, target);
    let (Target::Of(project), true) = (target, attempt.is_allowed()) else { return attempt };
    if let Some(own) = project.changes.iter().find(|one| one.id == id) {
        return attempt.shows(&format!("check {}", own.mark));
    }
    let twin = (id.to_string(), d.id().to_string());
    Attempt { twin: Some(twin), ..attempt.expect(404) }
}
