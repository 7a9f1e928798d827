//! The job `post_task_comment`: posts at a task's tracker the comment that a person has approved.
//! It lists the task's records and dialogs. Each task has one comment, which is updated. A job that
//! died after it posted the comment is repeated by one that finds the comment and keeps it.

use std::time::Duration;

use mc_connectors::Comment;
use mc_connectors::client::{self, Connector};
use mc_connectors::traits::Tracker;
use mc_domain::{AuditAction, Classified as _, TaskId};
use mc_memory::task_comment::{Subject, compose_comment, is_of, says};
use mc_store::Store;
use mc_store::task_comments::{self, CommentDraft, PostStart, TaskOrigin};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::JobContext;
use crate::job::{BackgroundJob, JobError, record_event, stored_reason};
use crate::sync_integration::SyncContext;

/// Posts an approved comment, which is identified by its digest.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PostTaskComment {
    task: TaskId,
    digest: String,
}

impl BackgroundJob for PostTaskComment {
    const NAME: &'static str = task_comments::JOB;
    const CONCURRENCY: usize = 2;
    const MAX_ATTEMPTS: u16 = task_comments::JOB_ATTEMPTS;
    const TIMEOUT: Duration = task_comments::POST_TIMEOUT;
    /// The attempts take three hours, after which most rate limits and outages have ended.
    const BACKOFF_BASE: Duration = Duration::from_mins(2);

    type Context = JobContext;

    /// Posts the comment, unless another text was approved since. An error is shown on the task. If
    /// it is permanent, the comment must be approved again.
    async fn run(self, JobContext { store, sync, .. }: &JobContext) -> Result<(), JobError> {
        let draft = match task_comments::begin(store, self.task, &self.digest).await? {
            PostStart::NotPending => return Ok(()),
            PostStart::Busy => {
                let reason = "another worker is posting the comment";
                return Err(JobError::Retryable(reason.into()));
            }
            PostStart::Started(draft) => draft,
        };
        match self.post(store, sync, &draft).await {
            Ok((origin, comment)) => Ok(self.mark_posted(store, &draft, origin, &comment).await?),
            Err(error) => self.fail(store, &error).await,
        }
    }
}

