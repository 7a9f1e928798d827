//! A set on disk: queries, judgements, and either a corpus or a repository at a commit.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

/// Folders whose files are no candidates of a repository's set.
const NOT_CANDIDATES: &[&str] = &[
    "test",
    "tests",
    "spec",
    "specs",
    "__tests__",
    "example",
    "examples",
    "doc",
    "docs",
    "vendor",
    "vendored",
    "third_party",
    "node_modules",
    "benches",
    "bench",
    "fixtures",
];

/// A set.
#[derive(Debug)]
pub struct EvalSet {
    /// The folder's name.
    pub name: String,
    /// What is searched.
    pub corpus: Corpus,
    /// What is asked.
    pub queries: Vec<Query>,
}

/// What is searched.
#[derive(Debug)]
pub enum Corpus {
    /// Documents of `corpus.jsonl`.
    Documents(Vec<Document>),
    /// A repository at a commit, of `meta.json`.
    Repository(Meta),
}

/// A document.
#[derive(Debug, Deserialize)]
pub struct Document {
    /// Identifier.
    #[serde(rename = "_id")]
    pub id: String,
    /// Title; may be empty.
    #[serde(default)]
    pub title: String,
    /// Text.
    pub text: String,
    /// What else is known of it.
    #[serde(default)]
    pub metadata: Metadata,
}

/// What else is known of a document.
#[derive(Debug, Default, Deserialize)]
pub struct Metadata {
    /// The conversation that it is a message of, where it is one; a number or a name.
    #[serde(default)]
    pub session: Option<serde_json::Value>,
    /// When that was, in words.
    #[serde(default)]
    pub date: Option<String>,
}

/// A repository at a commit.
#[derive(Debug, Deserialize)]
pub struct Meta {
    /// `owner/name`.
    pub repository: String,
    /// What to check out.
    pub base_commit: String,
    /// Extensions of candidate files, with the dot.
    #[serde(default)]
    pub extensions: Vec<String>,
}

/// A query with its judgements.
#[derive(Debug)]
pub struct Query {
    /// Text.
    pub text: String,
    /// Relevant ids and their grades.
    pub relevant: HashMap<String, f64>,
}

#[derive(Deserialize)]
struct QueryLine {
    #[serde(rename = "_id")]
    id: String,
    text: String,
}

impl EvalSet {
    /// Reads the set in `dir`.
    pub fn read(dir: &Path) -> Result<Self> {
        let name = dir.file_name().context("the set's folder has no name")?;
        let mut judgements = qrels(&dir.join("qrels.tsv"))?;
        let queries: Vec<Query> = jsonl::<QueryLine>(&dir.join("queries.jsonl"))?
            .into_iter()
            .filter_map(|line| {
                let relevant = judgements.remove(&line.id)?;
                Some(Query { text: line.text, relevant })
            })
            .collect();
        ensure!(!queries.is_empty(), "{} has no query with a judgement", dir.display());
        let corpus = if dir.join("corpus.jsonl").exists() {
            Corpus::Documents(jsonl(&dir.join("corpus.jsonl"))?)
        } else if dir.join("meta.json").exists() {
            let text = fs::read_to_string(dir.join("meta.json"))?;
            Corpus::Repository(serde_json::from_str(&text).context("meta.json")?)
        } else {
            bail!("{} has neither corpus.jsonl nor meta.json", dir.display());
        };
        Ok(Self { name: name.to_string_lossy().into_owned(), corpus, queries })
    }

    /// Whether a file of the repository may be judged.
    pub fn is_candidate(&self, place: &str) -> bool {
        let Corpus::Repository(meta) = &self.corpus else { return false };
        let (folders, file) = place.rsplit_once('/').unwrap_or(("", place));
        let has_extension = meta.extensions.is_empty()
            || meta.extensions.iter().any(|e| file.ends_with(e.as_str()));
        has_extension && !folders.split('/').any(|folder| NOT_CANDIDATES.contains(&folder))
    }
}

fn jsonl<T: serde::de::DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let text =
        fs::read_to_string(path).with_context(|| format!("{} can't be read", path.display()))?;
    text.lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(at, line)| {
            serde_json::from_str(line)
                .with_context(|| format!("{} line {}", path.display(), at + 1))
        })
        .collect()
}

fn qrels(path: &Path) -> Result<HashMap<String, HashMap<String, f64>>> {
    let text =
        fs::read_to_string(path).with_context(|| format!("{} can't be read", path.display()))?;
    let mut judgements: HashMap<String, HashMap<String, f64>> = HashMap::new();
    for (at, line) in text.lines().enumerate().skip(1).filter(|(_, line)| !line.is_empty()) {
        let mut fields = line.split('\t');
        let (Some(query), Some(id), Some(grade)) = (fields.next(), fields.next(), fields.next())
        else {
            bail!("{} line {} has not three fields", path.display(), at + 1);
        };
        let grade: f64 = grade
            .trim()
            .parse()
            .with_context(|| format!("{} line {}: the grade", path.display(), at + 1))?;
        if grade > 0.0 {
            judgements.entry(query.into()).or_default().insert(id.into(), grade);
        }
    }
    Ok(judgements)
}
