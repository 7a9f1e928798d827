//! Tasks: a tracker's issues as the project knows them, and the items linked to them.

use std::sync::Arc;

use mc_contract::number::PageLimit;
use mc_contract::operations::task::{
    LinkInput, LinkTask, LinkTaskResponse, SyncTasks, SyncTasksResponse, Task, TaskInput,
    TaskWithLinks,
};
use mc_domain::{AuditAction, Permission, Policy};
use mc_memory::content_filter::{FairnessKey, filter_field, filter_field_text, run_limited};
use mc_memory::{LinkIssue, ProjectContext};
use mc_store::Upserted;
use mc_store::audit::{self, NewEvent};
use mc_store::pull_requests::{self, PullRequestFilter};
use mc_store::tasks::{self, NewTask, TaskLink};
use serde_json::json;

use crate::{Error, issue_reference};

/// Stores issues as their tracker has them now, all or none.
pub async fn sync(ctx: &ProjectContext, request: SyncTasks) -> Result<SyncTasksResponse, Error> {
    let tasks =
        filter_all(ctx.memory.fairness_key(), request.tasks, ctx.memory.policy.clone()).await;
    let mut response = SyncTasksResponse::default();
    let mut tx = ctx.store.begin().await?;
    for task in tasks {
        match tasks::upsert(&mut tx, ctx.project.id, &task).await? {
            Upserted::Created => response.created += 1,
            Upserted::Updated => response.updated += 1,
            Upserted::Unchanged => response.unchanged += 1,
        }
    }
    // Trackers send everything again and again.
    let SyncTasksResponse { created, updated, .. } = response;
    if created + updated > 0 {
        let event = NewEvent::new(AuditAction::TasksSynced, &ctx.project.key);
        audit::record(&mut tx, event.with(json!({ "created": created, "updated": updated })));
    }
    tx.commit().await?;
    Ok(response)
}

/// Links a dialog and records to a task, which is created if no tracker has sent it yet. A URL, or
/// a number without its repository, is resolved to the tracker's id, or rejected. Linking
/// records of the team requires the role that may save for the team.
pub async fn link(ctx: &ProjectContext, request: LinkTask) -> Result<LinkTaskResponse, Error> {
    if !request.record_ids.is_empty() && !ctx.allows(Permission::Write) {
        return Err(Error::TeamRecords(ctx.project.policy.min_role(Permission::Write)));
    }
    let request = LinkIssue {
        project: ctx.project.id,
        task_external_id: issue_reference::resolve(ctx, request.task_external_id.as_str()).await?,
        dialog: request.dialog_id,
        moves_any: ctx.allows(Permission::Curate),
        records: request.record_ids.into_items(),
    };
    let linked = mc_memory::link_issue(&ctx.memory, &request).await?;
    Ok(LinkTaskResponse {
        task: linked.task,
        dialog_id: linked.dialog,
        records_linked: linked.records.len(),
        unknown_record_ids: linked.unknown,
    })
}

/// Returns a task with the ids of its dialogs and records, and the pull requests that mention it.
pub async fn get(ctx: &ProjectContext, external_id: &str) -> Result<TaskWithLinks, Error> {
    let task = find(ctx, external_id).await?;
    let (dialog_ids, record_ids) = tasks::linked(&ctx.store, task.id).await?;
    let filter =
        PullRequestFilter { task: Some(task.external_id.clone()), ..PullRequestFilter::default() };
    let limit = PageLimit::default().get();
    let pull_requests = pull_requests::list(&ctx.store, ctx.project.id, &filter, limit).await?;
    Ok(TaskWithLinks { task, dialog_ids, record_ids, pull_requests })
}

/// Erases what providers sent about a task. It keeps its id and its links.
pub async fn erase(ctx: &ProjectContext, external_id: &str) -> Result<(), Error> {
    let mut tx = ctx.store.begin().await?;
    let id = tasks::erase(&mut tx, ctx.project.id, external_id).await?;
    let id = id.ok_or_else(|| unknown(external_id))?;
    audit::record(&mut tx, NewEvent::new(AuditAction::TaskErased, id));
    Ok(tx.commit().await?)
}

/// Returns a task.
pub(crate) async fn find(ctx: &ProjectContext, external_id: &str) -> Result<Task, Error> {
    let id = issue_reference::resolve_for_reading(external_id.to_owned());
    let row = tasks::find(&ctx.store, ctx.project.id, &id).await?;
    row.ok_or_else(|| unknown(external_id))
}

fn unknown(external_id: &str) -> Error {
    Error::UnknownTask(external_id.to_owned())
}

/// Filters all tasks before a transaction begins, since it may take seconds.
async fn filter_all(key: FairnessKey, tasks: Vec<TaskInput>, policy: Arc<Policy>) -> Vec<NewTask> {
    let filter_all = move || tasks.into_iter().map(|task| filter(task, &policy)).collect();
    run_limited(key, filter_all).await
}

/// Filters the fields of a task by the project's policy.
fn filter(task: TaskInput, policy: &Policy) -> NewTask {
    let plain = |text: &str| filter_field_text(policy, text);
    let link = |link: LinkInput| TaskLink {
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
        opened_at: task.opened_at,
        closed_at: task.closed_at,
        is_whole: true,
        source_updated_at: None,
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
        let tasks = vec![task.expect("a task")];
        let mut filtered = Box::pin(filter_all(None, tasks, Arc::default()));
        assert!(futures::poll!(&mut filtered).is_pending());
        assert_eq!(filtered.await.len(), 1);
    }
}
