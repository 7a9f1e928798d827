//! Projects, their members, and the teams that they are shared with.

use std::collections::BTreeSet;

use serde_json::json;

use super::draw::refused;
use super::{Draw, Target};
use crate::attempt::Attempt;
use crate::marks::Places;
use crate::oracle::{self, MANAGE, READ, Scope};
use crate::world::{COMMON, Person, Post, Project, TENANTS};

pub fn create(d: &mut Draw<'_>) -> Attempt {
    let target = d.project();
    let key = match target {
        Target::Of(project) => project.key.clone(),
        Target::Missing => d.own_name(),
    };
    let attempt = Attempt::post("/projects", &json!({"key": key, "name": "Mine"}));
    let attempt = d.with_scope(attempt, Scope::Ingest);
    if !attempt.is_allowed() {
        return attempt;
    }
    let makes = oracle::makes_projects(d.who);
    match target {
        Target::Of(project) if oracle::role(d.who, project).is_some() => {
            let places = d.world.around(d.who, project);
            attempt.places(places)
        }
        Target::Missing if makes => attempt.expect(201),
        Target::Missing => refused(attempt, 403),
        // The response reveals only that the key exists, and only to callers who may create
        // projects.
        Target::Of(_) if makes => refused(attempt, 409),
        Target::Of(project) => {
            let twin = (project.key.clone(), d.name());
            Attempt { twin: Some(twin), ..refused(attempt, 403) }
        }
    }
}

pub fn list(d: &mut Draw<'_>) -> Attempt {
    let seen: Vec<_> =
        d.world.projects.iter().filter(|one| oracle::role(d.who, one).is_some()).collect();
    let places = if d.who.administers_service() {
        Places::ALL
    } else {
        Places::all(seen.iter().map(|project| Places::one(project.place)))
    };
    let expected: BTreeSet<_> = seen.iter().map(|project| project.key.clone()).collect();
    let all: BTreeSet<_> = d.world.projects.iter().map(|project| project.key.clone()).collect();
    let attempt = d.with_scope(Attempt::get("/projects").places(places), Scope::Read);
    attempt.check(move |answer| {
        let listed = answer.body["items"].as_array().into_iter().flatten();
        let listed: BTreeSet<_> =
            listed.filter_map(|one| Some(one["key"].as_str()?.to_owned())).collect();
        let listed: BTreeSet<_> = listed.intersection(&all).cloned().collect();
        let is_right = !answer.is_success() || listed == expected;
        is_right
            .then_some(())
            .ok_or_else(|| format!("the list is {listed:?}, and {expected:?} are theirs"))
    })
}

pub fn show(d: &mut Draw<'_>) -> Attempt {
    let target = d.project();
    let attempt = Attempt::get(format!("/projects/{}", d.key(target)));
    let attempt = d.in_project(attempt, READ, target);
    let Target::Of(project) = target else { return attempt };
    let private = project.private_of(d.who).map_or(0, |private| private.records.len());
    let own = [
        ("records", project.records.len() + project.proposals.len() + private),
        ("docs", project.docs.len()),
        ("dialogs", project.dialogs.len()),
        ("tasks", project.tasks.len()),
        ("repositories", project.repositories.len()),
        ("files", project.files.len()),
        ("passages", project.passages.len() + private),
    ];
    attempt.check(move |answer| {
        for (name, seeded) in own.iter().filter(|_| answer.is_success()) {
            let shown = answer.body[name].as_u64().ok_or_else(|| format!("no {name}"))?;
            // Attempts add fewer rows than this; another project has more.
            let most = *seeded as u64 + 2 + *seeded as u64 * 4;
            if shown < *seeded as u64 || shown > most {
                return Err(format!("{shown} {name}, where the project has {seeded}"));
            }
        }
        Ok(())
    })
}

pub fn remove(d: &mut Draw<'_>) -> Attempt {
    let target = d.project();
    let attempt = Attempt::delete(format!("/projects/{}", d.key(target)));
    let attempt = d.in_project(attempt, MANAGE, target);
    if !attempt.is_allowed() {
        return attempt;
    }
    let (key, id) = (d.own_name(), d.id());
    let sql = format!(
        "insert into projects (id, key, name) values ('{id}', '{key}', 'Spare');
         insert into project_members (project_id, user_id, role) values ('{id}', '{}', 'admin')",
        d.who.id
    );
    d.signed(Attempt::delete(format!("/projects/{key}"))).before(sql)
}

pub fn members(d: &mut Draw<'_>) -> Attempt {
    let target = d.project();
    let attempt = Attempt::get(format!("/projects/{}/members", d.key(target)));
    let attempt = d.in_project(attempt, READ, target);
    let Target::Of(project) = target else { return attempt };
    // A pawn may be a member for a while.
    let pawn = pawn(d, project).place();
    // Who is shut out is a member still.
    let shut_out = |one: &&Person| one.tenant == Some(project.tenant) && one.post == Post::Disabled;
    let shut_out = d.world.people.iter().find(shut_out).expect("somebody").place();
    let places = if attempt.is_allowed() {
        attempt.places | pawn | shut_out | Places::one(COMMON)
    } else {
        attempt.places
    };
    let is_admin = |one: &&Person| one.tenant == Some(project.tenant) && one.post == Post::Admin;
    let own = d.world.people.iter().find(is_admin).expect("an administrator").login.clone();
    attempt.places(places).shows(&own)
}

