//! Teams and their members.

use serde_json::json;

use super::Draw;
use super::draw::refused;
use crate::attempt::Attempt;
use crate::marks::Places;
use crate::oracle::{self, Rank, Scope};
use crate::world::{COMMON, Post, TENANTS};

pub fn create(d: &mut Draw<'_>) -> Attempt {
    let key = d.common_name();
    d.for_root(Attempt::post("/teams", &json!({"key": key})).expect(201))
}

pub fn list(d: &mut Draw<'_>) -> Attempt {
    let sees_all = d.who.administers_service() && d.with.is_for(Scope::Admin);
    let own = (0..TENANTS).filter(|tenant| oracle::team_role(d.who, *tenant).is_some());
    let own = Places::all(own.map(|tenant| Places::one(d.world.teams[tenant].place)));
    // Teams with a common owner were created by attempts, and have their creators as members.
    let places = if sees_all { Places::ALL } else { own | Places::one(COMMON) };
    let keys: Vec<_> = d
        .world
        .teams
        .iter()
        .filter(|team| sees_all || own.holds(Places::one(team.place)))
        .collect();
    let keys: Vec<_> = keys.iter().map(|team| team.key.clone()).collect();
    let attempt = d.with_scope(Attempt::get("/teams").places(places), Scope::Read);
    keys.iter().fold(attempt, |attempt, key| attempt.shows(key))
}

pub fn remove(d: &mut Draw<'_>) -> Attempt {
    let (attempt, _) = administered(d, |key| Attempt::delete(format!("/teams/{key}")));
    if !attempt.is_allowed() {
        return attempt;
    }
    let (id, key) = (d.id(), d.common_name());
    let sql = format!(
        "insert into teams (id, key, name) values ('{id}', '{key}', 'Spare');
         insert into team_members (team_id, user_id, role) values ('{id}', '{}', 'admin')",
        d.who.id
    );
    d.signed(Attempt::delete(format!("/teams/{key}"))).before(sql)
}

pub fn members(d: &mut Draw<'_>) -> Attempt {
    let tenant = team(d);
    let name = key(d, tenant);
    let attempt = d.with_scope(Attempt::get(format!("/teams/{name}/members")), Scope::Read);
    if !attempt.is_allowed() {
        return attempt;
    }
    let Some(tenant) = tenant else { return refused(attempt, 404) };
    let sees_all = d.who.administers_service() && d.with.is_for(Scope::Admin);
    if oracle::team_role(d.who, tenant).is_none() && !sees_all {
        let missing = d.name();
        return Attempt { twin: Some((name, missing)), ..refused(attempt, 404) };
    }
    let inside = d.world.people.iter().filter(|one| one.tenant == Some(tenant));
    let inside = inside.filter(|one| matches!(one.post, Post::Admin | Post::Teammate | Post::Pawn));
    let places = Places::all(inside.map(crate::world::Person::place));
    attempt.places(places)
}

pub fn set_member(d: &mut Draw<'_>) -> Attempt {
    of_member(d, |path| {
        Attempt::new(http::Method::PUT, path).json(&json!({"role": "viewer"})).expect(204)
    })
}

pub fn remove_member(d: &mut Draw<'_>) -> Attempt {
    let attempt = of_member(d, Attempt::delete);
    if attempt.expected == [204] { attempt.or(404) } else { attempt }
}

fn of_member(d: &mut Draw<'_>, request: fn(String) -> Attempt) -> Attempt {
    let someone = d.pick(&d.world.people).login;
    let path = |key: &str, login: &str| format!("/teams/{key}/members/{login}");
    let tenant = team(d);
    let name = key(d, tenant);
    let (attempt, tenant) = administered_as(d, tenant, &name, request(path(&name, &someone)));
    let (Some(tenant), true) = (tenant, attempt.is_allowed()) else { return attempt };
    let pawn =
        d.world.people.iter().find(|one| one.tenant == Some(tenant) && one.post == Post::Pawn);
    let login = &pawn.expect("a pawn").login;
    d.signed(request(path(&name, login)))
}

fn team(d: &mut Draw<'_>) -> Option<usize> {
    let own = d.who.tenant.filter(|_| d.rng_bool());
    if d.one_in(8) {
        None
    } else {
        Some(own.unwrap_or_else(|| d.pick(&(0..TENANTS).collect::<Vec<_>>())))
    }
}

fn key(d: &mut Draw<'_>, tenant: Option<usize>) -> String {
    let world = d.world;
    tenant.map_or_else(|| d.name(), |tenant| world.teams[tenant].key.clone())
}

fn administered(d: &mut Draw<'_>, request: fn(&str) -> Attempt) -> (Attempt, Option<usize>) {
    let tenant = team(d);
    let name = key(d, tenant);
    administered_as(d, tenant, &name, request(&name))
}

/// An operation for administrators of the team or of the service.
fn administered_as(
    d: &mut Draw<'_>,
    tenant: Option<usize>,
    name: &str,
    request: Attempt,
) -> (Attempt, Option<usize>) {
    let attempt = d.with_scope(request, Scope::Admin);
    if !attempt.is_allowed() {
        return (attempt, tenant);
    }
    let Some(team) = tenant else { return (refused(attempt, 404), tenant) };
    let attempt = match oracle::team_role(d.who, team) {
        role if role == Some(Rank::Admin) || d.who.administers_service() => attempt,
        Some(_) => attempt.expect(403),
        None => {
            let missing = d.name();
            Attempt { twin: Some((name.to_owned(), missing)), ..refused(attempt, 404) }
        }
    };
    (attempt, tenant)
}
