//! `/tasks`: what a tracker says of its issues, and what here belongs to them.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use http::StatusCode;
use mc_domain::{Act, Action, DialogId, Policy, ProjectKey, RecordId};
use mc_memory::LinkIssue;
use mc_memory::gate::{beside, pass_alone, pass_text_alone};
use mc_store::Store;
use mc_store::audit::{self, NewEvent};
use mc_store::changes::{self, ChangeFilter};
use mc_store::tasks::{self, NewTask, Task, TaskLink, Upserted};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::changes::CodeChange;
use crate::ApiState;
use crate::auth::Principal;
use crate::check::{self, Check, Invalid};
use crate::extract::{ValidJson, ValidPath, ValidQuery};
use crate::limits;
use crate::problem::Problem;
use crate::shapes;

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
pub struct TaskSync {
    #[schema(value_type = shapes::ProjectKey)]
    project_key: String,
    /// 1 to 500 tasks.
    #[schema(min_items = 1, max_items = 500)]
    tasks: Vec<TaskEntry>,
}

/// One issue.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskEntry {
    /// The tracker's own id.
    #[schema(value_type = shapes::ExternalId)]
    external_id: String,
    #[schema(value_type = shapes::Title)]
    title: String,
    /// The tracker's word for the state.
    #[schema(value_type = Option<shapes::Name>)]
    status: Option<String>,
    #[schema(value_type = Option<shapes::Name>)]
    assignee: Option<String>,
    #[serde(default)]
    #[schema(value_type = shapes::Words)]
    labels: Vec<String>,
    #[serde(default)]
    #[schema(max_items = 32)]
    links: Vec<LinkEntry>,
}

/// A link of an issue.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkEntry {
    #[serde(default)]
    #[schema(value_type = shapes::OptionalTitle)]
    title: String,
    /// `http` or `https`.
    #[schema(value_type = shapes::WebUrl)]
    url: String,
}

/// A [`TaskSync`] as checked.
#[derive(Debug)]
pub struct CheckedSync {
    project: ProjectKey,
    tasks: Vec<CheckedTask>,
}

/// A [`TaskEntry`] as checked, not masked yet.
#[derive(Debug)]
pub struct CheckedTask {
    external_id: String,
    title: String,
    status: Option<String>,
    assignee: Option<String>,
    labels: Vec<String>,
    links: Vec<TaskLink>,
}

impl Check for TaskSync {
    type Checked = CheckedSync;

    fn check(self) -> Result<CheckedSync, Invalid> {
        Ok(CheckedSync {
            project: check::project_key("project_key", &self.project_key)?,
            tasks: check::filled_records("tasks", self.tasks, limits::TASKS)?,
        })
    }
}

impl Check for TaskEntry {
    type Checked = CheckedTask;

    fn check(self) -> Result<CheckedTask, Invalid> {
        Ok(CheckedTask {
            external_id: check::identifier("external_id", &self.external_id, limits::EXTERNAL_ID)?,
            title: check::line("title", &self.title, limits::TITLE)?,
            status: check::optional_line("status", self.status, limits::NAME)?,
            assignee: check::optional_line("assignee", self.assignee, limits::NAME)?,
            labels: check::words("labels", self.labels)?,
            links: check::records("links", self.links, limits::LINKS)?,
        })
    }
}

impl Check for LinkEntry {
    type Checked = TaskLink;

    fn check(self) -> Result<TaskLink, Invalid> {
        let title = Some(self.title).filter(|title| !title.is_empty());
        let title = check::optional_line("title", title, limits::TITLE)?;
        Ok(TaskLink { title: title.unwrap_or_default(), url: check::http_url("url", &self.url)? })
    }
}

impl CheckedTask {
    /// The task as the project's policy has it.
    fn taken(self, policy: &Policy) -> NewTask {
        let plain = |text: &str| pass_text_alone(policy, text);
        let link = |TaskLink { title, url }| TaskLink { title: plain(&title), url: plain(&url) };
        NewTask {
            external_id: self.external_id,
            title: pass_alone(policy, &self.title),
            status: self.status.as_deref().map(plain),
            assignee: self.assignee.as_deref().map(plain),
            labels: self.labels.iter().map(|label| plain(label)).collect(),
            links: self.links.into_iter().map(link).collect(),
            is_whole: true,
            said_at: None,
        }
    }
}

