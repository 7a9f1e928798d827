//! Writes at a task's tracker which records and dialogs belong to it: the very text that a person
//! agreed to, as one comment, which is changed and not written a second time. Whoever has written
//! and did not live to note it is followed by one who finds the comment there.

use std::time::Duration;

use mc_connectors::Comment;
use mc_connectors::client::{self, Connector};
use mc_connectors::traits::Tracker;
use mc_domain::{AuditAction, Classified as _, TaskId};
use mc_memory::task_comment::{Subject, TaskCommentText, compose_comment, is_of, says};
use mc_store::Store;
use mc_store::audit::{self, Chain, NewEvent};
use mc_store::task_comments::{self, CommentDraft, PostStart, TaskOrigin};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::context::JobContext;
use crate::job::{BackgroundJob, JobError};
use crate::sync_integration::SyncContext;

/// Characters of what is kept of a reason.
const REASON: usize = 1_000;

/// A comment that a person agreed to.
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
    /// With each pause twice as long as the one before, up to an hour, three hours pass before it
    /// is given up: a limit of requests or an outage has ended by then.
    const BACKOFF_BASE: Duration = Duration::from_mins(2);

    type Context = JobContext;

    async fn run(self, context: &JobContext) -> Result<(), JobError> {
        run(&context.store, &context.sync, self).await
    }
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
enum PostError {
    #[error(transparent)]
    System(#[from] client::Error),
    #[error(transparent)]
    Store(#[from] mc_store::Error),
    #[error(transparent)]
    Memory(#[from] mc_memory::Error),
    #[error("{0}")]
    Because(&'static str),
}

impl PostError {
    fn may_pass(&self) -> bool {
        match self {
            Self::System(error) => error.kind().is_transient(),
            Self::Store(error) => error.kind().is_transient(),
            Self::Memory(error) => error.kind().is_transient(),
            Self::Because(_) => false,
        }
    }
}

/// Does it, unless something else was agreed to since. What the tracker refuses is for the task to
/// show, and for a person to agree to again.
async fn run(store: &Store, with: &SyncContext, work: PostTaskComment) -> Result<(), JobError> {
    let begun = task_comments::begin(store, work.task, &work.digest).await;
    let writing = match begun.map_err(|error| JobError::classify(&error))? {
        PostStart::NotPending => return Ok(()),
        PostStart::Busy => {
            return Err(JobError::Retryable(
                "the comment is being written by another worker".into(),
            ));
        }
        PostStart::Started(writing) => writing,
    };
    let written = match write(store, with, &work, &writing).await {
        Ok((origin, comment)) => note(store, &work, &writing, origin, &comment).await,
        Err(stopped) => return fail(store, &work, &stopped).await,
    };
    written.map_err(|error| JobError::classify(&error))
}

/// Writes it; answers where, and as which comment. What may not be written is not even looked for.
/// Looking can take long, so what may be is judged once more behind it: by then somebody may have
/// turned it off, or made private what it names.
async fn write<'a>(
    store: &Store,
    with: &SyncContext,
    work: &PostTaskComment,
    writing: &'a CommentDraft,
) -> Result<(&'a TaskOrigin, String), PostError> {
    let origin = allowed(writing)?;
    let Some(system) = with.systems.find(&origin.connector, &writing.key) else {
        return Err(PostError::Because("the operator does not name its tracker any more"));
    };
    let tracker = system.tracker(&origin.resource)?;
    let found = find(&*tracker, writing).await?;
    let text = agreed(store, work, origin, system).await?;
    let comment = say(&*tracker, &writing.external_id, found.as_ref(), &text).await?;
    Ok((origin, comment))
}

/// Where it may be written.
fn allowed(writing: &CommentDraft) -> Result<&TaskOrigin, PostError> {
    if !writing.policy.trackers.post_comments {
        return Err(PostError::Because(
            "the policy of the project forbids comments (trackers.post_comments)",
        ));
    }
    let gone = "the connection that the task came by is gone, or paused";
    writing.origin.as_ref().ok_or(PostError::Because(gone))
}

/// The text as it is now, where it is what was agreed to, and still for the tracker that was looked
/// at.
async fn agreed(
    store: &Store,
    work: &PostTaskComment,
    origin: &TaskOrigin,
    system: &Connector,
) -> Result<String, PostError> {
    let Some(writing) = task_comments::reload(store, work.task, &work.digest).await? else {
        return Err(PostError::Because("something else was agreed to meanwhile"));
    };
    if allowed(&writing)? != origin {
        return Err(PostError::Because("the task came by another connection meanwhile"));
    }
    let comment = composed(store, work, &writing, origin, system).await?;
    if comment.digest != work.digest {
        return Err(PostError::Because(
            "the links of the task, or its tracker, have changed since the comment was approved; \
             review the current text",
        ));
    }
    Ok(comment.text)
}

async fn composed(
    store: &Store,
    work: &PostTaskComment,
    writing: &CommentDraft,
    origin: &TaskOrigin,
    system: &Connector,
) -> Result<TaskCommentText, PostError> {
    let subject = Subject {
        project: &writing.key,
        task: work.task,
        external_id: &writing.external_id,
        tracker: system.kind(),
        connector: &origin.connector,
        resource: &origin.resource,
    };
    Ok(compose_comment(store, &writing.policy, subject).await?)
}

/// Our comment: the one that is known, else one that begins so. Only what the credential's own user
/// has written is looked at: nobody can have a comment of theirs taken for it.
async fn find(
    tracker: &dyn Tracker,
    writing: &CommentDraft,
) -> Result<Option<Comment>, client::Error> {
    let mut own = tracker.list_own_comments(&writing.external_id).await?;
    let is_known = |comment: &Comment| Some(&comment.id) == writing.comment.as_ref();
    let is_it = |comment: &Comment| is_of(&comment.text, &writing.key, &writing.external_id);
    let at = own.iter().position(is_known).or_else(|| own.iter().position(is_it));
    Ok(at.map(|at| own.swap_remove(at)))
}

/// Changes the comment that is there, and writes one where there is none. One that says just that
/// is left as it is: not every tracker lets it be changed.
async fn say(
    tracker: &dyn Tracker,
    task: &str,
    found: Option<&Comment>,
    text: &str,
) -> Result<String, client::Error> {
    match found {
        Some(found) if says(&found.text, text) => Ok(found.id.clone()),
        Some(found) => tracker.upsert_comment(task, Some(&found.id), text).await,
        None => tracker.upsert_comment(task, None, text).await,
    }
}

async fn note(
    store: &Store,
    work: &PostTaskComment,
    writing: &CommentDraft,
    origin: &TaskOrigin,
    comment: &str,
) -> Result<(), mc_store::Error> {
    let mut tx = store.begin().await?;
    task_comments::mark_posted(&mut tx, work.task, &work.digest, origin.connection, comment)
        .await?;
    let TaskOrigin { connector: system, resource: what, .. } = origin;
    let detail =
        json!({ "system": system, "what": what, "comment": comment, "digest": work.digest });
    let event = NewEvent::new(AuditAction::TaskCommentPosted, work.task).with(detail);
    audit::add(&mut tx, Chain::Project(writing.project), None, &[event]);
    tx.commit().await
}

/// Notes why nothing was written: for now, where that may pass, and else until somebody agrees to
/// it again.
async fn fail(store: &Store, work: &PostTaskComment, stopped: &PostError) -> Result<(), JobError> {
    let reason = mc_sanitizer::mask(&stopped.to_string()).text;
    let reason: String = reason.as_str().chars().take(REASON).collect();
    let is_over = !stopped.may_pass();
    let noted = task_comments::mark_failed(store, work.task, &work.digest, &reason, is_over).await;
    noted.map_err(|error| JobError::classify(&error))?;
    tracing::warn!(task.id = %work.task, reason,
                   "the comment with the links of a task was not posted to its tracker");
    if is_over { Ok(()) } else { Err(JobError::Retryable(reason)) }
}
