//! `/tasks`: what a tracker says of its issues, and what here belongs to them.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use http::StatusCode;
use mc_domain::{AuditAction, DialogId, Permission, Policy, ProjectKey, RecordId};
use mc_memory::LinkIssue;
use mc_memory::content_filter::{filter_field, filter_field_text, run_blocking};
use mc_store::Store;
use mc_store::audit::{self, NewEvent};
use mc_store::pull_requests::{self, PullRequestFilter};
use mc_store::tasks::{self, NewTask, Upserted};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::pull_requests::PullRequest;
use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::{ValidJson, ValidPath, ValidQuery};
use crate::limits;
use crate::openapi::schemas;
use crate::problem::Problem;
use crate::validate::{self, Validate, ValidationError};

/// Issues as their tracker has them now.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "project_key": "shop",
    "tasks": [{
        "external_id": "CS-214", "title": "Trigger delay is nil for new carts", "status": "open",
        "assignee": "vera", "labels": ["bug"], "links": [{"title": "PR 88", "url": "https://git.example.org/pr/88"}]
    }]
}))]
pub struct SyncTasks {
    #[schema(value_type = schemas::ProjectKey)]
    project_key: String,
    /// 1 to 500 tasks.
    #[schema(min_items = 1, max_items = 500)]
    tasks: Vec<TaskInput>,
}

/// One issue.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskInput {
    /// The tracker's own id.
    #[schema(value_type = schemas::ExternalId)]
    external_id: String,
    #[schema(value_type = schemas::Title)]
    title: String,
    /// The tracker's word for the state.
    #[schema(value_type = Option<schemas::Name>)]
    status: Option<String>,
    #[schema(value_type = Option<schemas::Name>)]
    assignee: Option<String>,
    #[serde(default)]
    #[schema(value_type = schemas::Words)]
    labels: Vec<String>,
    #[serde(default)]
    #[schema(max_items = 32)]
    links: Vec<LinkInput>,
}

/// A link of an issue.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkInput {
    #[serde(default)]
    #[schema(value_type = schemas::OptionalTitle)]
    title: String,
    /// `http` or `https`.
    #[schema(value_type = schemas::WebUrl)]
    url: String,
}

/// A [`TaskSync`] as checked.
#[derive(Debug)]
pub struct ValidatedSync {
    project: ProjectKey,
    tasks: Vec<ValidatedTask>,
}

/// A [`TaskEntry`] as checked, not masked yet.
#[derive(Debug)]
pub struct ValidatedTask {
    external_id: String,
    title: String,
    status: Option<String>,
    assignee: Option<String>,
    labels: Vec<String>,
    links: Vec<tasks::TaskLink>,
}

impl Validate for SyncTasks {
    type Checked = ValidatedSync;

    fn check(self) -> Result<ValidatedSync, ValidationError> {
        Ok(ValidatedSync {
            project: validate::project_key("project_key", &self.project_key)?,
            tasks: validate::filled_records("tasks", self.tasks, limits::TASKS)?,
        })
    }
}

impl Validate for TaskInput {
    type Checked = ValidatedTask;

    fn check(self) -> Result<ValidatedTask, ValidationError> {
        Ok(ValidatedTask {
            external_id: validate::identifier(
                "external_id",
                &self.external_id,
                limits::EXTERNAL_ID,
            )?,
            title: validate::line("title", &self.title, limits::TITLE)?,
            status: validate::optional_line("status", self.status, limits::NAME)?,
            assignee: validate::optional_line("assignee", self.assignee, limits::NAME)?,
            labels: validate::words("labels", self.labels)?,
            links: validate::records("links", self.links, limits::LINKS)?,
        })
    }
}

impl Validate for LinkInput {
    type Checked = tasks::TaskLink;

    fn check(self) -> Result<tasks::TaskLink, ValidationError> {
        let title = Some(self.title).filter(|title| !title.is_empty());
        let title = validate::optional_line("title", title, limits::TITLE)?;
        Ok(tasks::TaskLink {
            title: title.unwrap_or_default(),
            url: validate::http_url("url", &self.url)?,
        })
    }
}

impl ValidatedTask {
    /// The task as the project's policy has it.
    fn taken(self, policy: &Policy) -> NewTask {
        let plain = |text: &str| filter_field_text(policy, text);
        let link = |tasks::TaskLink { title, url }| tasks::TaskLink {
            title: plain(&title),
            url: plain(&url),
        };
        NewTask {
            external_id: self.external_id,
            title: filter_field(policy, &self.title),
            status: self.status.as_deref().map(plain),
            assignee: self.assignee.as_deref().map(plain),
            labels: self.labels.iter().map(|label| plain(label)).collect(),
            links: self.links.into_iter().map(link).collect(),
            is_whole: true,
            source_updated_at: None,
        }
    }
}

