//! Task comments: the comment at a task's tracker that lists its records and dialogs. It is posted
//! if the project's policy allows it and a person has approved this text for this tracker, by a
//! digest of both.

use mc_connectors::ConnectorRegistry;
use mc_contract::operations::task::{ApproveTaskComment, Task, TaskComment};
use mc_domain::AuditAction;
use mc_memory::ProjectContext;
use mc_memory::task_comment::{Subject, TaskCommentText, compose_comment};
use mc_store::audit::{self, NewEvent};
use mc_store::task_comments::{self, TaskOrigin};
use serde_json::json;

use crate::{Error, tasks};

/// The comment as it would be posted now, where, and the state of the approved one.
struct Preview {
    origin: TaskOrigin,
    comment: TaskCommentText,
    approved: Option<task_comments::TaskComment>,
}

/// Returns the text that would be posted at the tracker of a task, and its digest.
pub async fn preview(
    ctx: &ProjectContext,
    connectors: &ConnectorRegistry,
    external_id: &str,
) -> Result<TaskComment, Error> {
    let task = tasks::find(ctx, external_id).await?;
    Ok(compose(ctx, connectors, &task).await?.into_response(ctx))
}

/// Approves the text with a digest and enqueues the job that posts it.
pub async fn approve(
    ctx: &ProjectContext,
    connectors: &ConnectorRegistry,
    external_id: &str,
    approval: ApproveTaskComment,
) -> Result<TaskComment, Error> {
    let task = tasks::find(ctx, external_id).await?;
    if !ctx.project.policy.trackers.post_comments {
        return Err(Error::CommentsNotAllowed);
    }
    let preview = compose(ctx, connectors, &task).await?;
    let digest = String::from(approval.digest);
    preview.check(&digest)?;
    let TaskOrigin { connector, resource, .. } = &preview.origin;
    let details = json!({ "connector": connector, "resource": resource, "digest": digest });
    let mut tx = ctx.store.begin().await?;
    task_comments::approve(&mut tx, ctx.project.id, task.id, &digest).await?;
    let event = NewEvent::new(AuditAction::TaskCommentApproved, task.id);
    audit::record(&mut tx, event.with(details));
    tx.commit().await?;
    let approved = task_comments::find(&ctx.store, task.id).await?;
    Ok(Preview { approved, ..preview }.into_response(ctx))
}

async fn compose(
    ctx: &ProjectContext,
    connectors: &ConnectorRegistry,
    task: &Task,
) -> Result<Preview, Error> {
    let origin = task_comments::origin(&ctx.store, task.id).await?.ok_or(Error::TaskNotSynced)?;
    let connector = connectors.find(&origin.connector, &ctx.project.key);
    let subject = Subject {
        project: &ctx.project.key,
        task: task.id,
        external_id: &task.external_id,
        tracker: connector.ok_or(Error::TrackerNotConfigured)?.kind(),
        connector: &origin.connector,
        resource: &origin.resource,
    };
    let comment = compose_comment(&ctx.store, &ctx.project.policy, subject).await?;
    let approved = task_comments::find(&ctx.store, task.id).await?;
    Ok(Preview { origin, comment, approved })
}

impl Preview {
    /// Checks that this is the reviewed text, and that it is worth posting.
    fn check(&self, digest: &str) -> Result<(), Error> {
        if self.comment.digest != digest {
            return Err(Error::CommentChanged);
        }
        if self.comment.is_empty && self.posted_digest().is_none() {
            return Err(Error::NothingLinked);
        }
        Ok(())
    }

    fn posted_digest(&self) -> Option<&str> {
        self.approved.as_ref()?.posted_digest.as_deref()
    }

    fn into_response(self, ctx: &ProjectContext) -> TaskComment {
        let is_current = self.posted_digest() == Some(self.comment.digest.as_str());
        let (state, reason, posted_at) = match self.approved {
            Some(comment) => (Some(comment.state), Some(comment.reason), comment.posted_at),
            None => (None, None, None),
        };
        TaskComment {
            text: self.comment.text,
            digest: self.comment.digest,
            connector: self.origin.connector,
            resource: self.origin.resource,
            is_allowed_by_policy: ctx.project.policy.trackers.post_comments,
            is_current,
            state,
            reason: reason.filter(|reason| !reason.is_empty()),
            posted_at,
        }
    }
}
