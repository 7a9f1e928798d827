//! Batched writes of prepared files. Each file is written completely or not at all.

use std::error::Error as _;

use mc_domain::{Classified, ErrorKind};
use mc_store::files::{self, Written};
use mc_store::repositories::Repository;
use mc_store::{Tx, citations, docs};

use super::claim::Claim;
use super::prepare::{Body, Prepared};
use super::progress::Tracker;
use crate::Error;
use crate::walk::SkipReason;

/// Maximum files in a transaction: enough that the cost of the commit is low.
const BATCH_FILES: usize = 32;
/// Maximum bytes in a transaction: few enough that a failed batch is soon written again.
const BATCH_BYTES: i64 = 512 * 1024;

pub(super) struct Writer<'a> {
    claim: Claim<'a>,
    repository: &'a Repository,
    source_ref: &'a str,
    tracker: &'a Tracker,
    batch: Vec<Prepared>,
    changed: Vec<String>,
}

impl<'a> Writer<'a> {
    pub fn new(
        claim: Claim<'a>,
        repository: &'a Repository,
        source_ref: &'a str,
        tracker: &'a Tracker,
    ) -> Self {
        Self { claim, repository, source_ref, tracker, batch: Vec::new(), changed: Vec::new() }
    }

    /// Adds a file to the batch, and stores the batch when it is full.
    pub async fn write(&mut self, prepared: Prepared) -> Result<(), Error> {
        self.batch.push(prepared);
        let bytes: i64 = self.batch.iter().map(|prepared| prepared.file.size_bytes).sum();
        if self.batch.len() >= BATCH_FILES || bytes >= BATCH_BYTES {
            self.flush().await
        } else {
            Ok(())
        }
    }

    /// Stores the last batch, and returns the paths of all files that were written.
    pub async fn finish(mut self) -> Result<Vec<String>, Error> {
        self.flush().await?;
        Ok(self.changed)
    }

    async fn flush(&mut self) -> Result<(), Error> {
        let batch = std::mem::take(&mut self.batch);
        match self.store_all(&batch).await {
            Ok(written) => self.count(&batch, written),
            Err(Error::Store(error)) if is_caused_by_a_file(&error) => {
                self.store_singly(batch).await?;
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Stores the files of a failed batch one by one, and skips those that fail.
    async fn store_singly(&mut self, batch: Vec<Prepared>) -> Result<(), Error> {
        for prepared in batch {
            let file = std::slice::from_ref(&prepared);
            match self.store_all(file).await {
                Ok(written) => self.count(file, written),
                Err(Error::Store(error)) if is_caused_by_a_file(&error) => {
                    tracing::error!(
                        file.path = prepared.file.path,
                        ?error,
                        "storing the file failed; skipping it"
                    );
                    self.tracker.skipped(SkipReason::Failed);
                    self.tracker.failed(&prepared.file.path, &rejection(&error));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn store_all(&self, batch: &[Prepared]) -> Result<Written, Error> {
        let mut tx = self.claim.begin().await?;
        let mut total = Written::default();
        for prepared in batch {
            let written = self.store_one(&mut tx, prepared).await?;
            total.written += written.written;
            total.reused += written.reused;
        }
        tx.commit().await?;
        Ok(total)
    }

    async fn store_one(
        &self,
        tx: &mut Tx,
        prepared: &Prepared,
    ) -> Result<Written, mc_store::Error> {
        if prepared.is_same_text {
            citations::reset_content_hashes(tx, self.repository, &prepared.file.path).await?;
        }
        let file = files::put(tx, self.repository, &prepared.file, self.source_ref).await?;
        match &prepared.body {
            Body::Code { chunks, symbols } => {
                files::put_code(tx, self.repository, file, chunks, symbols).await
            }
            Body::Doc { doc, passages } => {
                let doc = docs::NewDoc { file: Some(file), ..doc.clone() };
                docs::upsert(tx, self.repository.project_id, &doc, passages).await?;
                Ok(Written { written: passages.len(), reused: 0 })
            }
        }
    }

    fn count(&mut self, batch: &[Prepared], written: Written) {
        self.tracker.written(batch.len(), written);
        self.changed.extend(batch.iter().map(|prepared| prepared.file.path.clone()));
    }
}

/// Returns whether the database rejected a row, and is not unavailable.
fn is_caused_by_a_file(error: &mc_store::Error) -> bool {
    error.kind() == ErrorKind::Internal
}

/// Returns the database's message about a rejected row.
fn rejection(error: &mc_store::Error) -> String {
    let cause = error.source().map_or_else(|| error.to_string(), ToString::to_string);
    format!("could not be stored: {cause}")
}