/// How many tasks a synchronisation touched.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct SyncTasksResponse {
    created: usize,
    updated: usize,
    unchanged: usize,
}

/// What belongs to an issue.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"project_key": "shop", "task_external_id": "CS-214"}))]
pub struct LinkTask {
    #[schema(value_type = schemas::ProjectKey)]
    project_key: String,
    /// The tracker's own id; the task is created when no tracker has told of it yet.
    #[schema(value_type = schemas::ExternalId)]
    task_external_id: String,
    /// An existing dialog of one's own, for maintainers anybody's; when absent, the task's newest that is still
    /// empty, else a new one.
    dialog_id: Option<Uuid>,
    /// Live records to link too.
    #[serde(default)]
    #[schema(max_items = 200)]
    record_ids: Vec<Uuid>,
}

/// A [`TaskLinking`] as checked.
#[derive(Debug)]
pub struct ValidatedLinking {
    project: ProjectKey,
    task: String,
    dialog: Option<DialogId>,
    records: Vec<RecordId>,
}

impl Validate for LinkTask {
    type Checked = ValidatedLinking;

    fn check(self) -> Result<ValidatedLinking, ValidationError> {
        Ok(ValidatedLinking {
            project: validate::project_key("project_key", &self.project_key)?,
            task: validate::identifier(
                "task_external_id",
                &self.task_external_id,
                limits::EXTERNAL_ID,
            )?,
            dialog: self.dialog_id.map(DialogId),
            records: validate::list("record_ids", self.record_ids, limits::IDS, |_, id| {
                Ok(RecordId(id))
            })?,
        })
    }
}

/// What was linked.
#[derive(Debug, Serialize, ToSchema)]
pub struct LinkTaskResponse {
    task: Task,
    dialog_id: Uuid,
    records_linked: usize,
    /// Of `record_ids`, those that are no live records of the project.
    unknown_record_ids: Vec<Uuid>,
}

/// An issue in a path.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct TaskPath {
    /// The tracker's own id.
    #[param(value_type = schemas::ExternalId, inline)]
    external_id: String,
}

impl Validate for TaskPath {
    type Checked = String;

    fn check(self) -> Result<String, ValidationError> {
        validate::identifier("external_id", &self.external_id, limits::EXTERNAL_ID)
    }
}

/// Which project.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TaskQuery {
    /// The project's key.
    #[param(value_type = schemas::ProjectKey, inline)]
    project_key: String,
}

impl Validate for TaskQuery {
    type Checked = ProjectKey;

    fn check(self) -> Result<ProjectKey, ValidationError> {
        validate::project_key("project_key", &self.project_key)
    }
}

/// A link of an issue, masked where it held a secret.
#[derive(Debug, Serialize, ToSchema)]
pub struct TaskLink {
    title: String,
    url: String,
}

/// An issue as the project knows it.
#[derive(Debug, Serialize, ToSchema)]
pub struct Task {
    id: Uuid,
    external_id: String,
    /// Empty until the tracker was synced.
    title: String,
    /// `unknown` until the tracker was synced.
    status: String,
    assignee: Option<String>,
    labels: Vec<String>,
    links: Vec<TaskLink>,
    updated_at: DateTime<Utc>,
}

/// An issue and what belongs to it.
#[derive(Debug, Serialize, ToSchema)]
pub struct TaskWithLinks {
    #[serde(flatten)]
    task: Task,
    dialog_ids: Vec<Uuid>,
    record_ids: Vec<Uuid>,
    /// Pull and merge requests that speak of it, the newest first, at most 50.
    pull_requests: Vec<PullRequest>,
}

