//! Workspaces, whose files their owners alone read, and navigations in them. No node has the files
//! of the seeded ones.

use http::Method;
use rand::Rng as _;
use serde_json::json;

use super::draw::refused;
use super::{Draw, Target};
use crate::attempt::Attempt;
use crate::marks::Places;
use crate::oracle::{self, Action, CODE, READ, Rank};
use crate::world::{Person, Private, Project, Thing, World, navigation, workspace};

/// A workspace with a navigation and a patch in it.
#[derive(Clone, Copy)]
pub struct Held<'a> {
    pub project: &'a Project,
    pub private: &'a Private,
    pub workspace: &'a Thing,
    navigation: &'a Thing,
    pub patch: &'a Thing,
}

impl Held<'_> {
    pub fn is_of(self, person: &Person) -> bool {
        self.private.owner == person.id
    }
}

/// Draws a workspace, mostly one of the caller.
pub fn held<'a>(d: &mut Draw<'a>) -> Option<Held<'a>> {
    let Target::Of(project) = d.project() else { return None };
    let owners = &project.privates;
    let own = owners.iter().position(|one| one.owner == d.who.id).filter(|_| !d.one_in(3));
    let n = own.unwrap_or_else(|| d.rng.random_range(0..owners.len()));
    let (workspace, navigation) = (&project.workspaces[n], &project.navigations[n]);
    let patch = &project.patches[n];
    Some(Held { project, private: &owners[n], workspace, navigation, patch })
}

/// The places of all workspaces of a project: of their owners, some of whom have no role any more.
pub fn places(world: &World, project: &Project) -> Places {
    let owners = world.people.iter().filter(|one| project.private_of(one).is_some());
    project.private_places() | Places::all(owners.map(Person::place))
}

pub fn is_maintainer(d: &Draw<'_>, project: &Project) -> bool {
    oracle::role(d.who, project) >= Some(Rank::Maintainer)
}

/// Returns a request about a workspace, which its owner and the maintainers of its project see. The
/// role is checked first.
pub(super) fn of_workspace<'a>(
    d: &mut Draw<'a>,
    action: Action,
    request: impl Fn(&str) -> Attempt,
) -> (Attempt, Option<Held<'a>>) {
    let is_judged = |d: &Draw<'_>, project: &Project| oracle::role(d.who, project) < Some(action.0);
    of_held(d, action, |held| held.workspace, is_judged, request)
}

/// Returns a request about a thing that its owner and the maintainers of its project see. For
/// others there is none, unless they are judged by their role before.
pub(super) fn of_held<'a>(
    d: &mut Draw<'a>,
    action: Action,
    thing: fn(&Held<'a>) -> &'a Thing,
    is_judged: impl Fn(&Draw<'_>, &Project) -> bool,
    request: impl Fn(&str) -> Attempt,
) -> (Attempt, Option<Held<'a>>) {
    let held = held(d);
    let id = held.map_or_else(|| d.id(), |held| thing(&held).id);
    let attempt = request(&id.to_string());
    let Some(held) = held else { return (d.holding(attempt, action, None), None) };
    let project = held.project;
    let is_own = held.is_of(d.who);
    let is_seen = is_own || is_maintainer(d, project) || is_judged(d, project);
    let attempt = d.holding_if(is_seen, attempt, action, (project, thing(&held)));
    if !attempt.is_allowed() {
        return (attempt, None);
    }
    let shown = if is_own { Places::NONE } else { places(d.world, project) };
    let shown = attempt.places | shown;
    (attempt.places(shown), Some(held))
}

/// Returns a request about a navigation, which does not exist for others than its user.
fn of_navigation<'a>(
    d: &mut Draw<'a>,
    action: Action,
    request: impl Fn(&str) -> Attempt,
) -> (Attempt, Option<Held<'a>>) {
    let held = held(d);
    let id = held.map_or_else(|| d.id(), |held| held.navigation.id);
    let attempt = request(&id.to_string());
    let Some(held) = held else { return (d.holding(attempt, action, None), None) };
    let thing = (held.project, held.navigation);
    let attempt = d.holding_if(held.is_of(d.who), attempt, action, thing);
    let allowed = attempt.is_allowed().then_some(held);
    (attempt, allowed)
}

pub fn list(d: &mut Draw<'_>) -> Attempt {
    let target = d.project();
    let mut query = format!("/workspaces?project_key={}&limit=200", d.key(target));
    let all = d.one_in(3);
    if all {
        query.push_str("&all=true");
    }
    let pages = d.one_in(4);
    if pages {
        let id = held(d).map_or_else(|| d.id(), |held| held.workspace.id);
        query.push_str(&format!("&cursor={id}"));
    }
    listed(d, (Attempt::get(query), target), all, pages, |project| &project.workspaces)
}

