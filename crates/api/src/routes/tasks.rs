//! `/tasks`: what a tracker says of its issues, and what here belongs to them.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use mc_contract::number::PageLimit;
use mc_contract::operations::link_task::{LinkTask, LinkTaskResponse};
use mc_contract::operations::project::ProjectQuery;
use mc_contract::operations::task::{
    LinkInput, SyncTasks, SyncTasksResponse, Task, TaskInput, TaskLink, TaskPath, TaskWithLinks,
};
use mc_domain::{AuditAction, Permission, Policy};
use mc_memory::LinkIssue;
use mc_memory::content_filter::{filter_field, filter_field_text, run_blocking};
use mc_store::Store;
use mc_store::audit::{self, NewEvent};
use mc_store::pull_requests::{self, PullRequestFilter};
use mc_store::tasks::{self, NewTask, Upserted};
use serde_json::json;

use super::pull_requests::pull_request;
use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::{JsonBody, PathParams, QueryString};
use crate::problem::Problem;

/// The task, filtered by the project's policy.
fn filtered(task: TaskInput, policy: &Policy) -> NewTask {
    let plain = |text: &str| filter_field_text(policy, text);
    let link = |link: LinkInput| tasks::TaskLink {
        title: plain(link.title.as_str()),
        url: plain(link.url.as_str()),
    };
    let labels: Vec<String> = task.labels.into_items();
    NewTask {
        external_id: task.external_id.into(),
        title: filter_field(policy, task.title.as_str()),
        status: task.status.map(|status| plain(status.as_str())),
        assignee: task.assignee.map(|assignee| plain(assignee.as_str())),
        labels: labels.iter().map(|label| plain(label)).collect(),
        links: task.links.into_iter().map(link).collect(),
        is_whole: true,
        source_updated_at: None,
    }
}

/// Store a tracker's issues.
///
/// Creates or updates each task of the request, all or none of them. Fields that are missing in an
/// issue are cleared on its task.
#[utoipa::path(
    post, path = "/tasks/sync", tag = "tasks", request_body = SyncTasks,
    responses((status = 200, description = "All of them, or none", body = SyncTasksResponse))
)]
pub async fn sync(
    State(api): State<ApiState>,
    caller: Principal,
    JsonBody(request): JsonBody<SyncTasks>,
) -> Result<Json<SyncTasksResponse>, Problem> {
    let here = api.authorize(&caller, &request.project_key, Permission::Ingest).await?;
    let tasks = all_filtered(request.tasks, here.memory.policy.clone()).await;
    let mut answer = SyncTasksResponse::default();
    let mut tx = here.store.begin().await?;
    for task in tasks {
        match tasks::upsert(&mut tx, here.project.id, &task).await? {
            Upserted::Created => answer.created += 1,
            Upserted::Updated => answer.updated += 1,
            Upserted::Unchanged => answer.unchanged += 1,
        }
    }
    // Trackers send all of it again and again.
    let SyncTasksResponse { created, updated, .. } = answer;
    if created + updated > 0 {
        let event = NewEvent::new(AuditAction::TasksSynced, &here.project.key);
        let detail = json!({ "created": created, "updated": updated });
        audit::record(&mut tx, event.with(detail));
    }
    tx.commit().await?;
    Ok(Json(answer))
}

/// Link a dialog and records to an issue.
///
/// The task is created if no tracker has sent it yet. Linking records of the team takes the role
/// that may save for the team.
#[utoipa::path(
    post, path = "/tasks/link", tag = "tasks", request_body = LinkTask,
    responses((status = 200, description = "Linked", body = LinkTaskResponse))
)]
pub async fn link(
    State(api): State<ApiState>,
    caller: Principal,
    JsonBody(request): JsonBody<LinkTask>,
) -> Result<Json<LinkTaskResponse>, Problem> {
    let here = api.authorize(&caller, &request.project_key, Permission::Propose).await?;
    let needed = here.project.policy.min_role(Permission::Write);
    if !request.record_ids.is_empty() && here.project.role < needed {
        let detail = format!("takes the role {needed}: they are the team's");
        return Err(Problem::forbidden(detail).field("record_ids"));
    }
    let request = LinkIssue {
        project: here.project.id,
        task_external_id: request.task_external_id.into(),
        dialog: request.dialog_id,
        moves_any: here.project.role >= here.project.policy.min_role(Permission::Curate),
        developer: None,
        records: request.record_ids.into_items(),
    };
    let linked = mc_memory::link_issue(&here.memory, &request).await?;
    Ok(Json(LinkTaskResponse {
        task: task(linked.task),
        dialog_id: linked.dialog,
        records_linked: linked.records.len(),
        unknown_record_ids: linked.unknown,
    }))
}

