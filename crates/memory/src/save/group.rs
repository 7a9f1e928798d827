//! Saves that wait for each other are written together: those of a project come one after the other anyway, and one
//! transaction for all that wait pays for one commit, one look at the end of the audit and one lock.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mc_domain::{DialogId, ProjectId};
use mc_store::{Store, Tx};
use tokio::sync::{Semaphore, oneshot};

use super::{Prepared, SaveRequest, Written, judge_and_write};
use crate::Error;

/// Most saves of one transaction: PostgreSQL keeps up to 64 parts of one at hand, and the first must not wait long for
/// the last.
const GROUP_MAX: usize = 32;

/// A save that is ready to be judged and written.
pub(super) struct Save {
    /// The database, on behalf of who saves.
    pub store: Store,
    pub request: SaveRequest,
    pub prepared: Prepared,
    pub dialog: Option<DialogId>,
}

/// What became of a save, and what it was made of.
type Outcome = (Result<Written, Error>, Prepared);

/// Saves before the database, by project. Between several nodes the project's lock in the database decides.
#[derive(Clone)]
pub(crate) struct WriteQueue {
    /// A project that is here has a task that writes what waits.
    waiting: Arc<Mutex<HashMap<ProjectId, Vec<Waiting>>>>,
    writing: Arc<Semaphore>,
}

struct Waiting {
    save: Save,
    answer: oneshot::Sender<Outcome>,
}

impl WriteQueue {
    /// With at most so many transactions at once, of all projects.
    pub(crate) fn new(at_once: usize) -> Self {
        Self { waiting: Arc::default(), writing: Arc::new(Semaphore::new(at_once)) }
    }

    /// Writes a save, together with others of its project that wait. Who gives up before its turn has come leaves nothing;
    /// after that it is written all the same.
    pub(super) async fn write(&self, save: Save) -> Outcome {
        let project = save.request.project;
        let (answer, answered) = oneshot::channel();
        let is_first = {
            let mut projects = self.projects();
            let is_first = !projects.contains_key(&project);
            projects.entry(project).or_default().push(Waiting { save, answer });
            is_first
        };
        if is_first {
            tokio::spawn(self.clone().write_all(project));
        }
        answered.await.expect("whoever takes a save answers it")
    }

    /// Writes what waits of a project, until nothing does.
    async fn write_all(self, project: ProjectId) {
        while let Some(group) = self.next(project) {
            let _writing = self.writing.acquire().await.expect("the semaphore is never closed");
            // On its own: a fault in it is for those who wait for it, and not for those who come after.
            let _ = tokio::spawn(write_group(project, group)).await;
        }
    }

    /// Those who waited longest. Without any the project is nobody's to write.
    fn next(&self, project: ProjectId) -> Option<Vec<Waiting>> {
        let mut projects = self.projects();
        let waiting = projects.get_mut(&project)?;
        waiting.retain(|waiting| !waiting.answer.is_closed());
        if waiting.is_empty() {
            projects.remove(&project);
            return None;
        }
        let count = waiting.len().min(GROUP_MAX);
        Some(waiting.drain(..count).collect())
    }

    fn projects(&self) -> MutexGuard<'_, HashMap<ProjectId, Vec<Waiting>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes saves in one transaction. Where that can't be begun, entered or committed, each is written by itself, so that
/// what is wrong with one is no matter of the others.
async fn write_group(project: ProjectId, mut group: Vec<Waiting>) {
    if group.len() > 1
        && let Ok(written) = write_together(project, &mut group).await
    {
        for (waiting, written) in group.into_iter().zip(written) {
            waiting.answer_with(written);
        }
        return;
    }
    for mut waiting in group {
        let written = write_alone(project, &mut waiting.save).await;
        waiting.answer_with(written);
    }
}

impl Waiting {
    fn answer_with(self, written: Result<Written, Error>) {
        // Who asked may have gone.
        let _ = self.answer.send((written, self.save.prepared));
    }
}

async fn write_alone(project: ProjectId, save: &mut Save) -> Result<Written, Error> {
    let mut tx = save.store.begin_in_memory(project).await?;
    let written = write(&mut tx, save).await?;
    tx.commit().await?;
    Ok(written)
}

/// What became of each; an error where it has to be done otherwise.
async fn write_together(
    project: ProjectId,
    group: &mut [Waiting],
) -> Result<Vec<Result<Written, Error>>, Error> {
    let Some(first) = group.first() else { return Ok(Vec::new()) };
    let mut tx = first.save.store.begin_in_memory(project).await?;
    let mut written = Vec::with_capacity(group.len());
    for waiting in group {
        let part = tx.begin_part(&waiting.save.store).await?;
        let one = write(&mut tx, &mut waiting.save).await;
        if one.is_err() {
            tx.undo(part).await?;
        }
        written.push(one);
    }
    tx.commit().await?;
    Ok(written)
}

async fn write(tx: &mut Tx, save: &mut Save) -> Result<Written, Error> {
    judge_and_write(tx, &save.request, &mut save.prepared, save.dialog).await
}
