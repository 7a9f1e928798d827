//! Edits, git and commands of one workspace exclude each other.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use mc_domain::WorkspaceId;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

use crate::ServiceError;

/// How long a call waits for the one before it. A request ends after 30 seconds.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// Lets one call at a time change a workspace.
#[derive(Debug, Default)]
pub(super) struct Exclusion(Mutex<HashMap<WorkspaceId, Weak<AsyncMutex<()>>>>);

/// Permission to change a workspace, until it is dropped.
#[derive(Debug)]
pub(super) struct Alone {
    _guard: OwnedMutexGuard<()>,
}

impl Exclusion {
    /// Waits until nobody else changes the workspace.
    pub async fn enter(&self, id: WorkspaceId) -> Result<Alone, ServiceError> {
        let guard = tokio::time::timeout(MAX_WAIT, self.lock_of(id).lock_owned()).await;
        let guard = guard.map_err(|_| ServiceError::Busy)?;
        Ok(Alone { _guard: guard })
    }

    fn lock_of(&self, id: WorkspaceId) -> Arc<AsyncMutex<()>> {
        let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lock) = locks.get(&id).and_then(Weak::upgrade) {
            return lock;
        }
        // Those that nobody holds or waits for.
        locks.retain(|_, lock| lock.strong_count() > 0);
        let lock = Arc::new(AsyncMutex::new(()));
        locks.insert(id, Arc::downgrade(&lock));
        lock
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn second_call_waits_and_gives_up() {
        let exclusion = Exclusion::default();
        let [one, other] = [(); 2].map(|()| WorkspaceId::generate());
        let alone = exclusion.enter(one).await.expect("alone");
        exclusion.enter(other).await.expect("another workspace");
        let second = exclusion.enter(one).await;
        assert!(matches!(second, Err(ServiceError::Busy)), "{second:?}");
        drop(alone);
        exclusion.enter(one).await.expect("alone again");
        assert!(exclusion.0.lock().expect("locks").len() <= 2);
    }
}
