//! Questions to indexed repositories.

use serde_json::{Value, json};

use super::{Draw, Target};
use crate::attempt::Attempt;
use crate::marks::Places;
use crate::oracle::{self, READ, Scope};

pub fn of_one(d: &mut Draw<'_>) -> Attempt {
    let target = d.project();
    let mut body = question(d);
    body["project_key"] = d.key(target).into();
    let name = d.named(|project| &project.repositories);
    let is_named = d.one_in(2);
    if is_named {
        body["repoOwner"] = "team".into();
        body["repoName"] = name.as_str().into();
    }
    let attempt = d.in_project(Attempt::post("/rag/search", &body), READ, target);
    let (Target::Of(project), true) = (target, is_named && attempt.is_allowed()) else {
        return attempt;
    };
    if project.repositories.iter().any(|one| one.name == name) {
        return attempt;
    }
    let missing = d.name_like(&name);
    Attempt { twin: Some((name, missing)), ..attempt.expect(404) }
}

pub fn of_all(d: &mut Draw<'_>) -> Attempt {
    let body = question(d);
    let attempt = Attempt::post("/rag/search/global", &body);
    let own = d.world.projects.iter().filter(|one| oracle::role(d.who, one).is_some());
    let own: Vec<_> = own.collect();
    let places = if d.who.administers_service() {
        Places::ALL
    } else {
        own.iter().fold(d.who.place(), |places, project| places | d.world.around(d.who, project))
    };
    let attempt = d.with_scope(attempt, Scope::Read);
    attempt.places(places)
}

fn question(d: &mut Draw<'_>) -> Value {
    let mut body = json!({"rawQuery": d.words(), "topK": 40});
    if d.one_in(3) {
        body["filters"] = json!({"pathGlob": format!("{}*", d.named(|project| &project.files))});
    }
    body
}