/// How many tasks a synchronisation touched.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct SyncAnswer {
    created: usize,
    updated: usize,
    unchanged: usize,
}

/// What belongs to an issue.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"project_key": "shop", "task_external_id": "CS-214"}))]
pub struct TaskLinking {
    #[schema(value_type = shapes::ProjectKey)]
    project_key: String,
    /// The tracker's own id; the task is created when no tracker has told of it yet.
    #[schema(value_type = shapes::ExternalId)]
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
pub struct CheckedLinking {
    project: ProjectKey,
    task: String,
    dialog: Option<DialogId>,
    records: Vec<RecordId>,
}

impl Check for TaskLinking {
    type Checked = CheckedLinking;

    fn check(self) -> Result<CheckedLinking, Invalid> {
        Ok(CheckedLinking {
            project: check::project_key("project_key", &self.project_key)?,
            task: check::identifier(
                "task_external_id",
                &self.task_external_id,
                limits::EXTERNAL_ID,
            )?,
            dialog: self.dialog_id.map(DialogId),
            records: check::list("record_ids", self.record_ids, limits::IDS, |_, id| {
                Ok(RecordId(id))
            })?,
        })
    }
}

/// What was linked.
#[derive(Debug, Serialize, ToSchema)]
pub struct LinkAnswer {
    task: TaskView,
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
    #[param(value_type = shapes::ExternalId, inline)]
    external_id: String,
}

impl Check for TaskPath {
    type Checked = String;

    fn check(self) -> Result<String, Invalid> {
        check::identifier("external_id", &self.external_id, limits::EXTERNAL_ID)
    }
}

/// Which project.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TaskQuery {
    /// The project's key.
    #[param(value_type = shapes::ProjectKey, inline)]
    project_key: String,
}

impl Check for TaskQuery {
    type Checked = ProjectKey;

    fn check(self) -> Result<ProjectKey, Invalid> {
        check::project_key("project_key", &self.project_key)
    }
}

/// A link of an issue, masked where it held a secret.
#[derive(Debug, Serialize, ToSchema)]
pub struct TaskLinkView {
    title: String,
    url: String,
}

/// An issue as the project knows it.
#[derive(Debug, Serialize, ToSchema)]
pub struct TaskView {
    id: Uuid,
    external_id: String,
    /// Empty until the tracker was synced.
    title: String,
    /// `unknown` until the tracker was synced.
    status: String,
    assignee: Option<String>,
    labels: Vec<String>,
    links: Vec<TaskLinkView>,
    updated_at: DateTime<Utc>,
}

/// An issue and what belongs to it.
#[derive(Debug, Serialize, ToSchema)]
pub struct TaskDetails {
    #[serde(flatten)]
    task: TaskView,
    dialog_ids: Vec<Uuid>,
    record_ids: Vec<Uuid>,
    /// Pull and merge requests that speak of it, the newest first, at most 50.
    changes: Vec<CodeChange>,
}

/// Take over what a tracker says of its issues.
#[utoipa::path(
    post, path = "/tasks/sync", tag = "tasks", request_body = TaskSync,
    responses((status = 200, description = "All of them, or none", body = SyncAnswer))
)]
pub async fn sync(
    State(api): State<ApiState>,
    caller: Principal,
    ValidJson(request): ValidJson<TaskSync>,
) -> Result<Json<SyncAnswer>, Problem> {
    let here = api.enter(&caller, &request.project, Action::Ingest).await?;
    let taken = all_taken(request.tasks, here.memory.policy.clone()).await;
    let mut answer = SyncAnswer::default();
    let mut tx = here.store.begin().await?;
    for task in taken {
        match tasks::upsert(&mut tx, here.project.id, &task).await? {
            Upserted::Created => answer.created += 1,
            Upserted::Updated => answer.updated += 1,
            Upserted::Unchanged => answer.unchanged += 1,
        }
    }
    // Trackers send all of it again and again.
    let SyncAnswer { created, updated, .. } = answer;
    if created + updated > 0 {
        let event = NewEvent::new(Act::TasksSynced, &here.project.key);
        let detail = json!({ "created": created, "updated": updated });
        audit::note(&mut tx, event.with(detail));
    }
    tx.commit().await?;
    Ok(Json(answer))
}

