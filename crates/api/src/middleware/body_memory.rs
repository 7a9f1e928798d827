//! Memory for the bodies of requests, counted in units while they arrive.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::concurrency_limit::overloaded;
use crate::problem::Problem;

/// The unit in which memory for bodies is counted.
pub const UNIT_BYTES: usize = 16 * 1024;

/// Memory that a number of bodies share. Cheap to clone.
#[derive(Debug, Clone)]
pub struct BodyMemory {
    units: Arc<Semaphore>,
}

/// Memory of one body, until it is dropped.
#[derive(Debug)]
pub struct ReservedMemory(OwnedSemaphorePermit);

impl BodyMemory {
    /// Creates a limit of `bytes` for all bodies together.
    pub fn new(bytes: usize) -> Self {
        Self { units: Arc::new(Semaphore::new(bytes / UNIT_BYTES)) }
    }

    /// Reserves nothing yet, for a body whose memory grows while it is read.
    pub fn reserve_none(&self) -> Result<ReservedMemory, Problem> {
        let none = Arc::clone(&self.units).try_acquire_many_owned(0);
        none.map(ReservedMemory).map_err(|_closed| overloaded())
    }

    #[cfg(test)]
    pub fn free_units(&self) -> usize {
        self.units.available_permits()
    }
}

impl ReservedMemory {
    /// Returns how many units a body of `bytes` needs beyond those reserved.
    pub fn missing_units(&self, bytes: usize) -> usize {
        bytes.div_ceil(UNIT_BYTES).saturating_sub(self.0.num_permits())
    }

    /// Reserves more units, at once or within `timeout`.
    pub async fn grow(&mut self, units: usize, timeout: Duration) -> Result<(), Problem> {
        let more = acquire(self.0.semaphore(), units, timeout).await.ok_or_else(overloaded)?;
        self.0.merge(more);
        Ok(())
    }
}

async fn acquire(
    all: &Arc<Semaphore>,
    units: usize,
    timeout: Duration,
) -> Option<OwnedSemaphorePermit> {
    let units = u32::try_from(units).ok()?;
    if let Ok(permit) = Arc::clone(all).try_acquire_many_owned(units) {
        return Some(permit);
    }
    let permit = Arc::clone(all).acquire_many_owned(units);
    tokio::time::timeout(timeout, permit).await.ok()?.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn body_memory_is_bounded() {
        let memory = BodyMemory::new(4 * UNIT_BYTES);
        let [mut first, mut second] = [0, 1].map(|_| memory.reserve_none().expect("nothing"));
        assert_eq!(first.missing_units(2 * UNIT_BYTES + 1), 3);
        first.grow(3, Duration::ZERO).await.expect("three units");
        assert_eq!((first.missing_units(3 * UNIT_BYTES), memory.free_units()), (0, 1));
        assert!(second.grow(2, Duration::ZERO).await.is_err());
        second.grow(1, Duration::ZERO).await.expect("the fourth unit");
        drop((first, second));
        assert_eq!(memory.free_units(), 4);
    }

    #[tokio::test]
    async fn a_body_waits_for_memory() {
        let memory = BodyMemory::new(2 * UNIT_BYTES);
        let [mut first, mut second] = [0, 1].map(|_| memory.reserve_none().expect("nothing"));
        first.grow(2, Duration::ZERO).await.expect("all");
        let waiting = tokio::spawn(async move { second.grow(1, Duration::MAX).await });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(first);
        assert_eq!(waiting.await.expect("no panic"), Ok(()));
    }
}
