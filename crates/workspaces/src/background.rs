//! Work that runs in the background of a node, and its results.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use mc_domain::{ErrorKind, UserId};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// How long a result is kept.
const KEPT: Duration = Duration::from_mins(30);
/// Maximum number of results of one user that are kept.
const MAX_RESULTS: usize = 64;

/// Work of one kind. `S` is what each is about, and `T` its result.
#[derive(Debug)]
pub struct Background<S, T> {
    all: Mutex<HashMap<Uuid, Entry<S, T>>>,
    slots: Arc<Semaphore>,
    limits: BackgroundLimits,
}

/// How much may run at once.
#[derive(Debug, Clone, Copy)]
pub struct BackgroundLimits {
    /// On the node.
    pub of_node: usize,
    /// Of one user on the node.
    pub of_user: usize,
}

/// Why nothing more is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// As much runs on the node as may.
    Node(usize),
    /// As much of the user runs on the node as may.
    User(usize),
}

/// The result, or why there is none.
pub type Finished<T> = Result<T, (ErrorKind, String)>;

/// How far some work is.
#[derive(Debug, Clone)]
pub struct Progress<S, T> {
    /// What it is about.
    pub subject: S,
    /// When it started.
    pub started_at: DateTime<Utc>,
    /// Its result; `None` while it runs.
    pub finished: Option<Finished<T>>,
    /// Whether it was cancelled.
    pub is_cancelled: bool,
}

#[derive(Debug)]
struct Entry<S, T> {
    user: UserId,
    subject: S,
    started_at: DateTime<Utc>,
    result: watch::Receiver<Option<Finished<T>>>,
    cancel: CancellationToken,
    completed_at: Option<Instant>,
}

/// Permission to run; the work drops it when it ends.
pub type Slot = OwnedSemaphorePermit;

impl<S: Clone, T: Clone + Send + Sync + 'static> Background<S, T> {
    /// Creates an empty background.
    pub fn new(limits: BackgroundLimits) -> Self {
        let slots = Arc::new(Semaphore::new(limits.of_node));
        Self { all: Mutex::default(), slots, limits }
    }

    /// Starts work of a user under this id.
    pub fn start<W: Future<Output = Finished<T>> + Send + 'static>(
        &self,
        id: Uuid,
        user: UserId,
        subject: S,
        work: impl FnOnce(CancellationToken, Slot) -> W,
    ) -> Result<(), Full> {
        let slot = Arc::clone(&self.slots).try_acquire_owned();
        let slot = slot.map_err(|_| Full::Node(self.limits.of_node))?;
        let (done, result) = watch::channel(None);
        let cancel = CancellationToken::new();
        let (started_at, completed_at) = (Utc::now(), None);
        let entry =
            Entry { user, subject, started_at, result, cancel: cancel.clone(), completed_at };
        {
            let mut all = self.all();
            forget_old(&mut all, user);
            if count_of(&all, user) >= self.limits.of_user {
                return Err(Full::User(self.limits.of_user));
            }
            all.insert(id, entry);
        }
        let work = work(cancel, slot);
        tokio::spawn(async move {
            // There is no receiver if the result was forgotten.
            let _ = done.send(Some(work.await));
        });
        Ok(())
    }

    /// Waits for the end of the work, but not for long, and returns how far it is. `None` if there
    /// is no such work about what is meant.
    pub async fn wait(
        &self,
        id: Uuid,
        is_meant: impl Fn(&S) -> bool,
        wait: Duration,
    ) -> Option<Progress<S, T>> {
        let mut result = self.find(id, &is_meant, |entry| entry.result.clone())?;
        // On an error, the work has panicked.
        let _ = tokio::time::timeout(wait, result.wait_for(Option::is_some)).await;
        let has_panicked = result.has_changed().is_err() && result.borrow().is_none();
        let finished = if has_panicked { Some(Err(panicked())) } else { result.borrow().clone() };
        self.find(id, &is_meant, |entry| {
            if finished.is_some() {
                entry.note_end();
            }
            Progress {
                subject: entry.subject.clone(),
                started_at: entry.started_at,
                is_cancelled: entry.cancel.is_cancelled(),
                finished,
            }
        })
    }

    /// Cancels the work about what is meant; what has ended stays as it is. Returns whether there
    /// is such work.
    pub fn cancel(&self, id: Uuid, is_meant: impl Fn(&S) -> bool) -> bool {
        self.find(id, &is_meant, |entry| entry.cancel()).is_some()
    }

    /// Cancels all work about what is meant.
    pub fn cancel_where(&self, is_meant: impl Fn(&S) -> bool) {
        let all = self.all();
        let meant = all.values().filter(|entry| is_meant(&entry.subject));
        meant.for_each(Entry::cancel);
    }

    fn find<R>(
        &self,
        id: Uuid,
        is_meant: &impl Fn(&S) -> bool,
        read: impl FnOnce(&mut Entry<S, T>) -> R,
    ) -> Option<R> {
        let mut all = self.all();
        all.get_mut(&id).filter(|entry| is_meant(&entry.subject)).map(read)
    }

    fn all(&self) -> MutexGuard<'_, HashMap<Uuid, Entry<S, T>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S, T> Entry<S, T> {
    /// Cancels the work, unless it has ended: its result tells how.
    fn cancel(&self) {
        if self.result.borrow().is_none() {
            self.cancel.cancel();
        }
    }

    /// Notes when the work was found to have ended. The task that ran it has no sender left.
    fn note_end(&mut self) {
        if self.result.has_changed().is_err() {
            self.completed_at.get_or_insert_with(Instant::now);
        }
    }
}

