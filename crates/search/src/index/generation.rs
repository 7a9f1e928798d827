//! One tantivy index with its writer and reader, and the feed position that its commits carry.

use std::path::Path;

use mc_domain::PassageId;
use mc_store::change_feed::FeedCursor;
use mc_store::passages::IndexedPassage;
use serde::{Deserialize, Serialize};
use tantivy::directory::error::OpenReadError;
use tantivy::merge_policy::LogMergePolicy;
use tantivy::{Index, IndexReader, IndexSettings, IndexWriter, ReloadPolicy, TantivyError};
use uuid::Uuid;

use super::nosync_directory::NoSyncDirectory;
use super::schema::{self, FORMAT, Fields};
use super::statistics::Statistics;

/// What the writer may hold in memory before it writes a segment.
const WRITER_BYTES: usize = 32 << 20;

/// Segments up to so many passages are equally small.
const SMALLEST_LAYER: u32 = 200;
/// Segments of one layer differ in size by a factor of four at most.
const LAYER_LOG_SIZE: f64 = 2.0;
/// Segments of one layer that become one of the next. A search looks into each segment.
const SEGMENTS_A_LAYER: usize = 6;
/// A segment of which a larger share is deleted is written anew.
const MOST_DELETED: f32 = 0.3;

/// What searches need; cheap to clone.
#[derive(Clone)]
pub struct IndexSnapshot {
    /// Names the opened generation, so that a report about it is not taken for one about the next.
    pub id: Uuid,
    /// Gives a searcher over what was last committed.
    pub reader: IndexReader,
    /// The fields.
    pub fields: Fields,
    /// How much text each project has.
    pub statistics: Statistics,
}

/// An index that can be written. Its methods block.
pub struct Generation {
    /// The database that it is derived from, by [`mc_store::server::identity`].
    database: String,
    writer: IndexWriter,
    view: IndexSnapshot,
}

/// What a commit carries, so that contents and position move together.
#[derive(Debug, Serialize, Deserialize)]
struct Payload {
    format: u32,
    database: String,
    txid: u64,
    seq: i64,
}

/// Why an index on disk can't be used.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// It was written by another version.
    #[error("it is of another format")]
    Format,
    /// What it holds comes from somewhere else.
    #[error("it belongs to another database")]
    OtherDatabase,
    /// Files are damaged or missing.
    #[error("it is damaged: {0}")]
    Damaged(String),
}

impl Generation {
    /// An empty index in an empty folder.
    pub fn create(folder: &Path, database: &str) -> Result<Self, TantivyError> {
        let (schema, fields) = schema::schema();
        let index =
            Index::create(NoSyncDirectory::open(folder)?, schema, IndexSettings::default())?;
        Self::over(&index, fields, database)
    }

    /// The index in a folder and the position up to which it holds the feed of `database`. Reads
    /// every file to compare checksums: a damaged file is found now, and not by a search.
    pub fn open(folder: &Path, database: &str) -> Result<(Self, FeedCursor), Unusable> {
        let index = NoSyncDirectory::open(folder).and_then(Index::open).map_err(unusable)?;
        let payload = index.load_metas().map_err(unusable)?.payload.unwrap_or_default();
        let payload: Payload = serde_json::from_str(&payload).map_err(|_| Unusable::Format)?;
        let (schema, fields) = schema::schema();
        if payload.format != FORMAT || index.schema() != schema {
            return Err(Unusable::Format);
        }
        if payload.database != database {
            return Err(Unusable::OtherDatabase);
        }
        let damaged = index.validate_checksum().map_err(unusable)?;
        if let Some(file) = damaged.iter().next() {
            return Err(Unusable::Damaged(format!("{} has a wrong checksum", file.display())));
        }
        let generation = Self::over(&index, fields, database).map_err(unusable)?;
        Ok((generation, FeedCursor { txid: payload.txid, seq: payload.seq }))
    }

    fn over(index: &Index, fields: Fields, database: &str) -> Result<Self, TantivyError> {
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let writer = index.writer_with_num_threads(1, WRITER_BYTES)?;
        writer.set_merge_policy(Box::new(merge_policy()));
        let view =
            IndexSnapshot { id: Uuid::now_v7(), reader, fields, statistics: Statistics::default() };
        let database = database.to_owned();
        Ok(Self { database, writer, view })
    }

    /// What searches need.
    pub fn view(&self) -> IndexSnapshot {
        self.view.clone()
    }

    /// Adds passages that are not in it yet. Visible after [`Generation::commit`].
    pub fn add(&self, passages: &[IndexedPassage]) -> Result<(), TantivyError> {
        for passage in passages {
            self.writer.add_document(self.view.fields.document(passage))?;
        }
        Ok(())
    }

    /// Takes out `changed` and puts in `present`, the ones of them that still exist. Doing it twice
    /// is doing it once. Visible after [`Generation::commit`].
    pub fn replace(
        &self,
        changed: &[PassageId],
        present: &[IndexedPassage],
    ) -> Result<(), TantivyError> {
        for id in changed {
            self.writer.delete_term(self.view.fields.id_term(*id));
        }
        self.add(present)
    }

    /// Makes everything so far visible, and lasting beyond this process, with the position that it
    /// brings the index to.
    pub fn commit(&mut self, cursor: FeedCursor) -> Result<(), TantivyError> {
        let database = self.database.clone();
        let payload = Payload { format: FORMAT, database, txid: cursor.txid, seq: cursor.seq };
        let payload = serde_json::to_string(&payload)
            .map_err(|error| TantivyError::InternalError(error.to_string()))?;
        let mut prepared = self.writer.prepare_commit()?;
        prepared.set_payload(&payload);
        prepared.commit()?;
        self.view.reader.reload()
    }
}

/// When segments become one. By its defaults tantivy takes all segments below 10,000 documents for
/// equally large: a stream of single saves then rewrites the largest of them at every eighth save,
/// which was half of the CPU of a service with 15,000 passages. Here a segment is merged with
/// others of about its size.
fn merge_policy() -> LogMergePolicy {
    let mut policy = LogMergePolicy::default();
    policy.set_min_layer_size(SMALLEST_LAYER);
    policy.set_level_log_size(LAYER_LOG_SIZE);
    policy.set_min_num_segments(SEGMENTS_A_LAYER);
    policy.set_del_docs_ratio_before_merge(MOST_DELETED);
    policy
}

fn unusable(error: TantivyError) -> Unusable {
    match error {
        TantivyError::IncompatibleIndex(_)
        | TantivyError::OpenReadError(OpenReadError::IncompatibleIndex(_)) => Unusable::Format,
        other => Unusable::Damaged(other.to_string()),
    }
}