/// Take over what a tracker says of its issues.
#[utoipa::path(
    post, path = "/tasks/sync", tag = "tasks", request_body = SyncTasks,
    responses((status = 200, description = "All of them, or none", body = SyncTasksResponse))
)]
pub async fn sync(
    State(api): State<ApiState>,
    caller: Principal,
    ValidJson(request): ValidJson<SyncTasks>,
) -> Result<Json<SyncTasksResponse>, Problem> {
    let here = api.authorize(&caller, &request.project, Permission::Ingest).await?;
    let taken = all_taken(request.tasks, here.memory.policy.clone()).await;
    let mut answer = SyncTasksResponse::default();
    let mut tx = here.store.begin().await?;
    for task in taken {
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
#[utoipa::path(
    post, path = "/tasks/link", tag = "tasks", request_body = LinkTask,
    responses((status = 200, description = "Linked", body = LinkTaskResponse))
)]
pub async fn link(
    State(api): State<ApiState>,
    caller: Principal,
    ValidJson(request): ValidJson<LinkTask>,
) -> Result<Json<LinkTaskResponse>, Problem> {
    let here = api.authorize(&caller, &request.project, Permission::Propose).await?;
    let needed = here.project.policy.min_role(Permission::Write);
    if !request.records.is_empty() && here.project.role < needed {
        let detail = format!("takes the role {needed}: they are the team's");
        return Err(Problem::forbidden(detail).field("record_ids"));
    }
    let request = LinkIssue {
        project: here.project.id,
        task_external_id: request.task,
        dialog: request.dialog,
        moves_any: here.project.role >= here.project.policy.min_role(Permission::Curate),
        developer: None,
        records: request.records,
    };
    let linked = mc_memory::link_issue(&here.memory, &request).await?;
    Ok(Json(LinkTaskResponse {
        task: linked.task.into(),
        dialog_id: linked.dialog.into(),
        records_linked: linked.records.len(),
        unknown_record_ids: linked.unknown.into_iter().map(Into::into).collect(),
    }))
}

/// See an issue and what belongs to it.
#[utoipa::path(
    get, path = "/tasks/{external_id}", tag = "tasks", params(TaskPath, TaskQuery),
    responses((status = 200, description = "The issue", body = TaskWithLinks))
)]
pub async fn get(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(external_id): ValidPath<TaskPath>,
    ValidQuery(project): ValidQuery<TaskQuery>,
) -> Result<Json<TaskWithLinks>, Problem> {
    let here = api.authorize(&caller, &project, Permission::Read).await?;
    let task = found(&here.store, here.project.id, &external_id).await?;
    let (dialogs, records) = tasks::linked(&here.store, task.id).await?;
    let of_it = PullRequestFilter { task: Some(external_id), ..PullRequestFilter::default() };
    let changes =
        pull_requests::list(&here.store, here.project.id, &of_it, limits::DEFAULT_PAGE_LIMIT)
            .await?;
    Ok(Json(TaskWithLinks {
        task: task.into(),
        dialog_ids: dialogs.into_iter().map(Into::into).collect(),
        record_ids: records.into_iter().map(Into::into).collect(),
        pull_requests: changes.into_iter().map(Into::into).collect(),
    }))
}

/// Forget what was told of an issue, whoever told it.
///
/// The issue stays, with what is linked to it. What its tracker says of it from now on is taken in again.
/// Deliveries of webhooks that told of it are kept for their fourteen days.
#[utoipa::path(
    delete, path = "/tasks/{external_id}", tag = "tasks", params(TaskPath, TaskQuery),
    responses((status = 204, description = "Nothing is known of it but its id and its links"))
)]
pub async fn delete(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(external_id): ValidPath<TaskPath>,
    ValidQuery(project): ValidQuery<TaskQuery>,
) -> Result<StatusCode, Problem> {
    let here = api.authorize(&caller, &project, Permission::Curate).await?;
    let mut tx = here.store.begin().await?;
    let task = tasks::erase(&mut tx, here.project.id, &external_id).await?;
    let task = task.ok_or_else(|| unknown(&external_id))?;
    audit::record(&mut tx, NewEvent::new(AuditAction::TaskErased, task));
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// All of them as the project's policy has them: before a transaction is open, since it may take seconds.
async fn all_taken(tasks: Vec<ValidatedTask>, policy: Arc<Policy>) -> Vec<NewTask> {
    run_blocking(move || tasks.into_iter().map(|task| task.taken(&policy)).collect()).await
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

impl From<tasks::Task> for Task {
    fn from(task: tasks::Task) -> Self {
        let link = |tasks::TaskLink { title, url }| TaskLink { title, url };
        Self {
            id: task.id.into(),
            external_id: task.external_id,
            title: task.title,
            status: task.status,
            assignee: task.assignee,
            labels: task.labels,
            links: task.links.into_iter().map(link).collect(),
            updated_at: task.updated_at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fifty kilobytes that are searched for what addresses a model.
    #[tokio::test]
    async fn large_texts_are_masked_beside_the_others() {
        let task = ValidatedTask {
            external_id: "CS-1".to_owned(),
            title: "the delay is nil ".repeat(3_000),
            status: None,
            assignee: None,
            labels: Vec::new(),
            links: Vec::new(),
        };
        let mut taken = Box::pin(all_taken(vec![task], Arc::default()));
        assert!(futures::poll!(&mut taken).is_pending());
        assert_eq!(taken.await.len(), 1);
    }
}
