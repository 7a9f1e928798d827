//! Notes for the projects of a benchmark, and others kept back for queries and saves.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use sha2::{Digest, Sha256};

use super::packages::{Package, files, packages};
use super::prose;

/// One in this many notes is kept back.
const KEPT_BACK: usize = 12;

/// The source of the prose.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Source {
    /// Directory with prose (.md, .txt, .rs) in place of the dependencies' documentation
    #[arg(long = "text", value_name = "DIR")]
    text: Option<PathBuf>,
}

/// A note of a project.
#[derive(Debug, Clone)]
pub struct Note {
    /// Number of the project, from 0.
    pub project: usize,
    /// The part of the system: a crate's name.
    pub scope: String,
    /// The file's name without its extension.
    pub tag: String,
    /// The text.
    pub text: String,
}

/// The notes of a benchmark; deterministic for the same `Cargo.lock` and numbers.
#[derive(Debug)]
pub struct Notes {
    /// Notes to store.
    pub stored: Vec<Note>,
    /// Notes kept back: of the same projects, not in the database.
    pub kept_back: Vec<Note>,
    /// Number of different paragraphs; beyond it, a sentence is added to distinguish texts.
    distinct: usize,
    /// The origin of the prose.
    origin: &'static str,
}

impl Notes {
    /// Reads `count` notes for `projects`, in the order of the crates: neighbors have the same
    /// subject and get the same project, as a team's notes do.
    pub fn read(source: &Source, count: usize, projects: usize) -> Result<Self> {
        let paragraphs = paragraphs(source)?;
        let distinct = paragraphs.len();
        ensure!(distinct > 0, "no prose was found; name a folder with --text");
        let total = count + count.div_ceil(KEPT_BACK - 1);
        let notes = (0..total).map(|at| {
            let (round, paragraph) = (at / distinct, &paragraphs[at % distinct]);
            Note { project: at * projects / total, ..paragraph.in_round(round) }
        });
        let (kept_back, stored): (Vec<_>, Vec<_>) =
            notes.enumerate().partition(|(at, _)| at % KEPT_BACK == 0);
        let only = |notes: Vec<(usize, Note)>| notes.into_iter().map(|(_, note)| note).collect();
        let origin = match source.text {
            Some(_) => "prose from the folder named with --text",
            None => "documentation from the dependencies' sources",
        };
        Ok(Self { stored: only(stored), kept_back: only(kept_back), distinct, origin })
    }

    /// Describes the origin of the texts.
    pub fn describe(&self) -> String {
        let count = self.stored.len() + self.kept_back.len();
        let repeated = match count.div_ceil(self.distinct) {
            1 => String::new(),
            rounds => format!(
                "; each is used up to {rounds} times, in different parts and with a sentence added"
            ),
        };
        let (distinct, origin) = (self.distinct.min(count), self.origin);
        format!("texts: {distinct} different paragraphs of {origin}{repeated}")
    }

    /// Returns a fingerprint of the notes.
    pub fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        for note in &self.stored {
            hash.update(note.project.to_le_bytes());
            hash.update(Sha256::digest(&note.text));
        }
        hex::encode(hash.finalize())
    }
}

impl Note {
    /// Returns the text, with a sentence that distinguishes it in later rounds.
    fn in_round(&self, round: usize) -> Self {
        let text = match round {
            0 => self.text.clone(),
            _ => format!("{} This was seen again in release {round}.", self.text),
        };
        Self { text, ..self.clone() }
    }
}

/// Returns every paragraph of the source once, in a fixed order, without a project.
fn paragraphs(source: &Source) -> Result<Vec<Note>> {
    let directories = match &source.text {
        Some(dir) => vec![("text".to_owned(), dir.clone())],
        None => packages()?.into_iter().map(|Package { name, dir, .. }| (name, dir)).collect(),
    };
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for (scope, dir) in directories {
        for file in files(&dir, &["rs", "md", "txt"])? {
            let Ok(text) = std::fs::read_to_string(&file) else { continue };
            let tag = stem(&file);
            for text in prose::paragraphs(&file, &text) {
                if seen.insert(mc_memory::normalize::content_hash(&text)) {
                    found.push(Note { project: 0, scope: scope.clone(), tag: tag.clone(), text });
                }
            }
        }
    }
    Ok(found)
}

fn stem(file: &Path) -> String {
    file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}
