//! Projects of very different sizes in one database.

use std::path::Path;

use anyhow::Result;
use mc_domain::{ProjectId, ProjectKey, UserId};
use mc_sanitizer::{Sanitized, mask};
use mc_store::docs::{self, NewDoc};
use mc_store::passages::{self, NewPassage, PassageSource};
use mc_store::records::{NewRecord, RecordSource};
use mc_store::vectors::{self, Model};
use mc_store::{Store, projects, records};

use super::filters::TAGS;
use crate::harness::database::{Database, in_batches};
use crate::harness::embedding::{self, Vectors};
use crate::harness::make_dir;
use crate::text::{Note, Notes, stored};

/// Three of five passages are memory records.
const OF_FIVE_MEMORIES: usize = 3;
/// Directories of documents.
const FOLDERS: usize = 20;

/// The contents of a filled database.
pub struct Seeded {
    /// The model of its vectors.
    pub model: Model,
    /// In the order of the requested sizes.
    pub projects: Vec<Project>,
}

/// A project with its queries.
pub struct Project {
    /// Identifier.
    pub id: ProjectId,
    /// Number of passages.
    pub size: usize,
    /// A scope of one of its passages.
    pub scope: String,
    /// Vectors of texts similar to its own.
    pub queries: Vec<Vec<f32>>,
}

/// A note with its project.
struct Placed<'a> {
    project: ProjectId,
    number: usize,
    note: &'a Note,
}

/// Distributes the notes over the projects, so that each has all subjects.
pub async fn make(
    data_dir: &Path,
    cache_dir: &Path,
    notes: &Notes,
    sizes: &[usize],
    queries: usize,
) -> Result<(Database, Seeded)> {
    let embedder = embedding::open(cache_dir).await?;
    let mut known = Vectors::open(cache_dir, &*embedder)?;
    let asked = spread(&notes.kept_back, queries);
    let all = notes.stored.iter().chain(asked.iter().copied());
    let texts: Vec<String> = all.map(stored::text_to_embed).collect();
    known.make(&*embedder, &texts).await?;

    make_dir(data_dir)?;
    let database = Database::open(data_dir, cache_dir).await?;
    let store = &database.store;
    let model = embedding::register(store, cache_dir, &*embedder).await?;
    let query = |note: &&Note| Ok(known.get(&stored::text_to_embed(note))?.to_vec());
    let queries: Vec<Vec<f32>> = asked.iter().map(query).collect::<Result<_>>()?;
    let mut made = Vec::new();
    let mut placed = Vec::new();
    let mut left: Vec<&Note> = notes.stored.iter().collect();
    for size in sizes.iter().copied() {
        let id = make_project(store, size).await?;
        let (chosen, rest) = pick(left, size);
        left = rest;
        let scope = chosen[chosen.len() / 2].scope.clone();
        placed.extend(chosen.into_iter().enumerate().map(|(number, note)| Placed {
            project: id,
            number,
            note,
        }));
        made.push(Project { id, size, scope, queries: queries.clone() });
    }
    in_batches(&placed, async |batch| write(store, &model, &known, batch).await).await?;
    database.settle().await?;
    Ok((database, Seeded { model, projects: made }))
}

async fn make_project(store: &Store, size: usize) -> Result<ProjectId> {
    let key = ProjectKey::parse(&format!("size-{size}"))?;
    Ok(projects::create(store, UserId::LOCAL, &key, key.as_str()).await?.0.id)
}

/// Picks `count` notes at even distances, and returns the others as well.
fn pick(notes: Vec<&Note>, count: usize) -> (Vec<&Note>, Vec<&Note>) {
    let total = notes.len();
    let is_chosen = |at: usize| (at + 1) * count / total > at * count / total;
    let (chosen, rest): (Vec<_>, Vec<_>) =
        notes.into_iter().enumerate().partition(|(at, _)| is_chosen(*at));
    let only = |notes: Vec<(usize, _)>| notes.into_iter().map(|(_, note)| note).collect();
    (only(chosen), only(rest))
}

fn spread(notes: &[Note], count: usize) -> Vec<&Note> {
    notes.iter().step_by((notes.len() / count).max(1)).take(count).collect()
}

async fn write(store: &Store, model: &Model, known: &Vectors, batch: &[Placed<'_>]) -> Result<()> {
    let mut tx = store.begin().await?;
    for placed in batch {
        let Placed { project, number, note } = placed;
        let passage = passage(placed);
        let vector = known.get(&stored::text_to_embed(note))?;
        if is_memory(*number) {
            let body = stored::body(*number, note);
            let (origin, vector) = (RecordSource::default(), Some((model, vector)));
            let new = NewRecord::of_the_team(&body, &origin, &passage, vector);
            records::create(&mut tx, *project, new).await?;
        } else {
            let doc = docs::upsert(&mut tx, *project, &document(placed), &[]).await?.0;
            let source = PassageSource::Doc(doc);
            let id = passages::put_only(&mut tx, *project, source, &passage).await?;
            vectors::put(&mut tx, model, id, &vectors::text_hash(&passage), vector).await?;
        }
    }
    Ok(tx.commit().await?)
}

fn document(Placed { number, note, .. }: &Placed<'_>) -> NewDoc {
    NewDoc {
        file: None,
        saved_by: None,
        trust: mc_domain::Trust::Imported,
        source: "bench".into(),
        doc_id: number.to_string(),
        title: mask(&note.tag).text,
        url: Sanitized::default(),
        content: mask(&note.text).text,
        scope: vec![],
        tags: vec![],
    }
}

fn passage(placed: &Placed<'_>) -> NewPassage {
    let Placed { number, note, .. } = placed;
    let is_memory = is_memory(*number);
    let tags = TAGS.iter().filter(|(_, step)| number.is_multiple_of(*step));
    NewPassage {
        record_kind: is_memory.then(|| stored::kind(*number)),
        location: mask(&format!("docs/{}/{number}.md", number % FOLDERS)).text,
        tags: tags.map(|(tag, _)| (*tag).to_owned()).collect(),
        language: if is_memory { "" } else { "markdown" }.to_owned(),
        ..stored::passage(*number, note)
    }
}

fn is_memory(number: usize) -> bool {
    number % 5 < OF_FIVE_MEMORIES
}
