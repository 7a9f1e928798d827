//! `/tasks`: a tracker's issues as the project knows them, and the items linked to them.

use chrono::{DateTime, Utc};
use mc_domain::{DialogId, RecordId, TaskId};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use super::pull_request::PullRequest;
use crate::list::{RecordIds, ShortTexts, limited, limited_nonempty};
use crate::text::{IssueId, Name, OptionalTitle, Sha256, Title, WebUrl};
use crate::{ProjectKey, Request};

/// Issues as their tracker has them now.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "project_key": "shop",
    "tasks": [{
        "external_id": "CS-214", "title": "Trigger delay is nil for new carts", "status": "open",
        "assignee": "vera", "labels": ["bug"],
        "links": [{"title": "PR 88", "url": "https://git.example.org/pr/88"}]
    }]
}))]
pub struct SyncTasks {
    /// Key of the project.
    pub project_key: ProjectKey,
    /// 1 to 500 tasks.
    #[serde(deserialize_with = "limited_nonempty::<500, _, _>")]
    #[schema(min_items = 1, max_items = 500)]
    pub tasks: Vec<TaskInput>,
}

impl Request for SyncTasks {}

/// One issue. Fields that are missing are cleared.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskInput {
    /// The tracker's own id.
    pub external_id: IssueId,
    /// One line that names it.
    pub title: Title,
    /// The tracker's word for its state.
    pub status: Option<Name>,
    /// The tracker's name of the person who works on it.
    pub assignee: Option<Name>,
    /// The tracker's labels.
    #[serde(default)]
    pub labels: ShortTexts,
    /// When it was opened; an absent time keeps the stored one.
    pub opened_at: Option<DateTime<Utc>>,
    /// When it was closed.
    pub closed_at: Option<DateTime<Utc>>,
    /// Links that the tracker names.
    #[serde(default, deserialize_with = "limited::<32, _, _>")]
    #[schema(max_items = 32)]
    pub links: Vec<LinkInput>,
}

/// A link of an issue.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkInput {
    /// Its title; may be empty.
    #[serde(default)]
    pub title: OptionalTitle,
    /// `http` or `https`.
    pub url: WebUrl,
}

/// The number of tasks that a sync changed.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"created": 1, "updated": 0, "unchanged": 41}))]
pub struct SyncTasksResponse {
    /// Tasks that are new.
    pub created: usize,
    /// Tasks that changed.
    pub updated: usize,
    /// Tasks that are as they were.
    pub unchanged: usize,
}

path! {
    /// An issue, in a path.
    TaskPath {
        /// The tracker's own id.
        external_id: IssueId,
    }
}

/// A link of an issue; secrets in it are masked.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct TaskLink {
    /// Its title; may be empty.
    pub title: String,
    /// Its address.
    pub url: String,
}

/// An issue as the project knows it.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Task {
    /// The task's id here.
    pub id: TaskId,
    /// The tracker's own id.
    pub external_id: String,
    /// Empty until the tracker was synced.
    pub title: String,
    /// `unknown` until the tracker was synced.
    pub status: String,
    /// The tracker's name of the person who works on it.
    pub assignee: Option<String>,
    /// The tracker's labels.
    pub labels: Vec<String>,
    /// Links that the tracker names.
    pub links: Vec<TaskLink>,
    /// When it was opened; absent if the tracker did not send it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opened_at: Option<DateTime<Utc>>,
    /// When it was closed or resolved; absent while it is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<DateTime<Utc>>,
    /// When it last changed here.
    pub updated_at: DateTime<Utc>,
}

/// An issue and the items linked to it.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "id": "019a0000-0000-7000-8000-000000000003", "external_id": "CS-214",
    "title": "Trigger delay is nil for new carts", "status": "open", "assignee": "vera",
    "labels": ["bug"], "links": [], "updated_at": "2026-11-20T10:00:00Z",
    "dialog_ids": [], "record_ids": ["019a0000-0000-7000-8000-000000000002"],
    "pull_requests": []
}))]
pub struct TaskWithLinks {
    /// The issue.
    #[serde(flatten)]
    pub task: Task,
    /// Ids of its dialogs.
    pub dialog_ids: Vec<DialogId>,
    /// Ids of its records.
    pub record_ids: Vec<RecordId>,
    /// Pull requests that mention it, newest first, at most 50.
    pub pull_requests: Vec<PullRequest>,
}

/// A dialog and records to link to an issue.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"project_key": "shop", "task_external_id": "CS-214"}))]
pub struct LinkTask {
    /// Key of the project.
    pub project_key: ProjectKey,
    /// The tracker's own id (`SHOP-12`, `owner/name#12`), or the issue's URL; `#12` if only one
    /// issue can be meant. The task is created if no tracker has sent it yet.
    pub task_external_id: IssueId,
    /// An existing dialog of the caller; maintainers may name anyone's.
    pub dialog_id: Option<DialogId>,
    /// Live records to link.
    #[serde(default)]
    pub record_ids: RecordIds,
}

impl Request for LinkTask {}

/// The result of a link.
#[skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "task": {
        "id": "019a0000-0000-7000-8000-000000000003", "external_id": "CS-214",
        "title": "Trigger delay is nil for new carts", "status": "open", "assignee": "vera",
        "labels": ["bug"], "links": [], "updated_at": "2026-11-20T10:00:00Z"
    },
    "dialog_id": "019a0000-0000-7000-8000-000000000004",
    "records_linked": 0,
    "unknown_record_ids": []
}))]
pub struct LinkTaskResponse {
    /// The issue.
    pub task: Task,
    /// The dialog that is linked to it; absent if the request names none.
    pub dialog_id: Option<DialogId>,
    /// Number of records that are linked to it now.
    pub records_linked: usize,
    /// Ids of `record_ids` that are no live records of the project.
    pub unknown_record_ids: Vec<RecordId>,
}

/// The approval of a task comment.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "digest": "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9"
}))]
pub struct ApproveTaskComment {
    /// The digest of the comment that was reviewed, as `GET` of the same path returned it.
    pub digest: Sha256,
}

impl Request for ApproveTaskComment {}

/// The comment that is, or would be, posted at a task's tracker.
#[skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "text": "Memory Copilot: 1 record belongs to this issue.\n- Units must match",
    "digest": "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9",
    "connector": "our-jira", "resource": "CS", "is_allowed_by_policy": true,
    "is_current": false
}))]
pub struct TaskComment {
    /// The text that would be posted now.
    pub text: String,
    /// The digest of that text and of where it would be posted. An approval names it.
    pub digest: String,
    /// The operator's name of the tracker.
    pub connector: String,
    /// The resource of the integration: a repository, or a project's key or identifier.
    pub resource: String,
    /// Whether the project's policy allows posting (`trackers.post_comments`).
    pub is_allowed_by_policy: bool,
    /// Whether the posted comment has this text.
    pub is_current: bool,
    /// The state of the comment that was approved last: `pending`, `posted`, or `failed`, which
    /// needs another approval; absent before the first approval.
    pub state: Option<String>,
    /// Why it is not posted, or not yet.
    pub reason: Option<String>,
    /// When the comment was posted.
    pub posted_at: Option<DateTime<Utc>>,
}