/// A request for things of which each belongs to the owner of private data, or for `all` of them,
/// which maintainers see. A filtered list may leave out any.
pub(super) fn listed<'a>(
    d: &mut Draw<'a>,
    (attempt, target): (Attempt, Target<'a>),
    all: bool,
    is_filtered: bool,
    things: fn(&Project) -> &Vec<Thing>,
) -> Attempt {
    let attempt = d.in_project(attempt, READ, target);
    let (Target::Of(project), true) = (target, attempt.is_allowed()) else { return attempt };
    if all && !is_maintainer(d, project) {
        return refused(attempt, 403);
    }
    let is_listed = |private: &Private| !is_filtered && (all || private.owner == d.who.id);
    let shown = if all { places(d.world, project) } else { Places::NONE };
    let shown = attempt.places | shown;
    let owned = project.privates.iter().zip(things(project));
    let owned = owned.filter(|(private, _)| is_listed(private));
    owned.fold(attempt.places(shown), |attempt, (_, thing)| attempt.shows(&thing.mark))
}

pub fn show(d: &mut Draw<'_>) -> Attempt {
    let (attempt, held) = of_workspace(d, READ, |id| Attempt::get(format!("/workspaces/{id}")));
    held.into_iter().fold(attempt, |attempt, held| attempt.shows(&held.workspace.mark))
}

pub fn remove(d: &mut Draw<'_>) -> Attempt {
    let request = |id: &str| Attempt::delete(format!("/workspaces/{id}"));
    let (attempt, held) = of_workspace(d, READ, request);
    let Some(held) = held else { return attempt };
    // One that is there to be deleted: the others are to be seen.
    let spare = d.id();
    let request = d.signed(request(&spare.to_string())).places(attempt.places);
    request.before(workspace(held.project, spare, held.private.owner))
}

pub fn inspect(d: &mut Draw<'_>) -> Attempt {
    opened(d, READ, |id| Attempt::get(format!("/workspaces/{id}/inspection")))
}

pub fn read(d: &mut Draw<'_>) -> Attempt {
    opened(d, READ, |id| Attempt::get(format!("/workspaces/{id}/file?path=README.md")))
}

pub fn start(d: &mut Draw<'_>) -> Attempt {
    opened(d, READ, |id| Attempt::new(Method::POST, format!("/workspaces/{id}/navigations")))
}

/// A request for the files. The owner learns why there are none, and a maintainer that they are
/// another's.
pub fn opened(d: &mut Draw<'_>, action: Action, request: impl Fn(&str) -> Attempt) -> Attempt {
    let (attempt, held) = of_workspace(d, action, request);
    match held {
        Some(held) if held.is_of(d.who) => attempt.expect(409),
        Some(_) => refused(attempt, 403),
        None => attempt,
    }
}

pub fn create(d: &mut Draw<'_>) -> Attempt {
    let target = d.project();
    // As those to index; nothing fetches them here.
    let (location, name) = d.pick(&super::ingest::LOCATIONS);
    let body =
        json!({"project_key": d.key(target), "location": location, "owner": "team", "name": name});
    let attempt = Attempt::post("/workspaces", &body).expect(202);
    let attempt = d.in_project(attempt, oracle::ingest(target.project()), target);
    super::ingest::at_location(d, attempt, name)
}

pub fn create_folder(d: &mut Draw<'_>) -> Attempt {
    let target = d.project();
    let body = json!({"project_key": d.key(target), "directory": "/srv/repositories/core",
        "owner": "team", "name": "local"});
    let attempt = Attempt::post("/workspaces/folders", &body).expect(201);
    let attempt = d.in_project(attempt, oracle::ingest(target.project()), target);
    super::ingest::at_location(d, attempt, "local")
}

pub fn navigate(d: &mut Draw<'_>) -> Attempt {
    let body = d.pick(&[json!({"subcommand": "pwd"}), json!({"subcommand": "read", "path": "a"})]);
    worked(d, READ, |id| Attempt::post(format!("/navigations/{id}/navigator"), &body))
}

pub fn edit(d: &mut Draw<'_>) -> Attempt {
    let body = json!({"subcommand": "view", "path": "a"});
    worked(d, CODE, |id| Attempt::post(format!("/navigations/{id}/edit"), &body))
}

/// A request for the files by the handle of a navigation.
fn worked(d: &mut Draw<'_>, action: Action, request: impl Fn(&str) -> Attempt) -> Attempt {
    let (attempt, held) = of_navigation(d, action, request);
    if held.is_some() { attempt.expect(409) } else { attempt }
}

pub fn command(d: &mut Draw<'_>) -> Attempt {
    let command = d.id();
    let request = |id: &str| Attempt::get(format!("/navigations/{id}/commands/{command}"));
    let (attempt, held) = of_navigation(d, CODE, request);
    // The workspace could not be fetched, so no command runs.
    if held.is_some() { attempt.expect(409) } else { attempt }
}

pub fn end(d: &mut Draw<'_>) -> Attempt {
    let request = |id: &str| Attempt::delete(format!("/navigations/{id}"));
    let (attempt, held) = of_navigation(d, READ, request);
    let Some(held) = held else { return attempt };
    // One that is there to be ended: the others are still needed.
    let spare = d.id();
    let request = d.signed(request(&spare.to_string())).places(attempt.places);
    request.before(navigation(held.project, spare, held.workspace.id, held.private.owner))
}
