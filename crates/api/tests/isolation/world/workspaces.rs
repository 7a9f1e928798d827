//! Workspaces, navigations and patches of those who keep private data in the projects, as SQL
//! statements.
//!
//! The n-th workspace, navigation and patch of a project belong to the owner of its n-th private
//! data. No node has their files.

use rand::rngs::StdRng;
use serde_json::json;
use uuid::Uuid;

use super::rows::{Plain, Rows, row};
use super::{Private, Project, Thing};
use crate::marks::{id, mark};

/// Generates workspaces, navigations and patches. The private data must be there already.
pub fn invent(rng: &mut StdRng, projects: &mut [Project]) {
    for project in projects {
        let mut things = |private: &Private| {
            let mark = mark(rng, private.place);
            Thing { id: id(rng), name: format!("core-{mark}"), mark }
        };
        project.workspaces = project.privates.iter().map(&mut things).collect();
        project.navigations = project.privates.iter().map(&mut things).collect();
        project.patches = project.privates.iter().map(&mut things).collect();
    }
}

/// All of it as statements. The people must be there already.
pub fn sql(projects: &[Project]) -> String {
    let mut rows = Rows::default();
    for project in projects {
        rows.each(
            "workspaces (id, project_id, owner_id, repository_id, repo_owner, repo_name, kind, \
             is_editable, state, requested_ref, ingest_run_id, last_error, expires_at)",
            &project.workspaces,
            |n, Thing { id, name, mark }| {
                row![
                    *id,
                    project.id,
                    project.privates[n].owner,
                    None::<Uuid>,
                    "team",
                    name.as_str(),
                    "clone",
                    Plain("true"),
                    "failed",
                    mark.as_str(),
                    project.runs[n % project.runs.len()].id,
                    json!({"message": format!("error {mark}")}),
                    Plain("now() + interval '7 days'")
                ]
            },
        );
        rows.each(
            "navigations (id, project_id, workspace_id, user_id, cwd)",
            &project.navigations,
            |n, Thing { id, mark, .. }| {
                let workspace = project.workspaces[n].id;
                row![*id, project.id, workspace, project.privates[n].owner, mark.as_str()]
            },
        );
        rows.each(
            "patches (id, project_id, workspace_id, author_id, requires_manual_review, \
             instructions, diff, grade, summary, annotations, expires_at)",
            &project.patches,
            |n, Thing { id, name, mark }| {
                let path = format!("app/{name}.rb");
                row![
                    *id,
                    project.id,
                    project.workspaces[n].id,
                    project.privates[n].owner,
                    Plain("false"),
                    format!("instructions {mark}"),
                    format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-old\n+new {mark}\n"),
                    "exact",
                    vec![format!("summary {mark}")],
                    json!({
                        "files": [{"path": path, "operation": "modify", "changedLines": 2}],
                        "risks": [format!("risk {mark}")], "conflicts": [], "warnings": []
                    }),
                    Plain("now() + interval '1 day'")
                ]
            },
        );
        // The name of a repository that is there precedes the one at the time of the request.
        rows.0.push_str(&format!(
            "update workspaces set repository_id = '{}' where id = '{}';",
            project.repositories[0].id, project.workspaces[0].id
        ));
    }
    rows.0
}

/// A statement that adds a workspace of a user, which is not fetched yet.
pub fn workspace(project: &Project, id: Uuid, owner: Uuid) -> String {
    format!(
        "insert into workspaces (id, project_id, owner_id, repo_owner, repo_name, kind, \
         is_editable, state, expires_at)
         values ('{id}', '{}', '{owner}', 'team', 'spare', 'clone', true, 'queued', now() + \
         interval '1 day')",
        project.id
    )
}

/// A statement that starts a navigation of a user in a workspace.
pub fn navigation(project: &Project, id: Uuid, workspace: Uuid, user: Uuid) -> String {
    format!(
        "insert into navigations (id, project_id, workspace_id, user_id)
         values ('{id}', '{}', '{workspace}', '{user}')",
        project.id
    )
}

/// A statement that adds a patch of a user for a workspace.
pub fn patch(project: &Project, id: Uuid, workspace: Uuid, author: Uuid, state: &str) -> String {
    format!(
        "insert into patches (id, project_id, workspace_id, author_id, state, \
         requires_manual_review, instructions, diff, grade, summary, annotations, expires_at)
         values ('{id}', '{}', '{workspace}', '{author}', '{state}', false, '', 'spare', 'exact', \
         '{{}}', '{{}}', now() + interval '1 day')",
        project.id
    )
}