fn panicked() -> (ErrorKind, String) {
    let reason = "the service failed while it ran; its log has the cause; run it again";
    (ErrorKind::Internal, reason.to_owned())
}

/// Returns how much of a user runs.
fn count_of<S, T>(all: &HashMap<Uuid, Entry<S, T>>, user: UserId) -> usize {
    all.values().filter(|entry| entry.user == user && entry.completed_at.is_none()).count()
}

/// Forgets old results, so that the user may get another one.
fn forget_old<S, T>(all: &mut HashMap<Uuid, Entry<S, T>>, user: UserId) {
    all.values_mut().for_each(Entry::note_end);
    all.retain(|_, entry| entry.completed_at.is_none_or(|ended| ended.elapsed() < KEPT));
    while all.values().filter(|entry| entry.user == user).count() >= MAX_RESULTS {
        let own = all.iter().filter(|(_, entry)| entry.user == user);
        let ended = own.filter_map(|(id, entry)| Some((*id, entry.completed_at?)));
        let Some((oldest, _)) = ended.min_by_key(|(_, ended)| *ended) else { return };
        all.remove(&oldest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: BackgroundLimits = BackgroundLimits { of_node: 3, of_user: 2 };

    fn users() -> [UserId; 2] {
        [1, 2].map(|number| UserId(Uuid::from_u128(number)))
    }

    fn entry(user: UserId) -> (Entry<(), ()>, watch::Sender<Option<Finished<()>>>) {
        let (done, result) = watch::channel(None);
        let cancel = CancellationToken::new();
        let (started_at, completed_at) = (Utc::now(), None);
        (Entry { user, subject: (), started_at, result, cancel, completed_at }, done)
    }

    #[test]
    fn work_and_results_are_limited_for_each_user() {
        let [ann, bob] = users();
        let mut all = HashMap::new();
        let mut running = Vec::new();
        for user in [ann, ann, bob] {
            let (entry, done) = entry(user);
            all.insert(Uuid::new_v4(), entry);
            running.push(done);
        }
        assert_eq!((count_of(&all, ann), count_of(&all, bob)), (2, 1));
        // Work that has ended counts no longer, but its result is kept.
        running.remove(0);
        forget_old(&mut all, ann);
        assert_eq!((count_of(&all, ann), all.len()), (1, 3));
        for _ in 0..2 * MAX_RESULTS {
            forget_old(&mut all, ann);
            all.insert(Uuid::new_v4(), entry(ann).0);
        }
        let of = |user| all.values().filter(|entry| entry.user == user).count();
        assert_eq!((of(ann), of(bob)), (MAX_RESULTS, 1), "one user evicts no results of another");
        assert_eq!(count_of(&all, bob), 1);
    }

    #[tokio::test]
    async fn work_ends_with_its_result_or_why_there_is_none() {
        let background = Background::<&str, u8>::new(LIMITS);
        let [ann, bob] = users();
        let ids = [0, 1, 2, 3].map(|_| Uuid::new_v4());
        let never = |cancel: CancellationToken, slot: Slot| async move {
            cancel.cancelled().await;
            drop(slot);
            Ok(1)
        };
        background.start(ids[0], ann, "first", never).expect("started");
        let panics = |_, _| async { panic!("a defect") };
        background.start(ids[1], ann, "second", panics).expect("started");
        let wait = Duration::from_mins(1);
        let ended = background.wait(ids[1], |_| true, wait).await.expect("known");
        assert!(matches!(ended.finished, Some(Err((ErrorKind::Internal, _)))), "{ended:?}");
        assert!(background.wait(ids[0], |subject| *subject == "second", wait).await.is_none());
        let running = background.wait(ids[0], |_| true, Duration::ZERO).await.expect("known");
        assert!(running.finished.is_none() && !running.is_cancelled);
        // Both of those that run are counted, and the one that has ended is not.
        background.start(ids[2], ann, "third", never).expect("started");
        assert_eq!(background.start(ids[3], ann, "fourth", never), Err(Full::User(2)));
        background.start(ids[3], bob, "fourth", never).expect("started");
        assert_eq!(background.start(Uuid::new_v4(), bob, "fifth", never), Err(Full::Node(3)));
        background.cancel_where(|subject| *subject == "first");
        let ended = background.wait(ids[0], |_| true, wait).await.expect("known");
        assert!(matches!(ended.finished, Some(Ok(1))) && ended.is_cancelled);
        assert!(background.cancel(ids[2], |_| true) && !background.cancel(ids[2], |_| false));
    }
}
