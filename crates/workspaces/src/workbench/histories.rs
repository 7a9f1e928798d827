//! The edit histories of navigations, in memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mc_domain::NavigationId;

use crate::tools::EditHistory;

/// Maximum number of navigations with a history: each may have 16 MiB.
const MAX_HISTORIES: usize = 64;

/// The edit histories of navigations.
#[derive(Debug, Default)]
pub(super) struct Histories(Mutex<HashMap<NavigationId, Entry>>);

#[derive(Debug)]
struct Entry {
    at: Instant,
    history: Arc<Mutex<EditHistory>>,
}

impl Histories {
    /// Returns the history of a navigation. Those that were idle for longer than `max_idle` are
    /// forgotten, and the one that was used first if there are too many.
    pub fn of(&self, id: NavigationId, max_idle: Duration) -> Arc<Mutex<EditHistory>> {
        let now = Instant::now();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, used| now.duration_since(used.at) <= max_idle);
        if !all.contains_key(&id)
            && all.len() >= MAX_HISTORIES
            && let Some(oldest) = all.iter().min_by_key(|(_, used)| used.at).map(|(id, _)| *id)
        {
            all.remove(&oldest);
        }
        let used = all.entry(id).or_insert_with(|| Entry { at: now, history: Arc::default() });
        used.at = now;
        Arc::clone(&used.history)
    }

    /// Forgets the history of a navigation.
    pub fn remove(&self, id: NavigationId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }
}

/// Locks a history. A call that panicked has left it consistent: it is changed at the end of one.
pub(super) fn locked(history: &Mutex<EditHistory>) -> MutexGuard<'_, EditHistory> {
    history.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn history_used_first_is_forgotten() {
        let histories = Histories::default();
        let idle = Duration::from_hours(1);
        let first = NavigationId::generate();
        let of_first = Arc::downgrade(&histories.of(first, idle));
        let kept = NavigationId::generate();
        let of_kept = Arc::downgrade(&histories.of(kept, idle));
        for _ in 0..MAX_HISTORIES - 1 {
            histories.of(NavigationId::generate(), idle);
        }
        assert!(of_first.upgrade().is_none() && of_kept.upgrade().is_some());
        histories.remove(kept);
        assert!(of_kept.upgrade().is_none());
        histories.of(kept, Duration::ZERO);
        assert_eq!(histories.0.lock().expect("histories").len(), 1);
    }
}
