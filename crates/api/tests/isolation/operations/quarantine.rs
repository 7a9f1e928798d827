//! Quarantine items, for maintainers.

use serde_json::json;

use super::{Draw, Target};
use crate::attempt::Attempt;
use crate::oracle::{self, CURATE, Rank};
use crate::world::{Person, Post, Project, Thing, quarantine_item};

pub fn list(d: &mut Draw<'_>) -> Attempt {
    let target = d.project();
    let mut query = format!("/quarantine?project_key={}&limit=200", d.key(target));
    let state = d.pick(&["", "pending", "deleted", "released"]);
    if !state.is_empty() {
        query.push_str(&format!("&state={state}"));
    }
    let attempt = d.in_project(Attempt::get(query), CURATE, target);
    match (target, state) {
        (Target::Of(project), "" | "pending") => attempt.shows(&project.quarantine_items[0].mark),
        (Target::Of(project), "deleted") => attempt.shows(&project.quarantine_items[1].mark),
        _ => attempt,
    }
}

pub fn show(d: &mut Draw<'_>) -> Attempt {
    let thing = d.thing(|project| &project.quarantine_items);
    let id = thing.map_or_else(|| d.id(), |(_, thing)| thing.id);
    let attempt = held(d, Attempt::get(format!("/quarantine/{id}")), thing);
    thing.into_iter().fold(attempt, |attempt, (_, thing)| attempt.shows(&thing.mark))
}

pub fn destroy(d: &mut Draw<'_>) -> Attempt {
    decided(d, |id| Attempt::delete(format!("/quarantine/{id}")))
}

pub fn release(d: &mut Draw<'_>) -> Attempt {
    decided(d, |id| Attempt::post(format!("/quarantine/{id}/release"), &json!({})))
}

fn held<'a>(
    d: &mut Draw<'a>,
    attempt: Attempt,
    thing: Option<(&'a Project, &'a Thing)>,
) -> Attempt {
    let Some((project, thing)) = thing else { return d.holding(attempt, CURATE, None) };
    let is_seen = oracle::role(d.who, project) >= Some(Rank::Maintainer);
    d.holding_if(is_seen, attempt, CURATE, (project, thing))
}

fn decided(d: &mut Draw<'_>, request: fn(&str) -> Attempt) -> Attempt {
    let thing = d.thing(|project| &project.quarantine_items);
    let id = thing.map_or_else(|| d.id(), |(_, thing)| thing.id);
    let attempt = held(d, request(&id.to_string()), thing);
    let (Some((project, _)), true) = (thing, attempt.is_allowed()) else { return attempt };
    if id == project.quarantine_items[1].id {
        return attempt.expect(409);
    }
    // One that is there to be decided about: the others are to be seen.
    let world = d.world;
    let of_tenant = |one: &&Person| one.tenant == Some(project.tenant) && one.post == Post::Agent;
    let sender = world.people.iter().find(of_tenant).expect("a program");
    let (spare, mark) = (d.id(), &d.of(project, |project| &project.records).mark);
    let words = format!("Gateway {} waits for its units to be counted: {mark}", d.name());
    let sql = quarantine_item(world, project, spare, sender, &words);
    d.signed(request(&spare.to_string())).places(attempt.places).before(sql)
}
