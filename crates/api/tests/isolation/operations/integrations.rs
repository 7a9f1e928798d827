//! Connectors and integrations, for maintainers of the project.

use serde_json::json;
use uuid::Uuid;

use super::draw::naming;
use super::{Draw, Target};
use crate::attempt::Attempt;
use crate::marks::Places;
use crate::oracle::OVERSEE;
use crate::world::{self, CONNECTOR};

pub fn create(d: &mut Draw<'_>) -> Attempt {
    let target = d.project();
    let body = json!({"connector": CONNECTOR, "resource": d.name(), "interval_minutes": 60});
    let path = format!("/projects/{}/integrations", d.key(target));
    d.in_project(Attempt::post(path, &body).expect(201), OVERSEE, target)
}

pub fn list(d: &mut Draw<'_>) -> Attempt {
    let target = d.project();
    let attempt = Attempt::get(format!("/projects/{}/integrations", d.key(target)));
    let attempt = d.in_project(attempt, OVERSEE, target);
    match target {
        Target::Of(project) => {
            let marks = project.integrations.iter().map(|one| one.mark.as_str());
            marks.fold(attempt, Attempt::shows)
        }
        Target::Missing => attempt,
    }
}

pub fn show(d: &mut Draw<'_>) -> Attempt {
    let request = |key: &str, id: Uuid| Attempt::get(format!("/projects/{key}/integrations/{id}"));
    let (attempt, own) = naming(d, |project| &project.integrations, |_| OVERSEE, request);
    own.into_iter().fold(attempt, |attempt, (_, thing)| attempt.shows(&thing.mark))
}

pub fn change(d: &mut Draw<'_>) -> Attempt {
    let body = d.pick(&[json!({"interval_minutes": 30}), json!({"is_paused": true}), json!({})]);
    let request = |key: &str, id: Uuid| {
        let path = format!("/projects/{key}/integrations/{id}");
        Attempt::new(http::Method::PATCH, path).json(&body)
    };
    spared(d, request)
}

pub fn sync(d: &mut Draw<'_>) -> Attempt {
    let request = |key: &str, id: Uuid| {
        Attempt::post(format!("/projects/{key}/integrations/{id}/sync"), &json!({})).expect(202)
    };
    spared(d, request)
}

pub fn remove(d: &mut Draw<'_>) -> Attempt {
    let query = d.pick(&["", "?purge=true", "?purge=false"]);
    let request =
        |key: &str, id: Uuid| Attempt::delete(format!("/projects/{key}/integrations/{id}{query}"));
    spared(d, request)
}

/// A request that changes a connection: one that is there for it.
fn spared(d: &mut Draw<'_>, request: impl Fn(&str, Uuid) -> Attempt) -> Attempt {
    let (attempt, own) = naming(d, |project| &project.integrations, |_| OVERSEE, &request);
    let Some((project, _)) = own else { return attempt };
    let (spare, what) = (d.id(), d.name());
    let sql = world::integration(project, spare, &what);
    let request = d.signed(request(&project.key, spare));
    request.places(attempt.places).before(sql)
}

/// Connectors belong to the operator. The state of their integrations is visible to maintainers of
/// the project and to administrators.
pub fn connectors(d: &mut Draw<'_>) -> Attempt {
    if d.one_in(4) {
        return d.for_root(Attempt::get("/connectors").places(Places::ALL).shows(CONNECTOR));
    }
    let target = d.project();
    let attempt = Attempt::get(format!("/connectors?project_key={}", d.key(target)));
    d.in_project(attempt, OVERSEE, target)
}
