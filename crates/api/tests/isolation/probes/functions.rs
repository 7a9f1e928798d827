//! SQL of an attacker's choice that calls the functions of the worker role. They act only for the
//! user, or in the project, whose context the service has proved.

use mc_store::testing::{execute, last_text};
use mc_store::{Error, Store};
use uuid::Uuid;

use super::policies::is_refused;
use crate::run::Fault;
use crate::world::{Person, Post, Project, World};

/// A job kind that API requests enqueue, the argument with the id of its row, and the row.
type JobKind = (&'static str, &'static str, fn(&Project) -> Uuid);

const JOBS: [JobKind; 6] = [
    ("index_repository", "run", |project| project.runs[0].id),
    ("post_task_comment", "task", |project| project.tasks[0].id),
    ("run_hygiene_task", "report", |project| project.reports[0].id),
    ("sync_integration", "id", |project| project.integrations[0].id),
    ("process_delivery", "id", |project| project.deliveries[0].id),
    ("fetch_workspace", "id", |project| project.workspaces[0].id),
];

pub async fn functions(world: &World) -> Result<(), Fault> {
    let main =
        |tenant| world.projects.iter().find(|one: &&Project| one.is_main && one.tenant == tenant);
    let (ours, theirs) = (main(0).expect("a project"), main(1).expect("a project"));
    let of = |tenant, post| {
        let person = |one: &&Person| one.tenant == tenant && one.post == post;
        world.people.iter().find(person).expect("everybody")
    };
    let (root, viewer) = (of(None, Post::Root), of(Some(0), Post::Viewer));
    let maintainer = of(Some(0), Post::Maintainer);
    lookups(world, root, viewer, ours, theirs).await?;
    policies(world, root, maintainer, ours, theirs).await?;
    figures(world, viewer, ours, theirs).await?;
    spaces(world, viewer, maintainer, ours, theirs).await?;
    jobs(world, viewer, maintainer, ours, theirs).await?;
    deletions(world, maintainer, ours).await
}

/// Returns calls of the functions that find or create projects, for `who`, who has a workspace in
/// the project.
fn calls_for(who: Uuid, project: &Project) -> Vec<String> {
    let keys = |call: String| format!("select coalesce(string_agg(key, ','), '') from mc.{call}");
    let record = project.records[0].id;
    let own = project.privates.iter().position(|private| private.owner == who);
    let own = own.expect("a workspace");
    vec![
        keys(format!("list_projects('{who}')")),
        keys(format!("find_project_of_record('{who}', '{record}')")),
        keys(format!("find_project_of_bundle('{who}', '{}')", project.bundles[0].id)),
        keys(format!("find_project_of_ingest_run('{who}', '{}')", project.runs[0].id)),
        keys(format!(
            "find_project_of_quarantine_item('{who}', '{}')",
            project.quarantine_items[0].id
        )),
        keys(format!("find_project_of_workspace('{who}', '{}')", project.workspaces[own].id)),
        keys(format!("find_project_of_navigation('{who}', '{}')", project.navigations[own].id)),
        keys(format!("find_project_of_patch('{who}', '{}')", project.patches[own].id)),
        format!(
            "select coalesce(mc.create_project('{who}', gen_random_uuid(), 'mine', '')::text, '')"
        ),
    ]
}

/// Checks that only the context of a user finds their projects: not a forged context, that of
/// another user, or that of a project.
async fn lookups(
    world: &World,
    root: &Person,
    viewer: &Person,
    ours: &Project,
    theirs: &Project,
) -> Result<(), Fault> {
    let service = world.database.service();
    let invented = format!(
        "select set_config('memory_copilot.context', 'user {} {} {}', true)",
        Uuid::nil(),
        root.id,
        "0".repeat(64)
    );
    let (as_viewer, as_root) =
        (service.for_user(viewer.id.into()), service.for_user(root.id.into()));
    let in_project = world.as_seen_by(root, ours);
    let (nothing, forged): (&[&str], &[&str]) = (&[], &[&invented]);
    for call in calls_for(root.id, theirs) {
        for (store, before) in
            [(service, nothing), (service, forged), (&as_viewer, nothing), (&in_project, nothing)]
        {
            yields_nothing(store, &[before, &[&*call]].concat()).await?;
        }
        yields(&as_root, &call).await?;
    }
    Ok(())
}

