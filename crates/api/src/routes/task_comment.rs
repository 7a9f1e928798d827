//! `/tasks/{external_id}/comment`: the comment that tells a task's tracker which records and dialogs belong to it. It is
//! written where the project's policy lets it be and a person has agreed to the very text for that tracker, by a sum of
//! both.

use std::ops::RangeInclusive;

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use http::StatusCode;
use mc_domain::{AuditAction, Permission, ProjectKey};
use mc_memory::task_comment::{Subject, TaskCommentText, compose_comment};
use mc_store::audit::{self, NewEvent};
use mc_store::task_comments::{self, TaskOrigin};
use mc_store::tasks::Task;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use super::tasks::{TaskPath, TaskQuery, found};
use crate::ApiState;
use crate::authenticate::Principal;
use crate::authorize::ProjectContext;
use crate::extract::{ValidJson, ValidPath, ValidQuery};
use crate::openapi::schemas;
use crate::problem::Problem;
use crate::validate::{self, Validate, ValidationError};

/// Digits of a sum.
const DIGITS: RangeInclusive<usize> = 64..=64;

/// What a person agrees to.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "digest": "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9"
}))]
pub struct ApproveTaskComment {
    /// The sum of the text that was looked at, and of where it goes.
    #[schema(value_type = schemas::Sha256)]
    digest: String,
}

impl Validate for ApproveTaskComment {
    type Checked = String;

    fn check(self) -> Result<String, ValidationError> {
        validate::hex("digest", &self.digest, &DIGITS)
    }
}

/// The comment that a task's tracker has, or would have.
#[derive(Debug, Serialize, ToSchema)]
pub struct TaskComment {
    /// What would be written now, word by word.
    text: String,
    /// The sum of that text and of where it goes: who sends it back agrees to both.
    digest: String,
    /// The operator's name for the tracker.
    connector: String,
    /// What of it the project is connected to: a repository, or a project's key or identifier.
    resource: String,
    /// Whether the project's policy lets it be written (`trackers.post_comments`).
    is_allowed_by_policy: bool,
    /// Whether the comment that stands there says just that.
    is_current: bool,
    /// What became of the text that was agreed to last: `waiting`, `written`, or `failed`, which takes another
    /// agreement; absent where none ever was.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<String>,
    /// Why it was not written, or not yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// When the comment that stands there was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    posted_at: Option<DateTime<Utc>>,
}

/// The comment as it would be written now, and where.
struct Prepared {
    origin: TaskOrigin,
    comment: TaskCommentText,
    task_comment: Option<task_comments::TaskComment>,
}

/// See the comment that would tell an issue's tracker what belongs to it.
///
/// It names records and dialogs that are everybody's in the project, by title and id, and nothing else.
#[utoipa::path(
    get, path = "/tasks/{external_id}/comment", tag = "tasks", params(TaskPath, TaskQuery),
    responses((status = 200, description = "The very text; nothing is written", body = TaskComment))
)]
pub async fn get(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(external_id): ValidPath<TaskPath>,
    ValidQuery(project): ValidQuery<TaskQuery>,
) -> Result<Json<TaskComment>, Problem> {
    let here = api.authorize(&caller, &project, Permission::Confirm).await?;
    let task = found(&here.store, here.project.id, &external_id).await?;
    let prepared = prepared(&api, &here, &project, &task).await?;
    Ok(Json(prepared.view(&here)))
}

/// Agree to that comment, which is then written: one for an issue, changed from then on.
#[utoipa::path(
    post, path = "/tasks/{external_id}/comment", tag = "tasks", params(TaskPath, TaskQuery),
    request_body = ApproveTaskComment,
    responses((status = 202, description = "The text waits for a worker", body = TaskComment))
)]
pub async fn approve(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(external_id): ValidPath<TaskPath>,
    ValidQuery(project): ValidQuery<TaskQuery>,
    ValidJson(digest): ValidJson<ApproveTaskComment>,
) -> Result<(StatusCode, Json<TaskComment>), Problem> {
    let here = api.authorize(&caller, &project, Permission::Confirm).await?;
    let task = found(&here.store, here.project.id, &external_id).await?;
    if !here.project.policy.trackers.post_comments {
        return Err(not_allowed());
    }
    let prepared = prepared(&api, &here, &project, &task).await?;
    prepared.check(&digest)?;
    let mut tx = here.store.begin().await?;
    task_comments::ask(&mut tx, here.project.id, task.id, &digest).await?;
    let detail = json!({ "connector": prepared.origin.connector, "resource": prepared.origin.resource, "digest": digest });
    audit::record(&mut tx, NewEvent::new(AuditAction::TaskCommentApproved, task.id).with(detail));
    tx.commit().await?;
    let task_comment = task_comments::standing(&here.store, task.id).await?;
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
    let task_comment = task_comments::standing(&here.store, task.id).await?;
    Ok(Prepared { origin, comment, task_comment })
}

impl Prepared {
    /// Whether that is what was looked at, and worth being written.
    fn check(&self, digest: &str) -> Result<(), Problem> {
        if self.comment.digest != digest {
            return Err(Problem::conflict("the text is not the one that was looked at any more")
                .field("digest")
                .hint("GET the same path shows it as it is now, with its digest"));
        }
        let is_there = self.posted_digest().is_some();
        if self.comment.is_empty && !is_there {
            return Err(Problem::conflict("nothing belongs to the task that could be named")
                .field("external_id")
                .hint("link dialogs or records of the team to it with POST /tasks/link"));
        }
        Ok(())
    }

    fn posted_digest(&self) -> Option<&str> {
        self.task_comment.as_ref()?.posted_digest.as_deref()
    }

    fn view(self, here: &ProjectContext) -> TaskComment {
        let is_written = self.posted_digest() == Some(self.comment.digest.as_str());
        let (state, reason, written_at) = match self.task_comment {
            Some(standing) => (Some(standing.state), Some(standing.reason), standing.posted_at),
            None => (None, None, None),
        };
        TaskComment {
            text: self.comment.text,
            digest: self.comment.digest,
            connector: self.origin.connector,
            resource: self.origin.resource,
            is_allowed_by_policy: here.project.policy.trackers.post_comments,
            is_current: is_written,
            state,
            reason: reason.filter(|reason| !reason.is_empty()),
            posted_at: written_at,
        }
    }
}

fn not_allowed() -> Problem {
    Problem::forbidden("the project's policy does not let comments be written at trackers").hint(
        "a maintainer of the project may set {\"trackers\": {\"write_links\": true}} in its policy: \
         PUT /projects/{key}/policy",
    )
}

fn not_connected() -> Problem {
    Problem::conflict("the task came by no connection that is asked, so nothing can be written there")
        .field("external_id")
        .hint(
            "a maintainer connects the project to the tracker (POST /projects/{key}/integrations), or has a \
             paused connection asked again; then the task comes by it",
        )
}

fn not_named() -> Problem {
    Problem::conflict("the tracker of the task is not named by the service's operator any more")
        .field("external_id")
        .hint("have the operator name it in connectors")
}
