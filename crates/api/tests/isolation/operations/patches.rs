//! Patches, which their authors and the maintainers of the project see. No node has the files of
//! the seeded workspaces, so none is proposed or reviewed.

use serde_json::json;

use super::draw::refused;
use super::workspaces::{Held, held, is_maintainer, of_workspace, opened, places};
use super::{Draw, Target};
use crate::attempt::Attempt;
use crate::marks::Places;
use crate::oracle::{Action, CODE, READ};
use crate::world::patch;

pub fn generate(d: &mut Draw<'_>) -> Attempt {
    let diff = "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+b\n";
    let body = d.pick(&[
        json!({"instructions": "Round it up"}),
        json!({"instructions": "Round it up", "diff": diff}),
    ]);
    opened(d, CODE, |id| Attempt::post(format!("/workspaces/{id}/patches"), &body))
}

pub fn review(d: &mut Draw<'_>) -> Attempt {
    let patch = d.thing(|project| &project.patches).map_or_else(|| d.id(), |(_, patch)| patch.id);
    let request =
        |id: &str| Attempt::post(format!("/workspaces/{id}/patches/{patch}/review"), &json!({}));
    opened(d, CODE, request)
}

pub fn run(d: &mut Draw<'_>) -> Attempt {
    let run = d.id();
    of_run(d, |id| Attempt::get(format!("/workspaces/{id}/patch-runs/{run}")))
}

pub fn cancel(d: &mut Draw<'_>) -> Attempt {
    let run = d.id();
    let request = |id: &str| Attempt::delete(format!("/workspaces/{id}/patch-runs/{run}"));
    of_run(d, |id| request(id).expect(200))
}

/// A request about a run of a workspace. There is none for those who see the workspace.
fn of_run(d: &mut Draw<'_>, request: impl Fn(&str) -> Attempt) -> Attempt {
    let (attempt, held) = of_workspace(d, CODE, request);
    if held.is_some() { refused(attempt, 404) } else { attempt }
}

/// Returns a request about a patch, which does not exist for others than its author and the
/// maintainers of its project.
fn of_patch<'a>(
    d: &mut Draw<'a>,
    action: Action,
    request: impl Fn(&str) -> Attempt,
) -> (Attempt, Option<Held<'a>>) {
    let held = held(d);
    let id = held.map_or_else(|| d.id(), |held| held.patch.id);
    let attempt = request(&id.to_string());
    let Some(held) = held else { return (d.holding(attempt, action, None), None) };
    let is_own = held.is_of(d.who);
    let is_seen = is_own || is_maintainer(d, held.project);
    let attempt = d.holding_if(is_seen, attempt, action, (held.project, held.patch));
    if !attempt.is_allowed() {
        return (attempt, None);
    }
    let shown = if is_own { Places::NONE } else { places(d.world, held.project) };
    let shown = attempt.places | shown;
    (attempt.places(shown), Some(held))
}

pub fn list(d: &mut Draw<'_>) -> Attempt {
    let target = d.project();
    let mut query = format!("/patches?project_key={}&limit=200", d.key(target));
    let all = d.one_in(3);
    if all {
        query.push_str("&all=true");
    }
    let is_filtered = d.one_in(3);
    if is_filtered {
        let (patch, workspace) = match held(d) {
            Some(held) => (held.patch.id, held.workspace.id),
            None => (d.id(), d.id()),
        };
        query.push_str(&d.pick(&[
            format!("&cursor={patch}"),
            format!("&workspaceId={workspace}"),
            "&state=discarded".to_owned(),
        ]));
    }
    let attempt = d.in_project(Attempt::get(query), READ, target);
    let (Target::Of(project), true) = (target, attempt.is_allowed()) else { return attempt };
    if all && !is_maintainer(d, project) {
        return refused(attempt, 403);
    }
    let who = d.who.id;
    let is_listed = |n: usize| all || project.privates[n].owner == who;
    let listed = (0..project.patches.len()).filter(|n| !is_filtered && is_listed(*n));
    let shown = if all { places(d.world, project) } else { Places::NONE };
    let shown = attempt.places | shown;
    listed.fold(attempt.places(shown), |attempt, n| attempt.shows(&project.patches[n].mark))
}

pub fn show(d: &mut Draw<'_>) -> Attempt {
    let (attempt, held) = of_patch(d, READ, |id| Attempt::get(format!("/patches/{id}")));
    held.into_iter().fold(attempt, |attempt, held| attempt.shows(&held.patch.mark))
}

pub fn discard(d: &mut Draw<'_>) -> Attempt {
    let request = |id: &str| Attempt::delete(format!("/patches/{id}")).expect(200);
    let (attempt, held) = of_patch(d, CODE, request);
    let Some(held) = held else { return attempt };
    // One that is there to be discarded, or was: the others are to be seen.
    let (spare, is_discarded) = (d.id(), d.one_in(4));
    let state = if is_discarded { "discarded" } else { "generated" };
    let request = d.signed(request(&spare.to_string())).places(attempt.places);
    let request =
        request.before(patch(held.project, spare, held.workspace.id, held.private.owner, state));
    if is_discarded { request.expect(409) } else { request }
}
