//! A set in its directory.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Notes of a team, and its questions.
#[derive(Debug)]
pub struct Set {
    /// The name of the directory.
    pub name: String,
    /// The code that the notes cite.
    pub source: Source,
    /// In the order in which they are saved.
    pub notes: Vec<Note>,
    /// The questions with the correct answers.
    pub questions: Vec<Question>,
}

/// The code that the notes of a set are about.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Source {
    /// A public repository at a commit.
    Repository {
        /// `owner/name`; a clone has the name alone.
        repository: String,
        /// The full hash.
        commit: String,
    },
    /// A package of a registry.
    Package {
        /// Its name.
        package: String,
        /// Its version.
        version: String,
        /// The directory into which `scripts/setup` unpacks it, below the cache directory.
        directory: PathBuf,
    },
}

/// A note.
#[derive(Debug, Deserialize)]
pub struct Note {
    /// Unique in the set.
    pub id: String,
    /// An earlier note of the set.
    pub supersedes: Option<String>,
    /// Other fields of `POST /save`.
    #[serde(flatten)]
    pub fields: Map<String, Value>,
}

/// A question with the correct answer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// Unique in the set.
    pub id: String,
    query: Option<String>,
    repo_path: Option<String>,
    #[serde(default)]
    symbols: Vec<String>,
    #[serde(default)]
    signals: Vec<String>,
    task_external_id: Option<String>,
    /// Required notes; without any, one of `files` is required.
    pub must: BTreeSet<String>,
    /// One of these must be first; no requirement when empty.
    pub first: BTreeSet<String>,
    /// Notes that are neither required nor noise.
    pub may: BTreeSet<String>,
    /// Wanted paths; one that ends in `/` includes all below it.
    pub files: Vec<String>,
    /// Whether an empty response is correct.
    pub empty: bool,
    /// Words of a `must` note that must be readable.
    pub must_contain: Vec<String>,
    /// Whether the question's language differs from the note's.
    #[serde(default)]
    pub cross_lingual: bool,
    /// The purpose of the question.
    pub why: String,
}

#[derive(Serialize)]
struct Asked<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    query: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repo_path: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    symbols: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    signals: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    task_external_id: Option<&'a str>,
}

impl Set {
    /// Reads the three files of a directory.
    pub fn read(directory: &Path) -> Result<Self> {
        let name = directory.file_name().context("a set's folder has a name")?;
        let set = Self {
            name: name.to_string_lossy().into_owned(),
            source: parse(&directory.join("meta.json"), &text(&directory.join("meta.json"))?)?,
            notes: lines(&directory.join("notes.jsonl"))?,
            questions: lines(&directory.join("questions.jsonl"))?,
        };
        set.ensure_known(directory)?;
        Ok(set)
    }

    fn ensure_known(&self, directory: &Path) -> Result<()> {
        let known: BTreeSet<_> = self.notes.iter().map(|note| &note.id).collect();
        for question in &self.questions {
            let unknown = question.wanted().find(|note| !known.contains(note));
            let (directory, id) = (directory.display(), &question.id);
            ensure!(unknown.is_none(), "{directory}: {id} names {unknown:?}, which is no note");
        }
        Ok(())
    }
}

impl Source {
    /// Returns the repository to index, and its commit unless it is the newest: a clone below
    /// `clones`, or one created in `scratch` from the package in the cache.
    pub fn repository(
        &self,
        clones: Option<&Path>,
        cache: &Path,
        scratch: &Path,
    ) -> Result<(PathBuf, Option<&str>)> {
        match self {
            Self::Repository { repository, commit } => {
                let name = repository.rsplit('/').next().unwrap_or(repository);
                let clones = clones.with_context(|| format!("say where the clone {name} lies"))?;
                let clone = clones.join(name).canonicalize();
                Ok((clone.with_context(|| format!("no clone {name}"))?, Some(commit)))
            }
            Self::Package { package, version, directory } => {
                let unpacked = cache.join(directory);
                let there = unpacked.is_dir();
                ensure!(
                    there,
                    "{package} {version} is not there: run `scripts/setup bundle-source`"
                );
                let made = scratch.join(package);
                commit(&unpacked, &made)?;
                Ok((made, None))
            }
        }
    }
}

/// Creates the repository `into` with the files of a directory as its only commit.
fn commit(directory: &Path, into: &Path) -> Result<()> {
    let git = |args: &[&str]| run(Command::new("git").arg("-C").arg(into).args(args));
    run(Command::new("cp").arg("-r").args([directory.join(".").as_path(), into]))?;
    git(&["init", "-q", "-b", "main"])?;
    git(&["add", "-A"])?;
    let by = ["-c", "user.name=Test", "-c", "user.email=test@example.com"];
    git(&[&by[..], &["commit", "-q", "-m", "As released"]].concat())
}

fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("{command:?}"))?;
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(())
}

impl Note {
    /// Returns a text field; empty if it is absent.
    pub fn text(&self, field: &str) -> &str {
        self.fields.get(field).and_then(Value::as_str).unwrap_or_default()
    }
}

impl Question {
    /// Returns the body of `POST /recall`, without the project.
    pub fn asked(&self) -> Result<Value> {
        Ok(serde_json::to_value(Asked {
            query: self.query.as_deref(),
            repo_path: self.repo_path.as_deref(),
            symbols: &self.symbols,
            signals: &self.signals,
            task_external_id: self.task_external_id.as_deref(),
        })?)
    }

    /// Returns the text for `POST /search`, which accepts text only.
    pub fn as_text(&self) -> String {
        let alone = [&self.query, &self.repo_path, &self.task_external_id];
        let alone = alone.into_iter().filter_map(Option::as_deref);
        let lists = self.symbols.iter().chain(&self.signals).map(String::as_str);
        alone.chain(lists).collect::<Vec<_>>().join("\n")
    }

    /// Returns every note that is not noise.
    pub fn wanted(&self) -> impl Iterator<Item = &String> {
        self.must.iter().chain(&self.first).chain(&self.may)
    }
}

fn text(file: &Path) -> Result<String> {
    std::fs::read_to_string(file).with_context(|| format!("{} can't be read", file.display()))
}

fn lines<T: DeserializeOwned>(file: &Path) -> Result<Vec<T>> {
    let text = text(file)?;
    let filled = text.lines().filter(|line| !line.trim().is_empty());
    filled.map(|line| parse(file, line)).collect()
}

fn parse<T: DeserializeOwned>(file: &Path, json: &str) -> Result<T> {
    serde_json::from_str(json).with_context(|| format!("{}: {json}", file.display()))
}
