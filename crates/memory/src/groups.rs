//! What waits to be written in a project is written together: saves come one after the other anyway, and one
//! transaction for all that wait pays for one commit, one look at the end of the audit and one lock.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::join_all;
use mc_domain::{Classified as _, ErrorKind, ProjectId};
use tokio::sync::{Semaphore, oneshot, watch};
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
    /// Counts who can't wait. A count, so that none is missed by a task that is at something else just then.
    hurry: watch::Sender<u64>,
}

/// Transactions at once where the parts of a group are written one by one: saves of a project wait for each other, and
/// each holds a connection meanwhile.
const ALONE_AT_ONCE: usize = 2;

impl<W: Work> Clone for Groups<W> {
    fn clone(&self) -> Self {
        Self {
            waiting: Arc::clone(&self.waiting),
            writing: Arc::clone(&self.writing),
            hurry: self.hurry.clone(),
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
        Self { waiting: Arc::default(), writing, hurry: watch::Sender::default() }
    }

    /// Has everything written that waits for others, since somebody waits for some of it.
    pub(crate) fn hurry(&self) {
        self.hurry.send_modify(|count| *count = count.wrapping_add(1));
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
            let hurried = self.hurry.subscribe();
            tokio::spawn(self.clone().write_all(project, hurried));
        }
        answered.await.expect("whoever takes a work answers it")
    }

    /// Writes what waits of a project, until nothing does.
    async fn write_all(self, project: ProjectId, mut hurried: watch::Receiver<u64>) {
        loop {
            if !W::PATIENCE.is_zero() {
                // Either will do.
                let _ = timeout(W::PATIENCE, hurried.changed()).await;
            }
            let Some(group) = self.next(project) else { return };
            let _writing = self.writing.acquire().await.expect("the semaphore is never closed");
            write_group(group).await;
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
    let together = match works.as_mut_slice() {
        [_] => Err(ALONE_AT_ONCE),
        // Where the database is away there are no connections to hold, and none waits for the others' patience.
        works => caught(W::together(works)).await.map_err(|error| match error.kind() {
            ErrorKind::Unavailable => works.len(),
            _ => ALONE_AT_ONCE,
        }),
    };
    let done = match together {
        Ok(done) => done,
        Err(at_once) => {
            let mut done = Vec::with_capacity(works.len());
            for some in works.chunks_mut(at_once) {
                done.extend(join_all(some.iter_mut().map(write_alone)).await);
            }
            done
        }
    };
    for ((work, answer), done) in works.into_iter().zip(answers).zip(done) {
        // Who asked may have gone.
        let _ = answer.send((done, work));
    }
}

async fn write_alone<W: Work>(work: &mut W) -> Result<W::Done, Error> {
    caught(work.alone()).await
}

/// What a write answers; an error where it panics, which is for those who wait for it and for nobody else.
async fn caught<T>(write: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    AssertUnwindSafe(write).catch_unwind().await.unwrap_or(Err(Error::Panicked))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Something that may panic, and that nobody writes unless somebody hurries.
    struct Fragile {
        project: ProjectId,
        panics: bool,
    }

    impl Work for Fragile {
        type Done = ();

        const PATIENCE: Duration = Duration::from_hours(1);

        fn project(&self) -> ProjectId {
            self.project
        }

        async fn alone(&mut self) -> Result<(), Error> {
            assert!(!self.panics, "as asked for");
            Ok(())
        }

        async fn together(group: &mut [Self]) -> Result<Vec<Result<(), Error>>, Error> {
            assert!(!group.iter().any(|one| one.panics), "as asked for");
            Ok(group.iter().map(|_| Ok(())).collect())
        }
    }

    #[tokio::test]
    async fn one_that_panics_takes_none_of_its_group_with_it() {
        let (groups, project) = (Groups::new(1), ProjectId::generate());
        let write = |panics| groups.write(Fragile { project, panics });
        let hurry = async { groups.hurry() };
        let ((before, _), (panicked, _), (after, _), ()) =
            tokio::join!(biased; write(false), write(true), write(false), hurry);
        assert!(before.is_ok() && after.is_ok());
        assert!(matches!(panicked, Err(Error::Panicked)));
    }

    #[tokio::test]
    async fn whoever_hurries_is_heard_also_where_the_writer_does_not_wait_yet() {
        let (groups, project) = (Groups::new(1), ProjectId::generate());
        let write = || groups.write(Fragile { project, panics: false });
        for _ in 0..2 {
            // At once, on one thread: the task that writes has not begun when somebody hurries.
            let ((written, _), ()) = tokio::join!(biased; write(), async { groups.hurry() });
            assert!(written.is_ok());
        }
    }
}
