//! Patches, which their authors and the maintainers of the project see. No node has the files of
//! the seeded workspaces, so none is proposed, reviewed or tried.

use serde_json::json;

use super::Draw;
use super::draw::refused;
use super::workspaces::{Held, held, listed, of_held, of_workspace, opened};
use crate::attempt::Attempt;
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
    of_patch_in_workspace(d, "review")
}

pub fn preview(d: &mut Draw<'_>) -> Attempt {
    of_patch_in_workspace(d, "preview")
}

/// A request for work on any patch in any workspace.
fn of_patch_in_workspace(d: &mut Draw<'_>, work: &str) -> Attempt {
    let patch = d.thing(|project| &project.patches).map_or_else(|| d.id(), |(_, patch)| patch.id);
    let request =
        |id: &str| Attempt::post(format!("/workspaces/{id}/patches/{patch}/{work}"), &json!({}));
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
    of_held(d, action, |held| held.patch, |_, _| false, request)
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
    listed(d, (Attempt::get(query), target), all, is_filtered, |project| &project.patches)
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