/// Get an issue and what is linked to it.
///
/// Returns the task with the ids of its dialogs and records, and the pull requests that mention it.
#[utoipa::path(
    get, path = "/tasks/{external_id}", tag = "tasks", params(TaskPath, ProjectQuery),
    responses((status = 200, description = "The issue", body = TaskWithLinks))
)]
pub async fn get(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(path): PathParams<TaskPath>,
    QueryString(query): QueryString<ProjectQuery>,
) -> Result<Json<TaskWithLinks>, Problem> {
    let here = api.authorize(&caller, &query.project_key, Permission::Read).await?;
    let task = found(&here.store, here.project.id, path.external_id.as_str()).await?;
    let (dialog_ids, record_ids) = tasks::linked(&here.store, task.id).await?;
    let filter =
        PullRequestFilter { task: Some(path.external_id.into()), ..PullRequestFilter::default() };
    let limit = PageLimit::default().get();
    let mentions = pull_requests::list(&here.store, here.project.id, &filter, limit).await?;
    Ok(Json(TaskWithLinks {
        task: self::task(task),
        dialog_ids,
        record_ids,
        pull_requests: mentions.into_iter().map(pull_request).collect(),
    }))
}

/// Delete what providers sent about an issue.
///
/// The task keeps its id and its links. Later updates of its tracker are stored again. Webhook
/// deliveries about it are kept for their fourteen days.
#[utoipa::path(
    delete, path = "/tasks/{external_id}", tag = "tasks", params(TaskPath, ProjectQuery),
    responses((status = 204, description = "Only its id and its links are left"))
)]
pub async fn delete(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(path): PathParams<TaskPath>,
    QueryString(query): QueryString<ProjectQuery>,
) -> Result<StatusCode, Problem> {
    let here = api.authorize(&caller, &query.project_key, Permission::Curate).await?;
    let external_id = path.external_id.as_str();
    let mut tx = here.store.begin().await?;
    let task = tasks::erase(&mut tx, here.project.id, external_id).await?;
    let task = task.ok_or_else(|| unknown(external_id))?;
    audit::record(&mut tx, NewEvent::new(AuditAction::TaskErased, task));
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Filters all tasks before a transaction begins, since it may take seconds.
async fn all_filtered(tasks: Vec<TaskInput>, policy: Arc<Policy>) -> Vec<NewTask> {
    run_blocking(move || tasks.into_iter().map(|task| filtered(task, &policy)).collect()).await
}

/// The task with this id of its tracker.
pub(super) async fn found(
    store: &Store,
    project: mc_domain::ProjectId,
    external_id: &str,
) -> Result<tasks::Task, Problem> {
    tasks::find(store, project, external_id).await?.ok_or_else(|| unknown(external_id))
}

fn unknown(external_id: &str) -> Problem {
    Problem::not_found(format!("the project has no task \"{external_id}\""))
        .field("external_id")
        .hint("send it with POST /tasks/sync, or link something to it with POST /tasks/link")
}

/// The task as it is sent.
fn task(task: tasks::Task) -> Task {
    let link = |tasks::TaskLink { title, url }| TaskLink { title, url };
    Task {
        id: task.id,
        external_id: task.external_id,
        title: task.title,
        status: task.status,
        assignee: task.assignee,
        labels: task.labels,
        links: task.links.into_iter().map(link).collect(),
        updated_at: task.updated_at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A long text of this size is scanned for prompt injection.
    #[tokio::test]
    async fn large_tasks_are_filtered_off_the_runtime() {
        let task = serde_json::from_value(json!({
            "external_id": "CS-1", "title": "the delay is nil",
            "labels": vec!["the delay is nil ".repeat(6); 64],
            "links": vec![json!({"title": "the delay is nil ".repeat(16),
                                 "url": "https://example.org/1"}); 32],
        }));
        let mut filtered = Box::pin(all_filtered(vec![task.expect("a task")], Arc::default()));
        assert!(futures::poll!(&mut filtered).is_pending());
        assert_eq!(filtered.await.len(), 1);
    }
}