/// Why a comment was not posted.
#[derive(Debug, thiserror::Error)]
enum PostError {
    #[error(transparent)]
    Provider(#[from] client::Error),
    #[error(transparent)]
    Store(#[from] mc_store::Error),
    #[error(transparent)]
    Memory(#[from] mc_memory::Error),
    #[error("{0}")]
    NotAllowed(&'static str),
}

impl PostError {
    fn is_transient(&self) -> bool {
        match self {
            Self::Provider(error) => error.kind().is_transient(),
            Self::Store(error) => error.kind().is_transient(),
            Self::Memory(error) => error.kind().is_transient(),
            Self::NotAllowed(_) => false,
        }
    }
}

impl PostTaskComment {
    /// Posts the comment; returns the tracker and the comment's id there. A comment that may not be
    /// posted sends no request. The search for an earlier comment can take long, so the text and
    /// the permission are checked again after it.
    async fn post<'a>(
        &self,
        store: &Store,
        context: &SyncContext,
        draft: &'a CommentDraft,
    ) -> Result<(&'a TaskOrigin, String), PostError> {
        let origin = allowed_origin(draft)?;
        let Some(connector) = context.connectors.find(&origin.connector, &draft.key) else {
            return Err(PostError::NotAllowed(
                "the tracker's connector is not configured for the project any more; ask the \
                 operator to restore it",
            ));
        };
        let tracker = connector.tracker(&origin.resource)?;
        let earlier = find_comment(&*tracker, draft).await?;
        let text = self.approved_text(store, origin, connector).await?;
        let comment =
            upsert_comment(&*tracker, &draft.external_id, earlier.as_ref(), &text).await?;
        Ok((origin, comment))
    }

    /// Returns the current text, if it is the approved one and is posted at `origin`.
    async fn approved_text(
        &self,
        store: &Store,
        origin: &TaskOrigin,
        connector: &Connector,
    ) -> Result<String, PostError> {
        let Some(draft) = task_comments::reload(store, self.task, &self.digest).await? else {
            return Err(PostError::NotAllowed("another text was approved meanwhile"));
        };
        if allowed_origin(&draft)? != origin {
            return Err(PostError::NotAllowed(
                "another integration has imported the task meanwhile; review the current text",
            ));
        }
        let subject = Subject {
            project: &draft.key,
            task: self.task,
            external_id: &draft.external_id,
            tracker: connector.kind(),
            connector: &origin.connector,
            resource: &origin.resource,
        };
        let comment = compose_comment(store, &draft.policy, subject).await?;
        if comment.digest != self.digest {
            return Err(PostError::NotAllowed(
                "the links of the task, or its tracker, have changed since the comment was \
                 approved; review the current text",
            ));
        }
        Ok(comment.text)
    }

    async fn mark_posted(
        &self,
        store: &Store,
        draft: &CommentDraft,
        origin: &TaskOrigin,
        comment: &str,
    ) -> Result<(), mc_store::Error> {
        let mut tx = store.begin().await?;
        task_comments::mark_posted(&mut tx, self.task, &self.digest, origin.connection, comment)
            .await?;
        let TaskOrigin { connector, resource, .. } = origin;
        let details = json!({
            "connector": connector,
            "resource": resource,
            "comment": comment,
            "digest": self.digest,
        });
        let action = AuditAction::TaskCommentPosted;
        record_event(&mut tx, draft.project, action, self.task, details);
        tx.commit().await
    }

    /// Stores why the comment was not posted. After a permanent error it must be approved again.
    async fn fail(&self, store: &Store, error: &PostError) -> Result<(), JobError> {
        let (reason, is_permanent) = (stored_reason(error), !error.is_transient());
        task_comments::mark_failed(store, self.task, &self.digest, &reason, is_permanent).await?;
        tracing::warn!(task.id = %self.task, reason, "task comment not posted");
        if is_permanent { Ok(()) } else { Err(JobError::Retryable(reason)) }
    }
}

/// Returns the tracker at which the comment may be posted.
fn allowed_origin(draft: &CommentDraft) -> Result<&TaskOrigin, PostError> {
    if !draft.policy.trackers.post_comments {
        return Err(PostError::NotAllowed(
            "the policy of the project forbids comments (trackers.post_comments)",
        ));
    }
    let deleted = "the integration that imported the task was deleted, or is paused";
    draft.origin.as_ref().ok_or(PostError::NotAllowed(deleted))
}

/// Finds the service's comment on the issue, by its stored id or by its beginning. Only comments of
/// the credential's own user are searched, so no other user can pass off a comment as it.
async fn find_comment(
    tracker: &dyn Tracker,
    draft: &CommentDraft,
) -> Result<Option<Comment>, client::Error> {
    let mut own = tracker.list_own_comments(&draft.external_id).await?;
    let is_stored = |comment: &Comment| Some(&comment.id) == draft.comment.as_ref();
    let is_ours = |comment: &Comment| is_of(&comment.text, &draft.key, &draft.external_id);
    let index = own.iter().position(is_stored).or_else(|| own.iter().position(is_ours));
    Ok(index.map(|index| own.swap_remove(index)))
}

/// Updates the earlier comment, or creates one; returns its id. A comment with the same text is
/// kept as it is, because not every tracker can update comments.
async fn upsert_comment(
    tracker: &dyn Tracker,
    external_id: &str,
    earlier: Option<&Comment>,
    text: &str,
) -> Result<String, client::Error> {
    match earlier {
        Some(earlier) if says(&earlier.text, text) => Ok(earlier.id.clone()),
        Some(earlier) => tracker.upsert_comment(external_id, Some(&earlier.id), text).await,
        None => tracker.upsert_comment(external_id, None, text).await,
    }
}
