//! A tracker's issues.

use serde_json::json;

use super::{Draw, Target};
use crate::attempt::Attempt;
use crate::oracle::{self, CONFIRM, CURATE, PROPOSE, READ, Rank};

pub fn sync(d: &mut Draw<'_>) -> Attempt {
    let target = d.project();
    let mut tasks =
        json!([{"external_id": "CS-9000", "title": "The gateway's units", "status": "open"}]);
    if let Target::Of(project) = target {
        // The values are unchanged, because other attempts rely on them.
        let thing = d.of(project, |project| &project.tasks);
        tasks[0]["title"] = format!("The units of the gateway {}", thing.mark).into();
    }
    let body = json!({"project_key": d.key(target), "tasks": tasks});
    d.in_project(Attempt::post("/tasks/sync", &body), oracle::ingest(target.project()), target)
}

pub fn link(d: &mut Draw<'_>) -> Attempt {
    let target = d.project();
    let Target::Of(project) = target else {
        let body = json!({"project_key": d.key(target), "task_external_id": "CS-0"});
        return d.in_project(Attempt::post("/tasks/link", &body), PROPOSE, target);
    };
    let task = d.of(project, |project| &project.tasks).name.clone();
    let mut records: Vec<_> =
        (0..3).filter_map(|_| Some(d.thing(|project| &project.records)?.1.id)).collect();
    // Private data of others can't be linked.
    let private = d.pick(&project.privates);
    if private.owner != d.who.id {
        records.push(private.records[0].id);
    }
    let mut body =
        json!({"project_key": project.key, "task_external_id": task, "record_ids": records});
    let foreign: std::collections::HashSet<_> = records
        .iter()
        .filter(|id| !project.records.iter().any(|one| one.id == **id))
        .copied()
        .collect();
    let own: std::collections::HashSet<_> =
        records.iter().filter(|id| !foreign.contains(id)).collect();
    let linked = own.len();
    let dialog = d.thing(|project| &project.dialogs);
    let named = dialog.map_or(project.dialogs[0].id, |(_, thing)| thing.id);
    body["dialog_id"] = named.to_string().into();
    let attempt = d.in_project(Attempt::post("/tasks/link", &body), PROPOSE, target);
    if !attempt.is_allowed() {
        return attempt;
    }
    if !records.is_empty() && !oracle::decides(d.who, project) {
        return attempt.expect(403);
    }
    if !project.dialogs.iter().any(|one| one.id == named) {
        let twin = (named.to_string(), d.id().to_string());
        return Attempt { twin: Some(twin), ..attempt.expect(404) };
    }
    // Only a maintainer can move a dialog that another person sent.
    let moves_any = oracle::role(d.who, project) >= Some(Rank::Maintainer);
    let attempt = if moves_any { attempt } else { attempt.or(404) };
    attempt.check(move |answer| {
        if !answer.is_success() {
            return Ok(());
        }
        let (linked, unknown) =
            (json!(linked), answer.body["unknown_record_ids"].as_array().map(Vec::len));
        let is_right = answer.body["records_linked"] == linked && unknown >= Some(foreign.len());
        is_right.then_some(()).ok_or_else(|| format!("{linked} of the records are the project's"))
    })
}

pub fn show(d: &mut Draw<'_>) -> Attempt {
    let target = d.project();
    let name = d.named(|project| &project.tasks);
    let query = format!("/tasks/{name}?project_key={}", d.key(target));
    let attempt = d.in_project(Attempt::get(query), READ, target);
    let (Target::Of(project), true) = (target, attempt.is_allowed()) else { return attempt };
    if let Some(own) = project.tasks.iter().find(|one| one.name == name) {
        return attempt.shows(&own.mark);
    }
    let missing = d.name_like(&name);
    Attempt { twin: Some((name, missing)), ..attempt.expect(404) }
}

pub fn remove(d: &mut Draw<'_>) -> Attempt {
    let target = d.project();
    let name = d.named(|project| &project.tasks);
    let path = format!("/tasks/{name}?project_key={}", d.key(target));
    let attempt = d.in_project(Attempt::delete(path), CURATE, target);
    let (Target::Of(project), true) = (target, attempt.is_allowed()) else { return attempt };
    if !project.tasks.iter().any(|one| one.name == name) {
        let missing = d.name_like(&name);
        return Attempt { twin: Some((name, missing)), ..attempt.expect(404) };
    }
    // One that is there for it: the others are to be seen.
    let (spare, id) = (d.name(), d.id());
    let sql = format!(
        "insert into tasks (id, project_id, external_id, title)
         values ('{id}', '{}', '{spare}', 'The units of the gateway')",
        project.id
    );
    let request = Attempt::delete(format!("/tasks/{spare}?project_key={}", project.key));
    d.signed(request).places(attempt.places).before(sql)
}

/// The preview of a task comment. The seeded tasks have no integration.
pub fn comment(d: &mut Draw<'_>) -> Attempt {
    at_the_tracker(d, 409, Attempt::get)
}

/// Agreeing to that, which no project's policy lets be written.
pub fn agree(d: &mut Draw<'_>) -> Attempt {
    at_the_tracker(d, 403, |path| Attempt::post(path, &json!({"digest": "00".repeat(32)})))
}

/// A request about a task's tracker: one that is there is answered so, and one that is not like
/// none.
fn at_the_tracker(d: &mut Draw<'_>, status: u16, request: impl Fn(String) -> Attempt) -> Attempt {
    let target = d.project();
    let name = d.named(|project| &project.tasks);
    let path = format!("/tasks/{name}/comment?project_key={}", d.key(target));
    let attempt = d.in_project(request(path), CONFIRM, target);
    let (Target::Of(project), true) = (target, attempt.is_allowed()) else { return attempt };
    if project.tasks.iter().any(|one| one.name == name) {
        return attempt.expect(status);
    }
    let missing = d.name_like(&name);
    Attempt { twin: Some((name, missing)), ..attempt.expect(404) }
}