/// A policy is set only by a maintainer in the project that was entered for them.
async fn policies(
    world: &World,
    root: &Person,
    maintainer: &Person,
    ours: &Project,
    theirs: &Project,
) -> Result<(), Fault> {
    let set = |project: &Project| {
        format!(
            "select coalesce(mc.set_policy('{}', '{}', null, '{{}}')::text, '')",
            root.id, project.id
        )
    };
    let service = world.database.service();
    yields_nothing(service, &[&set(theirs)]).await?;
    yields_nothing(&service.for_user(root.id.into()), &[&set(theirs)]).await?;
    yields_nothing(&world.as_seen_by(root, ours), &[&set(theirs)]).await?;
    yields_nothing(&world.as_seen_by(maintainer, ours), &[&set(ours)]).await?;
    yields(&world.as_seen_by(root, theirs), &set(theirs)).await
}

/// Figures are read only of the project that was entered.
async fn figures(
    world: &World,
    viewer: &Person,
    ours: &Project,
    theirs: &Project,
) -> Result<(), Fault> {
    let calls = |project: &Project| {
        let (id, period) = (project.id, "now() - interval '1 day', now()");
        [
            format!("usage_by_week('{id}', null, now() - interval '7 days', 1)"),
            format!("bugfix_lead_times('{id}', null, now(), now() + interval '1 day', now())"),
            format!("onboarding_time('{id}', null, {period})"),
            format!("count_bug_fixes('{id}')"),
        ]
        .map(|call| format!("select coalesce(nullif(count(*), 0)::text, '') from mc.{call}"))
    };
    let add_fix = format!(
        "with task as (
             insert into tasks (id, project_id, external_id, labels, opened_at)
             select gen_random_uuid(), p.id, 'PROBE-1', '{{bug}}', now() + interval '1 hour'
             from projects p where p.id in ('{}', '{}') returning project_id),
         change as (
             insert into pull_requests (id, project_id, external_id, title, state, author,
                                        source_updated_at, merged_at)
             select gen_random_uuid(), t.project_id, 'probe', '', 'merged', 'x', now(),
                    now() + interval '2 hours'
             from task t returning id, project_id)
         insert into pull_request_tasks (project_id, external_id, pull_request_id)
         select project_id, 'PROBE-1', id from change",
        ours.id, theirs.id
    );
    let remove_fix = "with change as (
            delete from pull_requests where external_id = 'probe')
        delete from tasks where external_id = 'PROBE-1'";
    let url = world.database.url();
    execute(url, &add_fix).await.map_err(|error| error.to_string())?;
    let checked = read_figures(world, viewer, ours, &calls(ours), &calls(theirs)).await;
    execute(url, remove_fix).await.map_err(|error| error.to_string())?;
    checked
}

async fn read_figures(
    world: &World,
    viewer: &Person,
    ours: &Project,
    own: &[String],
    foreign: &[String],
) -> Result<(), Fault> {
    let service = world.database.service();
    let as_viewer = world.as_seen_by(viewer, ours);
    for (own, foreign) in own.iter().zip(foreign) {
        yields_nothing(service, &[own]).await?;
        yields_nothing(&service.for_user(viewer.id.into()), &[own]).await?;
        yields_nothing(&as_viewer, &[foreign]).await?;
        yields(&as_viewer, own).await?;
    }
    Ok(())
}

