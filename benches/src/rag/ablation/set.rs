//! A set of commit messages with the files that the commits changed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use regex::Regex;
use serde::Deserialize;

/// Paths that are no candidates: tests, examples, documents, and foreign code.
const EXCLUDED: &str = r"(?x)
    (^|/)(tests?|spec|specs|examples?|docs?|benches|benchmarks?|fixtures|testdata|vendor
        |node_modules|CHANGELOG|locales)(/|$)
    |_test\.|\.test\.|_spec\.|(^|/)test_|Test\.java$|\.min\.js$";

/// A commit message.
pub struct Question {
    /// The beginning of the commit's name.
    pub commit: String,
    /// The message.
    pub text: String,
    /// The files that the commit changed.
    pub files: BTreeSet<String>,
}

/// A set.
#[derive(Default)]
pub struct Set {
    /// The commit messages.
    pub questions: Vec<Question>,
    /// Endings of the candidate files, with the dot.
    endings: Vec<String>,
    excluded: Option<Regex>,
}

#[derive(Deserialize)]
struct Meta {
    base_commit: String,
    extensions: Vec<String>,
}

#[derive(Deserialize)]
struct Line {
    _id: String,
    text: String,
}

impl Set {
    /// Reads at most `limit` questions. Returns the commit to index, too.
    pub fn read(directory: &Path, limit: usize) -> Result<(Self, String)> {
        let read = |name: &str| {
            let file = directory.join(name);
            std::fs::read_to_string(&file).with_context(|| file.display().to_string())
        };
        let meta: Meta = serde_json::from_str(&read("meta.json")?)?;
        let mut files: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for line in read("qrels.tsv")?.lines().skip(1) {
            let mut cells = line.split('\t');
            if let (Some(query), Some(path)) = (cells.next(), cells.next()) {
                files.entry(query.to_owned()).or_default().insert(path.to_owned());
            }
        }
        let mut questions = Vec::new();
        for line in read("queries.jsonl")?.lines().take(limit) {
            let Line { _id: commit, text } = serde_json::from_str(line)?;
            let files = files.remove(&commit).with_context(|| format!("{commit} has no files"))?;
            questions.push(Question { commit, text, files });
        }
        let excluded = Some(Regex::new(EXCLUDED)?);
        Ok((Self { questions, endings: meta.extensions, excluded }, meta.base_commit))
    }

    /// Returns a set about the generated repository if this one is empty.
    pub fn or_generated(self) -> Self {
        if !self.questions.is_empty() {
            return self;
        }
        let question = |number: usize| Question {
            commit: String::new(),
            text: format!("weigh the parcels of step {number}"),
            files: BTreeSet::from(["part0/file1.rs".to_owned()]),
        };
        let questions = (2..6).map(question).collect();
        Self { questions, endings: vec![".rs".to_owned()], excluded: None }
    }

    /// Whether a file is a candidate.
    pub fn is_candidate(&self, path: &str) -> bool {
        let is_excluded = self.excluded.as_ref().is_some_and(|regex| regex.is_match(path));
        !is_excluded && self.endings.iter().any(|ending| path.ends_with(ending))
    }
}
