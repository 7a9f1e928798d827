//! What waits to be written in a project is written together: saves come one after the other anyway, and one
//! transaction for all that wait pays for one commit, one look at the end of the audit and one lock.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::join_all;
use mc_domain::ProjectId;
use tokio::sync::{Notify, Semaphore, oneshot};
use tokio::time::timeout;

use crate::Error;

/// Something to be written, alone or with others of its project.
pub(crate) trait Work: Send + Sized + 'static {
    /// What is to be said of it once it is written.
    type Done: Send;

    /// How long the first one waits for others, at most ([`Groups::hurry`]). Zero where somebody waits for the outcome.
    const PATIENCE: Duration = Duration::ZERO;

    /// Most of one transaction: PostgreSQL keeps up to 64 parts of one at hand, and the first must not wait long for the
    /// last.
    const MOST: usize = 32;

    /// In which project.
    fn project(&self) -> ProjectId;

    /// Writes it in a transaction of its own.
    fn alone(&mut self) -> impl Future<Output = Result<Self::Done, Error>> + Send;

    /// Writes several of one project in one transaction, and answers what became of each; an error where they have to be
    /// written one by one.
    fn together(
        group: &mut [Self],
    ) -> impl Future<Output = Result<Vec<Result<Self::Done, Error>>, Error>> + Send;
}

/// Work before the database, by project. Between several nodes the locks in the database decide.
pub(crate) struct Groups<W: Work> {
    /// A project that is here has a task that writes what waits.
    waiting: Arc<Mutex<HashMap<ProjectId, Vec<Waiting<W>>>>>,
    writing: Arc<Semaphore>,
    hurry: Arc<Notify>,
}

impl<W: Work> Clone for Groups<W> {
    fn clone(&self) -> Self {
        Self {
            waiting: Arc::clone(&self.waiting),
            writing: Arc::clone(&self.writing),
            hurry: Arc::clone(&self.hurry),
        }
    }
}

struct Waiting<W: Work> {
    work: W,
    answer: oneshot::Sender<Outcome<W>>,
}

/// What became of it, and the work itself.
type Outcome<W> = (Result<<W as Work>::Done, Error>, W);

impl<W: Work> Groups<W> {
    /// With at most so many transactions at once, of all projects.
    pub(crate) fn new(at_once: usize) -> Self {
        let writing = Arc::new(Semaphore::new(at_once));
        Self { waiting: Arc::default(), writing, hurry: Arc::default() }
    }

    /// Has everything written that waits for others, since somebody waits for some of it.
    pub(crate) fn hurry(&self) {
        self.hurry.notify_waiters();
    }

    /// Writes it, together with what else waits in its project. Who gives up before its turn has come leaves nothing;
    /// after that it is written all the same.
    pub(crate) async fn write(&self, work: W) -> Outcome<W> {
        let project = work.project();
        let (answer, answered) = oneshot::channel();
        let is_first = {
            let mut projects = self.projects();
            let is_first = !projects.contains_key(&project);
            projects.entry(project).or_default().push(Waiting { work, answer });
            is_first
        };
        if is_first {
            tokio::spawn(self.clone().write_all(project));
        }
        answered.await.expect("whoever takes a work answers it")
    }

    /// Writes what waits of a project, until nothing does.
    async fn write_all(self, project: ProjectId) {
        loop {
            if !W::PATIENCE.is_zero() {
                // Either will do.
                let _ = timeout(W::PATIENCE, self.hurry.notified()).await;
            }
            let Some(group) = self.next(project) else { return };
            let _writing = self.writing.acquire().await.expect("the semaphore is never closed");
            // A fault in it is for those who wait for it, and not for those who come after.
            if AssertUnwindSafe(write_group(group)).catch_unwind().await.is_err() {
                tracing::error!("a write panicked; who waited for it is told");
            }
        }
    }

    /// Those that waited longest. Without any the project is nobody's to write.
    fn next(&self, project: ProjectId) -> Option<Vec<Waiting<W>>> {
        let mut projects = self.projects();
        let waiting = projects.get_mut(&project)?;
        waiting.retain(|waiting| !waiting.answer.is_closed());
        if waiting.is_empty() {
            projects.remove(&project);
            return None;
        }
        let count = waiting.len().min(W::MOST);
        Some(waiting.drain(..count).collect())
    }

    fn projects(&self) -> MutexGuard<'_, HashMap<ProjectId, Vec<Waiting<W>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes a group in one transaction. Where that can't be begun, entered or committed, each is written by itself, so
/// that what is wrong with one is no matter of the others.
async fn write_group<W: Work>(group: Vec<Waiting<W>>) {
    let (mut works, answers): (Vec<_>, Vec<_>) =
        group.into_iter().map(|waiting| (waiting.work, waiting.answer)).unzip();
    let together = if works.len() > 1 { W::together(&mut works).await.ok() } else { None };
    let done = match together {
        Some(done) => done,
        // At the same time: where the database is away, none waits for the others' patience.
        None => join_all(works.iter_mut().map(W::alone)).await,
    };
    for ((work, answer), done) in works.into_iter().zip(answers).zip(done) {
        // Who asked may have gone.
        let _ = answer.send((done, work));
    }
}
