//! `POST /tasks/link`: a dialog and records that belong to an issue.

use mc_domain::{DialogId, RecordId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::task::Task;
use crate::list::RecordIds;
use crate::text::IssueId;
use crate::{ProjectKey, Request};

/// A dialog and records to link to an issue.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"project_key": "shop", "task_external_id": "CS-214"}))]
pub struct LinkTask {
    /// The project.
    pub project_key: ProjectKey,
    /// The tracker's own id. The task is created if no tracker has sent it yet.
    pub task_external_id: IssueId,
    /// An existing dialog of the caller; maintainers may name anyone's. When absent, the newest
    /// empty dialog of the task, else a new one.
    pub dialog_id: Option<DialogId>,
    /// Live records to link.
    #[serde(default)]
    pub record_ids: RecordIds,
}

impl Request for LinkTask {}

/// The result of a link.
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
    /// The dialog that is linked to it.
    pub dialog_id: DialogId,
    /// Number of records that are linked to it now.
    pub records_linked: usize,
    /// Ids of `record_ids` that are no live records of the project.
    pub unknown_record_ids: Vec<RecordId>,
}
