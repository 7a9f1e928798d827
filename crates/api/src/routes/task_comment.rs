//! `/tasks/{external_id}/comment`: the comment at a task's tracker that lists its records and
//! dialogs. It is posted if the project's policy allows it and a person has approved this text for
//! this tracker, by a digest of both.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use mc_contract::operations::project::ProjectQuery;
use mc_contract::operations::task::{ApproveTaskComment, TaskComment, TaskPath};
use mc_domain::{AuditAction, Permission, ProjectKey};
use mc_memory::task_comment::{Subject, TaskCommentText, compose_comment};
use mc_store::audit::{self, NewEvent};
use mc_store::task_comments::{self, TaskOrigin};
use mc_store::tasks::Task;
use serde_json::json;

use super::tasks::found;
use crate::ApiState;
use crate::authenticate::Principal;
use crate::authorize::ProjectContext;
use crate::extract::{JsonBody, PathParams, QueryString};
use crate::problem::Problem;

/// The comment as it would be posted now, and where.
struct Prepared {
    origin: TaskOrigin,
    comment: TaskCommentText,
    task_comment: Option<task_comments::TaskComment>,
}

/// Preview a task comment.
///
/// Returns the text that would be posted at the tracker, and its digest; nothing is posted.
/// The text lists records and dialogs that all members may read, by title and id.
#[utoipa::path(
    get, path = "/tasks/{external_id}/comment", tag = "tasks", params(TaskPath, ProjectQuery),
    responses((status = 200, description = "The text that would be posted", body = TaskComment))
)]
pub async fn get(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(path): PathParams<TaskPath>,
    QueryString(query): QueryString<ProjectQuery>,
) -> Result<Json<TaskComment>, Problem> {
    let here = api.authorize(&caller, &query.project_key, Permission::Confirm).await?;
    let task = found(&here.store, here.project.id, path.external_id.as_str()).await?;
    let prepared = prepared(&api, &here, &query.project_key, &task).await?;
    Ok(Json(prepared.view(&here)))
}

/// Approve a task comment.
///
/// A job then posts the text that has the digest. An issue has one comment, which later approvals
/// update.
#[utoipa::path(
    post, path = "/tasks/{external_id}/comment", tag = "tasks", params(TaskPath, ProjectQuery),
    request_body = ApproveTaskComment,
    responses((status = 202, description = "The comment will be posted by a worker",
               body = TaskComment))
)]
pub async fn approve(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(path): PathParams<TaskPath>,
    QueryString(query): QueryString<ProjectQuery>,
    JsonBody(approval): JsonBody<ApproveTaskComment>,
) -> Result<(StatusCode, Json<TaskComment>), Problem> {
    let here = api.authorize(&caller, &query.project_key, Permission::Confirm).await?;
    let task = found(&here.store, here.project.id, path.external_id.as_str()).await?;
    if !here.project.policy.trackers.post_comments {
        return Err(not_allowed());
    }
    let prepared = prepared(&api, &here, &query.project_key, &task).await?;
    let digest = String::from(approval.digest);
    prepared.check(&digest)?;
    let mut tx = here.store.begin().await?;
    task_comments::approve(&mut tx, here.project.id, task.id, &digest).await?;
    let detail = json!({ "connector": prepared.origin.connector,
                        "resource": prepared.origin.resource, "digest": digest });
    audit::record(&mut tx, NewEvent::new(AuditAction::TaskCommentApproved, task.id).with(detail));
    tx.commit().await?;
    let task_comment = task_comments::find(&here.store, task.id).await?;
    let prepared = Prepared { task_comment, ..prepared };
    Ok((StatusCode::ACCEPTED, Json(prepared.view(&here))))
}

async fn prepared(
    api: &ApiState,
    here: &ProjectContext,
    key: &ProjectKey,
    task: &Task,
) -> Result<Prepared, Problem> {
    let origin = task_comments::origin(&here.store, task.id).await?.ok_or_else(not_connected)?;
    let system = api.connectors.find(&origin.connector, key).ok_or_else(not_named)?;
    let subject = Subject {
        project: key,
        task: task.id,
        external_id: &task.external_id,
        tracker: system.kind(),
        connector: &origin.connector,
        resource: &origin.resource,
    };
    let comment = compose_comment(&here.store, &here.project.policy, subject).await?;
    let task_comment = task_comments::find(&here.store, task.id).await?;
    Ok(Prepared { origin, comment, task_comment })
}

impl Prepared {
    /// Checks that this is the reviewed text, and that it is worth posting.
    fn check(&self, digest: &str) -> Result<(), Problem> {
        if self.comment.digest != digest {
            return Err(Problem::conflict("the comment has changed since you reviewed it")
                .field("digest")
                .hint("GET the same path and approve the new digest"));
        }
        let is_posted = self.posted_digest().is_some();
        if self.comment.is_empty && !is_posted {
            return Err(Problem::conflict("no record or dialog is linked to the task")
                .field("external_id")
                .hint("link dialogs or records of the team to it with POST /tasks/link"));
        }
        Ok(())
    }

    fn posted_digest(&self) -> Option<&str> {
        self.task_comment.as_ref()?.posted_digest.as_deref()
    }

    fn view(self, here: &ProjectContext) -> TaskComment {
        let is_current = self.posted_digest() == Some(self.comment.digest.as_str());
        let (state, reason, posted_at) = match self.task_comment {
            Some(comment) => (Some(comment.state), Some(comment.reason), comment.posted_at),
            None => (None, None, None),
        };
        TaskComment {
            text: self.comment.text,
            digest: self.comment.digest,
            connector: self.origin.connector,
            resource: self.origin.resource,
            is_allowed_by_policy: here.project.policy.trackers.post_comments,
            is_current,
            state,
            reason: reason.filter(|reason| !reason.is_empty()),
            posted_at,
        }
    }
}

fn not_allowed() -> Problem {
    Problem::forbidden("the project's policy does not allow task comments").hint(
        "a maintainer of the project may set {\"trackers\": {\"post_comments\": true}} in its \
         policy: PUT /projects/{key}/policy",
    )
}

fn not_connected() -> Problem {
    Problem::conflict("no active integration syncs this task, so no comment can be posted")
        .field("external_id")
        .hint(
            "a maintainer may create an integration with the tracker (POST \
             /projects/{key}/integrations) or resume a paused one; its next sync brings the task",
        )
}

fn not_named() -> Problem {
    Problem::conflict("the tracker of the task is no longer configured")
        .field("external_id")
        .hint("ask the operator to add it to `connectors` of the configuration")
}
