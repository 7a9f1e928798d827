//! Memory for the bodies of requests, counted in units. If it is used up, webhook deliveries wait,
//! since a provider may not send them again. Other requests are rejected.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::concurrency_limit::overloaded;
use crate::limits::QUEUE_TIMEOUT;
use crate::problem::Problem;

/// The unit in which memory for bodies is counted.
pub const UNIT_BYTES: usize = 16 * 1024;

/// Memory that a number of bodies share. Cheap to clone.
#[derive(Debug, Clone)]
pub struct BodyMemory {
    units: Arc<Semaphore>,
    timeout: Duration,
}

/// Memory of one body, until it is dropped.
#[derive(Debug)]
pub struct ReservedMemory(OwnedSemaphorePermit);

impl BodyMemory {
    /// Creates a limit of `bytes` for all bodies together.
    pub fn new(bytes: usize) -> Self {
        Self { units: Arc::new(Semaphore::new(bytes / UNIT_BYTES)), timeout: QUEUE_TIMEOUT }
    }

    /// Reserves memory of at least one unit, at once or within the timeout.
    pub async fn wait_for(&self, bytes: usize) -> Result<ReservedMemory, Problem> {
        let units = u32::try_from(bytes.div_ceil(UNIT_BYTES).max(1)).unwrap_or(u32::MAX);
        let permit = self.units.clone().acquire_many_owned(units);
        match tokio::time::timeout(self.timeout, permit).await {
            Ok(Ok(permit)) => Ok(ReservedMemory(permit)),
            _ => Err(overloaded()),
        }
    }

    /// Reserves nothing yet, for a body whose memory grows while it is read.
    pub fn reserve_none(&self) -> Result<ReservedMemory, Problem> {
        acquire_now(&self.units, 0).map(ReservedMemory)
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

    /// Reserves more units, unless there are too few.
    pub fn grow(&mut self, units: usize) -> Result<(), Problem> {
        let more = acquire_now(self.0.semaphore(), units)?;
        self.0.merge(more);
        Ok(())
    }
}

fn acquire_now(all: &Arc<Semaphore>, units: usize) -> Result<OwnedSemaphorePermit, Problem> {
    let units = u32::try_from(units).map_err(|_| overloaded())?;
    Arc::clone(all).try_acquire_many_owned(units).map_err(|_| overloaded())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn body_memory_is_bounded() {
        let memory = BodyMemory { timeout: Duration::ZERO, ..BodyMemory::new(4 * UNIT_BYTES) };
        let large = memory.wait_for(2 * UNIT_BYTES + 1).await.expect("three units");
        let small = memory.wait_for(0).await.expect("one unit");
        assert!(memory.wait_for(1).await.is_err());
        drop((large, small));
        assert!(memory.wait_for(4 * UNIT_BYTES).await.is_ok());
    }

    #[tokio::test]
    async fn waiting_and_growing_bodies_share_the_memory() {
        let memory = BodyMemory { timeout: Duration::ZERO, ..BodyMemory::new(3 * UNIT_BYTES) };
        let waited = memory.wait_for(UNIT_BYTES).await.expect("one unit");
        let mut growing = memory.reserve_none().expect("nothing");
        assert_eq!(growing.missing_units(UNIT_BYTES + 1), 2);
        growing.grow(2).expect("two units");
        assert_eq!((growing.missing_units(2 * UNIT_BYTES), memory.free_units()), (0, 0));
        assert!(growing.grow(1).is_err() && memory.wait_for(1).await.is_err());
        drop(waited);
        growing.grow(1).expect("the third unit");
        drop(growing);
        assert_eq!(memory.free_units(), 3);
    }
}
