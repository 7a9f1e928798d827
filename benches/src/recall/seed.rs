//! A database with notes, created once and reused by later runs.

use std::path::{Path, PathBuf};

use anyhow::Result;
use mc_domain::{ProjectId, ProjectKey, UserId};
use mc_indexer::hnsw;
use mc_store::records::{NewRecord, RecordSource};
use mc_store::vectors::Model;
use mc_store::{Store, projects, records};

use crate::harness::database::{Database, in_batches};
use crate::harness::embedding::{self, Vectors};
use crate::harness::{make_dir, remove, say};
use crate::text::{Note, Notes, stored};

/// Returns the key of a project by its number.
pub fn key(project: usize) -> String {
    format!("project-{project}")
}

/// Returns the data directory of a service with the notes; reuses that of an earlier run.
pub async fn ensure(
    work: &Path,
    cache_dir: &Path,
    notes: &Notes,
    projects: usize,
    fresh: bool,
) -> Result<PathBuf> {
    let (data_dir, complete) = (super::data_dir(work), work.join("complete"));
    let notes_in_it = std::fs::read_to_string(&complete).unwrap_or_default();
    if notes_in_it == notes.fingerprint() && !fresh {
        say(&format!("using the database in {}; --fresh makes it anew", data_dir.display()));
        return Ok(data_dir);
    }
    for old in [&complete, &data_dir] {
        remove(old)?;
    }
    make(&data_dir, cache_dir, notes, projects).await?;
    std::fs::write(&complete, notes.fingerprint())?;
    Ok(data_dir)
}

async fn make(data_dir: &Path, cache_dir: &Path, notes: &Notes, projects: usize) -> Result<()> {
    let embedder = embedding::open(cache_dir).await?;
    let mut vectors = Vectors::open(cache_dir, &*embedder)?;
    let texts: Vec<String> = notes.stored.iter().map(stored::text_to_embed).collect();
    vectors.make(&*embedder, &texts).await?;

    make_dir(data_dir)?;
    let database = Database::open(data_dir, cache_dir).await?;
    let store = &database.store;
    let model = embedding::register(store, cache_dir, &*embedder).await?;
    let projects = make_projects(store, projects).await?;
    let numbered: Vec<_> = notes.stored.iter().enumerate().collect();
    in_batches(&numbered, async |batch| write(store, &model, &projects, &vectors, batch).await)
        .await?;
    // As the service does in the background, independent of saves and searches.
    hnsw::fill_hnsw(store, &model, hnsw::FLAT_VECTORS_MAX).await?;
    database.settle().await?;
    database.close().await;
    Ok(())
}

/// Creates projects with the keys of these numbers.
async fn make_projects(store: &Store, count: usize) -> Result<Vec<ProjectId>> {
    let mut made = Vec::new();
    for number in 0..count {
        let key = ProjectKey::parse(&key(number))?;
        made.push(projects::create(store, UserId::LOCAL, &key, key.as_str()).await?.0.id);
    }
    Ok(made)
}

/// Writes records with their passages and vectors, as a save does after it has judged.
async fn write(
    store: &Store,
    model: &Model,
    projects: &[ProjectId],
    vectors: &Vectors,
    notes: &[(usize, &Note)],
) -> Result<()> {
    let mut tx = store.begin().await?;
    for (number, note) in notes {
        let project = projects[note.project];
        let (body, passage) = (stored::body(*number, note), stored::passage(*number, note));
        let vector = vectors.get(&stored::text_to_embed(note))?;
        let (origin, vector) = (RecordSource::default(), Some((model, vector)));
        let new = NewRecord::of_the_team(&body, &origin, &passage, vector);
        records::create(&mut tx, project, new).await?;
    }
    Ok(tx.commit().await?)
}