/// The space of workspaces is told only to those who work in the project that was entered.
async fn spaces(
    world: &World,
    viewer: &Person,
    maintainer: &Person,
    ours: &Project,
    theirs: &Project,
) -> Result<(), Fault> {
    let call = |project: &Project| {
        format!(
            "select coalesce(nullif(count(*), 0)::text, '') from mc.workspace_space('{}', '{}')",
            project.id, maintainer.id
        )
    };
    let service = world.database.service();
    let as_maintainer = world.as_seen_by(maintainer, ours);
    yields_nothing(service, &[&call(ours)]).await?;
    yields_nothing(&service.for_user(maintainer.id.into()), &[&call(ours)]).await?;
    yields_nothing(&world.as_seen_by(viewer, ours), &[&call(ours)]).await?;
    yields_nothing(&as_maintainer, &[&call(theirs)]).await?;
    yields(&as_maintainer, &call(ours)).await
}

/// A job is enqueued only for a row of the project that was entered, with the role that it needs.
async fn jobs(
    world: &World,
    viewer: &Person,
    maintainer: &Person,
    ours: &Project,
    theirs: &Project,
) -> Result<(), Fault> {
    let as_maintainer = world.as_seen_by(maintainer, ours);
    for (kind, field, row) in JOBS {
        let (own, foreign) = (row(ours), row(theirs));
        let enqueue = |id: Uuid, key: &str| {
            format!("select mc.enqueue_job('{kind}', {key}, '{{\"{field}\": \"{id}\"}}', now(), 1)")
        };
        yields_nothing(world.database.service(), &[&enqueue(foreign, "null")]).await?;
        yields_nothing(&world.as_seen_by(viewer, ours), &[&enqueue(own, "null")]).await?;
        yields_nothing(&as_maintainer, &[&enqueue(foreign, "null")]).await?;
        yields_nothing(&as_maintainer, &[&enqueue(own, &format!("'{foreign} 1'"))]).await?;
        yields(&as_maintainer, &enqueue(own, &format!("'{own} 1'"))).await?;
    }
    Ok(())
}

/// A deleted integration takes no job of another one with it, even if it names the job.
async fn deletions(world: &World, maintainer: &Person, project: &Project) -> Result<(), Fault> {
    let (id, other) = (Uuid::now_v7(), project.integrations[0].id);
    let insert = format!(
        "insert into integrations (id, project_id, connector, resource, capability,
                                   interval_minutes, include_comments)
         values ('{id}', '{}', 'probe', 'probe', 'issues', 60, false)",
        project.id
    );
    let name = format!(
        "update integrations set job_id = mc.enqueue_job('sync_integration', null,
             '{{\"id\": \"{other}\"}}', now(), 1) where id = '{id}'"
    );
    let keep =
        format!("select set_config('probe.job', job_id, true) from integrations where id = '{id}'");
    let delete = format!("delete from integrations where id = '{id}'");
    let is_deleted = "select mc.is_job_finished(current_setting('probe.job'))::text";
    let statements = [&*insert, &*name, &*keep, &*delete, is_deleted];
    let got = last_text(&world.as_seen_by(maintainer, project), &statements).await;
    if matches!(got.as_deref(), Ok("false")) {
        return Ok(());
    }
    Err(format!("a deleted integration takes the job of another one with it: {got:?}"))
}

async fn yields_nothing(store: &Store, statements: &[&str]) -> Result<(), Fault> {
    let got = last_text(store, statements).await;
    let is_nothing = got.as_ref().map_or_else(|_| is_refused(&got), String::is_empty);
    if is_nothing {
        return Ok(());
    }
    Err(format!("{statements:?} without a proof yields {got:?}"))
}

/// Checks that a call with a proof returns a row. Otherwise the other checks would prove nothing.
async fn yields(store: &Store, call: &str) -> Result<(), Fault> {
    let got: Result<String, Error> = last_text(store, &[call]).await;
    match got {
        Ok(text) if !text.is_empty() => Ok(()),
        got => Err(format!("{call} with a proof yields {got:?}")),
    }
}
