//! Claim of an attempt on its run: every transaction that changes files begins with it.

use mc_domain::{IngestRunId, RepositoryId};
use mc_store::{Store, Tx, ingest_runs, repositories};

use crate::Error;

/// An attempt of a worker.
#[derive(Clone, Copy)]
pub(super) struct Claim<'a> {
    pub store: &'a Store,
    pub repository: RepositoryId,
    pub run: IngestRunId,
    pub worker: &'a str,
}

impl Claim<'_> {
    /// Begins a transaction that changes files: the index is partial from then on. No other worker
    /// takes over the run during it. Fails if that has already happened: another run may have
    /// completed since.
    pub async fn begin(&self) -> Result<Tx, Error> {
        let mut tx = self.store.begin().await?;
        if !ingest_runs::hold(&mut tx, self.repository, self.run, self.worker).await? {
            return Err(Error::RunTakenOver);
        }
        repositories::mark_partial(&mut tx, self.repository).await?;
        Ok(tx)
    }
}