/// Link a dialog and records to an issue.
#[utoipa::path(
    post, path = "/tasks/link", tag = "tasks", request_body = TaskLinking,
    responses((status = 200, description = "Linked", body = LinkAnswer))
)]
pub async fn link(
    State(api): State<ApiState>,
    caller: Principal,
    ValidJson(request): ValidJson<TaskLinking>,
) -> Result<Json<LinkAnswer>, Problem> {
    let here = api.enter(&caller, &request.project, Action::Propose).await?;
    let needed = here.project.policy.least_role(Action::Write);
    if !request.records.is_empty() && here.project.role < needed {
        let detail = format!("takes the role {needed}: they are the team's");
        return Err(Problem::forbidden(detail).field("record_ids"));
    }
    let request = LinkIssue {
        project: here.project.id,
        task_external_id: request.task,
        dialog: request.dialog,
        moves_any: here.project.role >= here.project.policy.least_role(Action::Curate),
        developer: None,
        records: request.records,
    };
    let linked = mc_memory::link_issue(&here.memory, &request).await?;
    Ok(Json(LinkAnswer {
        task: linked.task.into(),
        dialog_id: linked.dialog.into(),
        records_linked: linked.records.len(),
        unknown_record_ids: linked.unknown.into_iter().map(Into::into).collect(),
    }))
}

/// See an issue and what belongs to it.
#[utoipa::path(
    get, path = "/tasks/{external_id}", tag = "tasks", params(TaskPath, TaskQuery),
    responses((status = 200, description = "The issue", body = TaskDetails))
)]
pub async fn show(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(external_id): ValidPath<TaskPath>,
    ValidQuery(project): ValidQuery<TaskQuery>,
) -> Result<Json<TaskDetails>, Problem> {
    let here = api.enter(&caller, &project, Action::Read).await?;
    let task = found(&here.store, here.project.id, &external_id).await?;
    let (dialogs, records) = tasks::linked(&here.store, task.id).await?;
    let of_it = ChangeFilter { task: Some(external_id), ..ChangeFilter::default() };
    let changes =
        changes::list(&here.store, here.project.id, &of_it, limits::DEFAULT_PAGE_LIMIT).await?;
    Ok(Json(TaskDetails {
        task: task.into(),
        dialog_ids: dialogs.into_iter().map(Into::into).collect(),
        record_ids: records.into_iter().map(Into::into).collect(),
        changes: changes.into_iter().map(Into::into).collect(),
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
pub async fn remove(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(external_id): ValidPath<TaskPath>,
    ValidQuery(project): ValidQuery<TaskQuery>,
) -> Result<StatusCode, Problem> {
    let here = api.enter(&caller, &project, Action::Curate).await?;
    let mut tx = here.store.begin().await?;
    let task = tasks::forget(&mut tx, here.project.id, &external_id).await?;
    let task = task.ok_or_else(|| unknown(&external_id))?;
    audit::note(&mut tx, NewEvent::new(Act::TaskForgotten, task));
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// All of them as the project's policy has them: before a transaction is open, since it may take seconds.
async fn all_taken(tasks: Vec<CheckedTask>, policy: Arc<Policy>) -> Vec<NewTask> {
    beside(move || tasks.into_iter().map(|task| task.taken(&policy)).collect()).await
}

/// The task with this id of its tracker.
pub(super) async fn found(
    store: &Store,
    project: mc_domain::ProjectId,
    external_id: &str,
) -> Result<Task, Problem> {
    tasks::find(store, project, external_id).await?.ok_or_else(|| unknown(external_id))
}

fn unknown(external_id: &str) -> Problem {
    Problem::not_found(format!("the project has no task \"{external_id}\""))
        .field("external_id")
        .hint("send it with POST /tasks/sync, or link something to it with POST /tasks/link")
}

impl From<Task> for TaskView {
    fn from(task: Task) -> Self {
        let link = |TaskLink { title, url }| TaskLinkView { title, url };
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
        let task = CheckedTask {
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
