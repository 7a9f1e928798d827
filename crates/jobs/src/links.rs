//! Writes at a task's tracker which records and dialogs belong to it: the very text that a person agreed to, as one
//! comment, which is changed and not written a second time. Whoever has written and did not live to note it is
//! followed by one who finds the comment there.

use std::time::Duration;

use mc_connectors::Comment;
use mc_connectors::client::{self, System};
use mc_connectors::system::Tracker;
use mc_domain::{Act, Classified as _, TaskId};
use mc_memory::task_links::{LinksComment, Subject, is_of, links_comment, says};
use mc_store::Store;
use mc_store::audit::{self, Chain, NewEvent};
use mc_store::task_links::{self, Begun, Origin, Writing};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::sync::Connecting;
use crate::work::{Failure, Work};

/// Characters of what is kept of a reason.
const REASON: usize = 1_000;

/// A comment that a person agreed to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Links {
    task: TaskId,
    digest: String,
}

impl Work for Links {
    const KIND: &'static str = task_links::JOB;
    const AT_ONCE: usize = 2;
    const STARTS: u16 = task_links::JOB_STARTS;
    const TIME: Duration = task_links::WRITE_TIME;
    /// With each pause twice as long as the one before, up to an hour, three hours pass before it is given up: a limit
    /// of requests or an outage has ended by then.
    const PAUSE: Duration = Duration::from_mins(2);
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
enum Stopped {
    #[error(transparent)]
    System(#[from] client::Error),
    #[error(transparent)]
    Store(#[from] mc_store::Error),
    #[error(transparent)]
    Memory(#[from] mc_memory::Error),
    #[error("{0}")]
    Because(&'static str),
}

impl Stopped {
    fn may_pass(&self) -> bool {
        match self {
            Self::System(error) => error.kind().is_transient(),
            Self::Store(error) => error.kind().is_transient(),
            Self::Memory(error) => error.kind().is_transient(),
            Self::Because(_) => false,
        }
    }
}

/// Does it, unless something else was agreed to since. What the tracker refuses is for the task to show, and for a
/// person to agree to again.
pub async fn run(store: Store, with: Connecting, work: Links) -> Result<(), Failure> {
    let begun = task_links::begin(&store, work.task, &work.digest).await;
    let writing = match begun.map_err(|error| Failure::of(&error))? {
        Begun::Over => return Ok(()),
        Begun::Busy => {
            return Err(Failure::ForNow("the comment is being written by another worker".into()));
        }
        Begun::Writing(writing) => writing,
    };
    let written = match write(&store, &with, &work, &writing).await {
        Ok((origin, comment)) => note(&store, &work, &writing, origin, &comment).await,
        Err(stopped) => return fail(&store, &work, &stopped).await,
    };
    written.map_err(|error| Failure::of(&error))
}

/// Writes it; answers where, and as which comment. What may not be written is not even looked for. Looking can take
/// long, so what may be is judged once more behind it: by then somebody may have turned it off, or made private what it
/// names.
async fn write<'a>(
    store: &Store,
    with: &Connecting,
    work: &Links,
    writing: &'a Writing,
) -> Result<(&'a Origin, String), Stopped> {
    let origin = allowed(writing)?;
    let Some(system) = with.systems.find(&origin.system, &writing.key) else {
        return Err(Stopped::Because("the operator does not name its tracker any more"));
    };
    let tracker = system.tracker(&origin.what)?;
    let found = find(&*tracker, writing).await?;
    let text = agreed(store, work, origin, system).await?;
    let comment = say(&*tracker, &writing.external_id, found.as_ref(), &text).await?;
    Ok((origin, comment))
}

/// Where it may be written.
fn allowed(writing: &Writing) -> Result<&Origin, Stopped> {
    if !writing.policy.trackers.write_links {
        return Err(Stopped::Because(
            "the project's policy does not let it be written (trackers.write_links)",
        ));
    }
    let gone = "the connection that the task came by is gone, or paused";
    writing.origin.as_ref().ok_or(Stopped::Because(gone))
}

/// The text as it is now, where it is what was agreed to, and still for the tracker that was looked at.
async fn agreed(
    store: &Store,
    work: &Links,
    origin: &Origin,
    system: &System,
) -> Result<String, Stopped> {
    let Some(writing) = task_links::look_again(store, work.task, &work.digest).await? else {
        return Err(Stopped::Because("something else was agreed to meanwhile"));
    };
    if allowed(&writing)? != origin {
        return Err(Stopped::Because("the task came by another connection meanwhile"));
    }
    let comment = composed(store, work, &writing, origin, system).await?;
    if comment.digest != work.digest {
        return Err(Stopped::Because(
            "what belongs to the task, or the tracker that it came from, has changed since that was agreed to; look \
             at the text as it is now",
        ));
    }
    Ok(comment.text)
}

async fn composed(
    store: &Store,
    work: &Links,
    writing: &Writing,
    origin: &Origin,
    system: &System,
) -> Result<LinksComment, Stopped> {
    let subject = Subject {
        project: &writing.key,
        task: work.task,
        external_id: &writing.external_id,
        tracker: system.kind(),
        system: &origin.system,
        what: &origin.what,
    };
    Ok(links_comment(store, &writing.policy, subject).await?)
}

/// Our comment: the one that is known, else one that begins so. Only what the credential's own user has written is
/// looked at: nobody can have a comment of theirs taken for it.
async fn find(tracker: &dyn Tracker, writing: &Writing) -> Result<Option<Comment>, client::Error> {
    let mut own = tracker.own_comments(&writing.external_id).await?;
    let is_known = |comment: &Comment| Some(&comment.id) == writing.comment.as_ref();
    let is_it = |comment: &Comment| is_of(&comment.text, &writing.key, &writing.external_id);
    let at = own.iter().position(is_known).or_else(|| own.iter().position(is_it));
    Ok(at.map(|at| own.swap_remove(at)))
}

/// Changes the comment that is there, and writes one where there is none. One that says just that is left as it is: not
/// every tracker lets it be changed.
async fn say(
    tracker: &dyn Tracker,
    task: &str,
    found: Option<&Comment>,
    text: &str,
) -> Result<String, client::Error> {
    match found {
        Some(found) if says(&found.text, text) => Ok(found.id.clone()),
        Some(found) => tracker.comment(task, Some(&found.id), text).await,
        None => tracker.comment(task, None, text).await,
    }
}

async fn note(
    store: &Store,
    work: &Links,
    writing: &Writing,
    origin: &Origin,
    comment: &str,
) -> Result<(), mc_store::Error> {
    let mut tx = store.begin().await?;
    task_links::written(&mut tx, work.task, &work.digest, origin.connection, comment).await?;
    let Origin { system, what, .. } = origin;
    let detail =
        json!({ "system": system, "what": what, "comment": comment, "digest": work.digest });
    let event = NewEvent::new(Act::TaskLinksWritten, work.task).with(detail);
    audit::add(&mut tx, Chain::Project(writing.project), None, &[event]);
    tx.commit().await
}

/// Notes why nothing was written: for now, where that may pass, and else until somebody agrees to it again.
async fn fail(store: &Store, work: &Links, stopped: &Stopped) -> Result<(), Failure> {
    let reason = mc_sanitizer::mask(&stopped.to_string()).text;
    let reason: String = reason.as_str().chars().take(REASON).collect();
    let is_over = !stopped.may_pass();
    let noted = task_links::not_written(store, work.task, &work.digest, &reason, is_over).await;
    noted.map_err(|error| Failure::of(&error))?;
    tracing::warn!(task.id = %work.task, reason, "the links of a task were not written at its tracker");
    if is_over { Ok(()) } else { Err(Failure::ForNow(reason)) }
}
