//! Hygiene: runs, for maintainers, and duplicates, for reviewers.

use serde_json::{Value, json};
use uuid::Uuid;

use super::draw::naming;
use super::{Draw, Target};
use crate::attempt::Attempt;
use crate::oracle::{self, CURATE, READ, WRITE};
use crate::world::{Project, cluster, pair};

pub fn reports(d: &mut Draw<'_>) -> Attempt {
    let target = d.project();
    let query = d.pick(&["limit=200", "limit=200&task=duplicates"]);
    let attempt = Attempt::get(format!("/projects/{}/hygiene-runs?{query}", d.key(target)));
    let attempt = d.in_project(attempt, CURATE, target);
    let reports = target.project().map_or(&[][..], |project| &project.reports);
    reports.iter().fold(attempt, |attempt, report| attempt.shows(&report.mark))
}

pub fn report(d: &mut Draw<'_>) -> Attempt {
    let request = |key: &str, id: Uuid| Attempt::get(format!("/projects/{key}/hygiene-runs/{id}"));
    let (attempt, own) = naming(d, |project| &project.reports, |_| CURATE, request);
    own.into_iter().fold(attempt, |attempt, (_, thing)| attempt.shows(&thing.mark))
}

pub fn run(d: &mut Draw<'_>) -> Attempt {
    let target = d.project();
    let body = json!({"task": "duplicates", "dry_run": d.rng_bool()});
    let request =
        Attempt::post(format!("/projects/{}/hygiene-runs", d.key(target)), &body).expect(202);
    d.in_project(request, CURATE, target)
}

pub fn clusters(d: &mut Draw<'_>) -> Attempt {
    let target = d.project();
    let attempt = Attempt::get(format!("/projects/{}/duplicates?limit=200", d.key(target)));
    let attempt = d.in_project(attempt, READ, target);
    let Target::Of(project) = target else { return attempt };
    let shown = (0..project.clusters.len()).flat_map(|n| pair(project, n));
    shown.fold(attempt, |attempt, record| attempt.shows(&record.mark))
}

pub fn accept(d: &mut Draw<'_>) -> Attempt {
    let body = d.pick(&[json!({}), json!({"keep": null})]);
    decided(d, "merge", &body, 200)
}

pub fn dismiss(d: &mut Draw<'_>) -> Attempt {
    decided(d, "dismiss", &json!({}), 204)
}

fn decided(d: &mut Draw<'_>, decision: &str, body: &Value, success: u16) -> Attempt {
    let request = |key: &str, id: Uuid| {
        Attempt::post(format!("/projects/{key}/duplicates/{id}/{decision}"), body).expect(success)
    };
    let least = |project: Option<&Project>| project.map_or(WRITE, oracle::review);
    let (attempt, own) = naming(d, |project| &project.clusters, least, request);
    let Some((project, _)) = own else { return attempt };
    // One that is there for it: the others are to be seen.
    let (spare, members, words) = (d.id(), [d.id(), d.id()], d.name());
    let request = d.signed(request(&project.key, spare)).places(attempt.places);
    request.before(cluster(project, spare, members, &words))
}

pub fn exports(d: &mut Draw<'_>) -> Attempt {
    let target = d.project();
    let attempt = Attempt::get(format!("/projects/{}/exports", d.key(target)));
    let attempt = d.in_project(attempt, READ, target);
    let exports = target.project().map_or(&[][..], |project| &project.exports);
    exports.iter().fold(attempt, |attempt, export| attempt.shows(&export.id.to_string()))
}

pub fn export(d: &mut Draw<'_>) -> Attempt {
    let request = |key: &str, id: Uuid| Attempt::get(format!("/projects/{key}/exports/{id}"));
    let (attempt, own) = naming(d, |project| &project.exports, |_| READ, request);
    own.into_iter().fold(attempt, |attempt, (_, thing)| attempt.shows(&thing.mark))
}
