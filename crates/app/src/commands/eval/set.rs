//! An evaluation set on disk: queries, judgements, and either a corpus or a repository at a commit.

use std::collections::HashMap;
use std::path::Path;
use std::sync::LazyLock;

use anyhow::{Context, Result, bail, ensure};
use regex::{Regex, RegexBuilder};
use serde::Deserialize;

use crate::input;

/// Pattern of paths that are not candidates of a repository: tests, examples, documentation,
/// vendored and generated files, by directory and by name. It equals the rule in the README of the
/// evaluation data (section `beir/dev`), so that figures are comparable with other measurements on
/// the same sets.
const EXCLUDED_PATTERN: &str = concat!(
    r"(^|/)(tests?|spec|specs|examples?|docs?|benches|benchmarks?|fixtures",
    r"|testdata|vendor|node_modules|CHANGELOG|locales)(/|$)",
    r"|_test\.|\.test\.|_spec\.|(^|/)test_|Test\.java$|\.min\.js$",
);

/// [`EXCLUDED_PATTERN`], compiled without regard to case.
static EXCLUDED: LazyLock<Regex> = LazyLock::new(|| {
    RegexBuilder::new(EXCLUDED_PATTERN)
        .case_insensitive(true)
        .build()
        .expect("a regular expression")
});

#[derive(Debug)]
pub struct EvalSet {
    /// Name of the directory.
    pub name: String,
    pub corpus: Corpus,
    pub queries: Vec<Query>,
}

/// The searched corpus of a set.
#[derive(Debug)]
pub enum Corpus {
    /// Documents of `corpus.jsonl`.
    Documents(Vec<Document>),
    /// A repository at a commit, of `meta.json`.
    Repository(Meta),
}

#[derive(Debug, Deserialize)]
pub struct Document {
    #[serde(rename = "_id")]
    pub id: String,
    #[serde(default)]
    pub title: String,
    pub text: String,
    #[serde(default)]
    pub metadata: Metadata,
}

/// Additional fields of a document.
#[derive(Debug, Default, Deserialize)]
pub struct Metadata {
    /// The conversation of a message, as a number or a name.
    #[serde(default)]
    pub session: Option<serde_json::Value>,
    /// Date of the conversation, as text.
    #[serde(default)]
    pub date: Option<String>,
}

/// A repository at a commit.
#[derive(Debug, Deserialize)]
pub struct Meta {
    /// `owner/name`.
    pub repository: String,
    pub base_commit: String,
    /// Extensions of candidate files, with the dot.
    #[serde(default)]
    pub extensions: Vec<String>,
}

/// A query with its judgements.
#[derive(Debug)]
pub struct Query {
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
    pub fn read(dir: &Path) -> Result<Self> {
        let name = dir.file_name().context("the directory of the set has no name")?;
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
            let text = input::text(&dir.join("meta.json"))?;
            Corpus::Repository(serde_json::from_str(&text).context("meta.json")?)
        } else {
            bail!("{} has neither corpus.jsonl nor meta.json", dir.display());
        };
        Ok(Self { name: name.to_string_lossy().into_owned(), corpus, queries })
    }

    /// Reports whether a file of the repository may be a result.
    pub fn is_candidate(&self, path: &str) -> bool {
        let Corpus::Repository(meta) = &self.corpus else { return false };
        let has_extension = meta.extensions.is_empty()
            || meta.extensions.iter().any(|e| path.ends_with(e.as_str()));
        has_extension && !EXCLUDED.is_match(path)
    }
}

fn jsonl<T: serde::de::DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    input::text(path)?
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(index, line)| {
            serde_json::from_str(line)
                .with_context(|| format!("{} line {}", path.display(), index + 1))
        })
        .collect()
}

fn qrels(path: &Path) -> Result<HashMap<String, HashMap<String, f64>>> {
    let text = input::text(path)?;
    let mut judgements: HashMap<String, HashMap<String, f64>> = HashMap::new();
    for (index, line) in text.lines().enumerate().skip(1).filter(|(_, line)| !line.is_empty()) {
        let mut fields = line.split('\t');
        let (Some(query), Some(id), Some(grade)) = (fields.next(), fields.next(), fields.next())
        else {
            bail!("{} line {} does not have three fields", path.display(), index + 1);
        };
        let grade: f64 = grade
            .trim()
            .parse()
            .with_context(|| format!("{} line {}: the grade", path.display(), index + 1))?;
        if grade > 0.0 {
            judgements.entry(query.into()).or_default().insert(id.into(), grade);
        }
    }
    Ok(judgements)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(extensions: &[&str]) -> EvalSet {
        let meta = Meta {
            repository: "example/shop".into(),
            base_commit: String::new(),
            extensions: extensions.iter().map(|&e| e.to_owned()).collect(),
        };
        EvalSet { name: "shop".into(), corpus: Corpus::Repository(meta), queries: Vec::new() }
    }

    #[test]
    fn tests_examples_docs_and_vendored_files_are_excluded() {
        let set = set(&[".rb", ".go", ".ts", ".js", ".java", ".py"]);
        for path in [
            "test/cart.rb",
            "app/Tests/cart.rb",
            "spec/models/cart.rb",
            "packages/web/Specs/a.ts",
            "examples/a.go",
            "docs/conf.py",
            "crates/a/benches/b.js",
            "benchmark/run.py",
            "testdata/a.go",
            "node_modules/x/index.js",
            "config/locales/de.rb",
            "pkg/cart_test.go",
            "src/cart.test.ts",
            "lib/cart_spec.rb",
            "lib/test_cart.py",
            "src/CartTest.java",
            "public/app.min.js",
        ] {
            assert!(!set.is_candidate(path), "{path}");
        }
    }

    #[test]
    fn names_that_only_resemble_tests_are_candidates() {
        let set = set(&[".rb", ".go", ".ts", ".java"]);
        for path in [
            "app/models/cart.rb",
            "src/contest.go",
            "src/latest.ts",
            "lib/inspector.rb",
            "documents/a.go",
            "src/testing/a.ts",
            "src/__tests__/a.ts",
            "third_party/a.go",
            "bench/a.go",
            "src/TestCart.java",
        ] {
            assert!(set.is_candidate(path), "{path}");
        }
    }

    #[test]
    fn files_with_other_extensions_are_excluded() {
        assert!(!set(&[".rb"]).is_candidate("app/models/cart.py"));
        assert!(set(&[]).is_candidate("app/models/cart.py"));
    }
}