pub(super) fn pawn<'a>(d: &Draw<'a>, project: &Project) -> &'a Person {
    let people = &d.world.people;
    let of_tenant = |one: &&Person| one.tenant == Some(project.tenant) && one.post == Post::Pawn;
    people.iter().find(of_tenant).expect("a pawn")
}

pub fn set_member(d: &mut Draw<'_>) -> Attempt {
    of_member(d, |path| {
        Attempt::new(http::Method::PUT, path).json(&json!({"role": "viewer"})).expect(204)
    })
}

pub fn remove_member(d: &mut Draw<'_>) -> Attempt {
    let attempt = of_member(d, Attempt::delete);
    // A concurrent attempt may have removed the role already.
    if attempt.expected == [204] { attempt.or(404) } else { attempt }
}

fn of_member(d: &mut Draw<'_>, request: fn(String) -> Attempt) -> Attempt {
    let target = d.project();
    let login = d.pick(&d.world.people).login;
    let key = d.key(target);
    let path = |login: &str| format!("/projects/{key}/members/{login}");
    let attempt = d.in_project(request(path(&login)), MANAGE, target);
    let (Target::Of(project), true) = (target, attempt.is_allowed()) else { return attempt };
    // Only roles of persons who make no attempts are changed.
    let pawn = if d.one_in(5) { None } else { Some(pawn(d, project)) };
    let login = pawn.map_or_else(|| d.name(), |pawn| pawn.login.clone());
    let attempt = d.in_project(request(path(&login)), MANAGE, target);
    if pawn.is_some() { attempt } else { attempt.expect(404) }
}

pub fn share(d: &mut Draw<'_>) -> Attempt {
    let target = d.project();
    let key = d.key(target);
    let team = if d.one_in(6) { None } else { Some(d.pick(&(0..TENANTS).collect::<Vec<_>>())) };
    let (attempt, name) = with_team(d, target, &key, team, |path| {
        Attempt::new(http::Method::PUT, path).json(&json!({"role": "maintainer"})).expect(204)
    });
    let (Target::Of(project), true) = (target, attempt.is_allowed()) else { return attempt };
    let Some(tenant) = team else { return attempt.expect(404) };
    if !sees(d, tenant) {
        let missing = d.name();
        return Attempt { twin: Some((name, missing)), ..attempt.expect(404) };
    }
    // Shared as it is already, or with a team without a person who makes attempts.
    if project.is_main && tenant == project.tenant {
        return attempt;
    }
    spare_share(d, project, &key)
}

pub fn unshare(d: &mut Draw<'_>) -> Attempt {
    let target = d.project();
    let key = d.key(target);
    let tenant = d.pick(&(0..TENANTS).collect::<Vec<_>>());
    let (attempt, name) = with_team(d, target, &key, Some(tenant), Attempt::delete);
    let (Target::Of(project), true) = (target, attempt.is_allowed()) else { return attempt };
    let shares = project.is_main && tenant != (project.tenant + 2) % TENANTS;
    if !shares && !sees(d, tenant) {
        let missing = d.name();
        return Attempt { twin: Some((name, missing)), ..attempt.expect(404) };
    }
    if !shares {
        return attempt.expect(404);
    }
    let (team, key_of_team) = (d.id(), d.common_name());
    let sql = format!(
        "insert into teams (id, key, name) values ('{team}', '{key_of_team}', 'Spare');
         insert into project_teams (project_id, team_id, role) values ('{}', '{team}', 'viewer')",
        project.id
    );
    with_key(d, target, &key, &key_of_team, Attempt::delete).before(sql)
}

fn spare_share(d: &mut Draw<'_>, project: &Project, key: &str) -> Attempt {
    let (team, name) = (d.id(), d.common_name());
    let sql = format!(
        "insert into teams (id, key, name) values ('{team}', '{name}', 'Spare');
         insert into team_members (team_id, user_id, role) values ('{team}', '{}', 'viewer')",
        d.who.id
    );
    let places = d.world.around(d.who, project);
    let request = Attempt::new(http::Method::PUT, format!("/projects/{key}/teams/{name}"));
    d.signed(request.json(&json!({"role": "viewer"})).expect(204).places(places)).before(sql)
}

fn sees(d: &Draw<'_>, tenant: usize) -> bool {
    // An administrator of the service sees them all; the scope is that of the operation.
    d.who.administers_service() || oracle::team_role(d.who, tenant).is_some()
}

fn with_team<'a>(
    d: &mut Draw<'a>,
    target: Target<'a>,
    key: &str,
    tenant: Option<usize>,
    request: fn(String) -> Attempt,
) -> (Attempt, String) {
    let world = d.world;
    let name = tenant.map_or_else(|| d.name(), |tenant| world.teams[tenant].key.clone());
    (with_key(d, target, key, &name, request), name)
}

fn with_key<'a>(
    d: &mut Draw<'a>,
    target: Target<'a>,
    key: &str,
    team: &str,
    request: fn(String) -> Attempt,
) -> Attempt {
    d.in_project(request(format!("/projects/{key}/teams/{team}")), MANAGE, target)
}
