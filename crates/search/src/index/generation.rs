//! Generation of the keyword index: a tantivy index with its writer and reader. Its commits store
//! the position in the change feed.

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

/// Memory of the writer before it writes a segment, in bytes.
const WRITER_BYTES: usize = 32 << 20;

/// Maximum passages of a segment in the lowest layer.
const MIN_LAYER_SIZE: u32 = 200;
/// Binary logarithm of the range of segment sizes in a layer: sizes differ at most by factor four.
const LAYER_LOG_SIZE: f64 = 2.0;
/// Number of segments of a layer that are merged. It is low, because a search reads each segment.
const SEGMENTS_PER_LAYER: usize = 6;
/// Share of deleted passages above which a segment is rewritten.
const MAX_DELETED_SHARE: f32 = 0.3;

/// Input of searches; cheap to clone.
#[derive(Clone)]
pub struct IndexSnapshot {
    /// Id of the opened generation, which assigns reports of damage to it.
    pub id: Uuid,
    /// Reader of the last commit.
    pub reader: IndexReader,
    /// Fields of the schema.
    pub fields: Fields,
    /// Text statistics of each project.
    pub statistics: Statistics,
}

/// Writable index. Its methods block.
pub struct Generation {
    /// Identity of the source database ([`mc_store::server::identity`]).
    database: String,
    writer: IndexWriter,
    snapshot: IndexSnapshot,
}

/// Payload of a commit, which stores the position together with the contents.
#[derive(Debug, Serialize, Deserialize)]
struct Payload {
    format: u32,
    database: String,
    txid: u64,
    seq: i64,
}

/// Reason why an index on disk cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// Another version wrote it.
    #[error("it has another format")]
    Format,
    /// It is derived from another database.
    #[error("it belongs to another database")]
    OtherDatabase,
    /// Files are damaged or missing.
    #[error("it is damaged: {0}")]
    Damaged(String),
}

impl Generation {
    /// Creates an empty index in an empty directory.
    pub fn create(directory: &Path, database: &str) -> Result<Self, TantivyError> {
        let (schema, fields) = schema::schema();
        let index =
            Index::create(NoSyncDirectory::open(directory)?, schema, IndexSettings::default())?;
        Self::new(&index, fields, database)
    }

    /// Opens the index in a directory, and returns it with its position in the feed of `database`.
    /// Verifies the checksum of every file, so that damage is found before a search.
    pub fn open(directory: &Path, database: &str) -> Result<(Self, FeedCursor), Unusable> {
        let index = NoSyncDirectory::open(directory).and_then(Index::open).map_err(unusable)?;
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
        let generation = Self::new(&index, fields, database).map_err(unusable)?;
        Ok((generation, FeedCursor { txid: payload.txid, seq: payload.seq }))
    }

    fn new(index: &Index, fields: Fields, database: &str) -> Result<Self, TantivyError> {
        schema::register_tokenizer(index);
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let writer = index.writer_with_num_threads(1, WRITER_BYTES)?;
        writer.set_merge_policy(Box::new(merge_policy()));
        let snapshot =
            IndexSnapshot { id: Uuid::now_v7(), reader, fields, statistics: Statistics::default() };
        let database = database.to_owned();
        Ok(Self { database, writer, snapshot })
    }

    /// Returns the input of searches.
    pub fn snapshot(&self) -> IndexSnapshot {
        self.snapshot.clone()
    }

    /// Adds new passages. They are visible after [`Generation::commit`].
    pub fn add(&self, passages: &[IndexedPassage]) -> Result<(), TantivyError> {
        for passage in passages {
            self.writer.add_document(self.snapshot.fields.document(passage))?;
        }
        Ok(())
    }

    /// Deletes `changed` and adds `present`, those of them that still exist. It is idempotent. The
    /// result is visible after [`Generation::commit`].
    pub fn replace(
        &self,
        changed: &[PassageId],
        present: &[IndexedPassage],
    ) -> Result<(), TantivyError> {
        for id in changed {
            self.writer.delete_term(self.snapshot.fields.id_term(*id));
        }
        self.add(present)
    }

    /// Makes all changes visible and durable, together with their position in the change feed.
    pub fn commit(&mut self, cursor: FeedCursor) -> Result<(), TantivyError> {
        let database = self.database.clone();
        let payload = Payload { format: FORMAT, database, txid: cursor.txid, seq: cursor.seq };
        let payload = serde_json::to_string(&payload)
            .map_err(|error| TantivyError::InternalError(error.to_string()))?;
        let mut prepared = self.writer.prepare_commit()?;
        prepared.set_payload(&payload);
        prepared.commit()?;
        self.snapshot.reader.reload()
    }
}

/// Returns the policy that merges a segment only with others of similar size.
///
/// By default, tantivy puts all segments below 10,000 documents into one layer. Every eighth save
/// then rewrites the largest, which took half of the CPU with 15,000 passages.
fn merge_policy() -> LogMergePolicy {
    let mut policy = LogMergePolicy::default();
    policy.set_min_layer_size(MIN_LAYER_SIZE);
    policy.set_level_log_size(LAYER_LOG_SIZE);
    policy.set_min_num_segments(SEGMENTS_PER_LAYER);
    policy.set_del_docs_ratio_before_merge(MAX_DELETED_SHARE);
    policy
}

fn unusable(error: TantivyError) -> Unusable {
    match error {
        TantivyError::IncompatibleIndex(_)
        | TantivyError::OpenReadError(OpenReadError::IncompatibleIndex(_)) => Unusable::Format,
        other => Unusable::Damaged(other.to_string()),
    }
}
