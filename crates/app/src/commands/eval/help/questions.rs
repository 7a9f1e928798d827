//! Questions with the facts that their answers should state: files of YAML or JSON Lines.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use mc_contract::list::{Symbols, limited_nonempty, optional_nonempty};
use mc_contract::text::{FreeText, QueryText, RepositoryPath, ShortText};
use mc_sanitizer::mask;
use regex::{Regex, RegexBuilder};
use serde::de::{DeserializeOwned, Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer};

use crate::input;

/// Maximum size of a file, in bytes.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;
/// Maximum number of questions of a set.
const MAX_QUESTIONS: usize = 1_000;
/// Maximum number of facts of a question.
const MAX_FACTS: usize = 16;
/// Maximum number of phrases of a fact.
const MAX_PHRASES: usize = 16;

/// A question of a set.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// Where it is, such as `questions.yaml, question 3`.
    #[serde(skip)]
    pub place: String,
    /// The question.
    #[serde(rename = "question")]
    pub text: QueryText,
    /// File or directory that it is about.
    #[serde(default)]
    pub path: Option<RepositoryPath>,
    /// Symbols that it is about.
    #[serde(default)]
    pub symbols: Symbols,
    /// The part of the set, such as `tune` or `report`.
    #[serde(default)]
    pub split: Option<ShortText>,
    /// Facts that an answer should state.
    #[serde(deserialize_with = "limited_nonempty::<MAX_FACTS, _, _>")]
    pub expected: Vec<Fact>,
}

/// A fact that an answer should state.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fact {
    /// The fact, as a model that scores answers reads it.
    pub fact: FreeText,
    /// Phrases of which an answer with the fact has at least one.
    #[serde(default, deserialize_with = "optional_nonempty::<MAX_PHRASES, _, _>")]
    pub any_of: Option<Vec<Phrase>>,
}

/// A phrase that is found whatever its case and its white space, as whole words.
#[derive(Debug, Clone)]
pub struct Phrase {
    text: String,
    regex: Regex,
}

impl Phrase {
    fn new(text: &str) -> Result<Self, String> {
        if !text.chars().any(char::is_alphanumeric) {
            return Err("must have a letter or digit".to_owned());
        }
        let words: Vec<_> = text.split_whitespace().map(regex::escape).collect();
        // Half boundaries, since a phrase may start or end with a sign: `--force`, `C++`.
        let pattern = format!(r"\b{{start-half}}{}\b{{end-half}}", words.join(r"\s+"));
        let regex = RegexBuilder::new(&pattern).case_insensitive(true).build();
        let regex = regex.map_err(|_| "is too long for a phrase".to_owned())?;
        Ok(Self { text: text.to_owned(), regex })
    }

    /// Returns whether a text has the phrase.
    pub fn is_in(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

impl<'de> Deserialize<'de> for Phrase {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = ShortText::deserialize(deserializer)?;
        Self::new(text.as_str()).map_err(D::Error::custom)
    }
}

impl Question {
    /// Checks that no fact has a secret or personal data: answers are masked, so it would never be
    /// found, or any other value in its place would be.
    fn check_masks(&self) -> Result<()> {
        for (number, fact) in (1..).zip(&self.expected) {
            let phrases = fact.any_of.iter().flatten().map(|phrase| phrase.text.as_str());
            for text in std::iter::once(fact.fact.as_str()).chain(phrases) {
                ensure!(
                    mask(text).text.as_str() == text,
                    "{}, fact {number}: it has a secret or personal data, which the memory never \
                     holds; take it out",
                    self.place
                );
            }
        }
        Ok(())
    }
}

impl Fact {
    /// Returns whether a text has one of the phrases; `None` if the fact has no phrases.
    pub fn has_phrase_in(&self, text: &str) -> Option<bool> {
        let phrases = self.any_of.as_ref()?;
        Some(phrases.iter().any(|phrase| phrase.is_in(text)))
    }
}

/// Reads the questions of a file, or of the files of a directory in the order of their names. With
/// `needs_phrases`, each fact must have phrases.
pub fn read(path: &Path, needs_phrases: bool) -> Result<Vec<Question>> {
    let mut questions = Vec::new();
    for file in files(path)? {
        let format = FileFormat::of(&file).with_context(|| unknown_format(&file))?;
        let bytes = file.metadata().with_context(|| unreadable(&file))?.len();
        ensure!(
            bytes <= MAX_FILE_BYTES,
            "{} has {bytes} bytes, and {MAX_FILE_BYTES} are allowed; split it",
            file.display()
        );
        let text = input::text(&file)?;
        let parsed: Vec<Question> = format.parse(&file, &text)?;
        if needs_phrases {
            let _: Vec<PhrasesOnly> = format.parse(&file, &text).context(NO_PHRASES)?;
        }
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for (number, question) in (1..).zip(parsed) {
            let question = Question { place: format!("{name}, question {number}"), ..question };
            question.check_masks()?;
            questions.push(question);
        }
    }
    ensure!(!questions.is_empty(), "{} has no questions", path.display());
    let count = questions.len();
    ensure!(
        count <= MAX_QUESTIONS,
        "{} has {count} questions, and {MAX_QUESTIONS} are allowed; split it",
        path.display()
    );
    Ok(questions)
}

const NO_PHRASES: &str = "facts are found by their phrases, since no chat model has the role judge \
                          or --phrases is given; add `any_of` to each fact";

/// The part of a question that phrases are read from. Its errors are about missing phrases, since
/// the question was parsed before.
#[derive(Deserialize)]
struct PhrasesOnly {
    #[serde(rename = "expected")]
    _expected: Vec<RequiredPhrases>,
}

#[derive(Deserialize)]
struct RequiredPhrases {
    #[serde(rename = "any_of")]
    _any_of: IgnoredAny,
}

/// The format of a file.
#[derive(Debug, Clone, Copy)]
enum FileFormat {
    Yaml,
    JsonLines,
}

impl FileFormat {
    fn of(file: &Path) -> Option<Self> {
        match file.extension()?.to_str()? {
            "yaml" | "yml" => Some(Self::Yaml),
            "jsonl" => Some(Self::JsonLines),
            _ => None,
        }
    }

    /// Parses a list of items. An error names the file, the line and the field.
    fn parse<T: DeserializeOwned>(self, file: &Path, text: &str) -> Result<Vec<T>> {
        match self {
            Self::Yaml => yaml(text).map_err(|error| anyhow!("{}: {error}", file.display())),
            Self::JsonLines => {
                let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
                let items = lines.map(|(index, line)| {
                    json_line(line)
                        .map_err(|error| anyhow!("{}, line {}: {error}", file.display(), index + 1))
                });
                items.collect()
            }
        }
    }
}

/// Parses a list. The error has the path of the field, and the line where it or its item starts.
fn yaml<T: DeserializeOwned>(text: &str) -> Result<Vec<T>, String> {
    let deserializer = serde_norway::Deserializer::from_str(text);
    serde_path_to_error::deserialize(deserializer).map_err(|error| {
        let path = error.path().to_string();
        let message = error.into_inner().to_string();
        // It may have a path of its own, which ends before the field: `.[2]`.
        let own_path = message.split_once(": ").filter(|_| message.starts_with(".["));
        at(&path, own_path.map_or(&*message, |(_, message)| message))
    })
}

/// Parses a line. The error has the path of the field, and the column.
fn json_line<T: DeserializeOwned>(line: &str) -> Result<T, String> {
    let mut deserializer = serde_json::Deserializer::from_str(line);
    let item = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        let (column, message) = (error.inner().column(), error.inner().to_string());
        // The caller knows the line in the file; this is the line in the text of one line.
        let message = message.rsplit_once(" at line ").map_or(&*message, |(message, _)| message);
        at(&path, &format!("{message} (column {column})"))
    })?;
    deserializer.end().map_err(|_| "a line has one object".to_owned())?;
    Ok(item)
}

/// Returns a message with the path of its field; `.` is that of the whole text.
fn at(path: &str, message: &str) -> String {
    if path == "." { message.to_owned() } else { format!("{path}: {message}") }
}

fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.metadata().with_context(|| unreadable(path))?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = path.read_dir().with_context(|| unreadable(path))?;
    let mut files = Vec::new();
    for entry in entries {
        let file = entry.with_context(|| unreadable(path))?.path();
        if FileFormat::of(&file).is_some() {
            files.push(file);
        }
    }
    if files.is_empty() {
        bail!("{} has no .yaml, .yml or .jsonl file", path.display());
    }
    files.sort();
    Ok(files)
}

fn unknown_format(file: &Path) -> String {
    format!("{} is no .yaml, .yml or .jsonl file; rename it by its format", file.display())
}

fn unreadable(path: &Path) -> String {
    format!("{} can't be read", path.display())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    const YAML: &str = "\
- question: How long may a customer return a lamp?
  path: app/returns
  symbols: [Returns#window]
  expected:
    - fact: The window is 45 days.
      any_of: [45 days, forty-five days]
- question: Who owns the importer?
  split: report
  expected:
    - fact: The team Kiln owns it.
";

    fn read_file(name: &str, text: &str, needs_phrases: bool) -> Result<Vec<Question>> {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join(name);
        std::fs::write(&file, text).unwrap();
        read(&file, needs_phrases)
    }

    fn error(name: &str, text: &str, needs_phrases: bool) -> String {
        format!("{:#}", read_file(name, text, needs_phrases).unwrap_err())
    }

    #[test]
    fn phrase_is_found_as_whole_words() {
        let is_in = |phrase: &str, text: &str| Phrase::new(phrase).unwrap().is_in(text);
        assert!(is_in("45 days", "It is 45\n  DAYS."));
        assert!(!is_in("45 days", "It is 145 days.") && !is_in("45 day", "It is 45 days."));
        assert!(is_in("--force", "Run it with --force.") && is_in("C++", "in C++."));
        assert!(is_in("Größe", "die GRÖSSE, also GRÖßE") && is_in("a.b", "a.b"));
        assert!(!is_in("a.b", "axb"));
        assert!(Phrase::new("--").is_err());
    }

    #[test]
    fn both_formats_have_the_same_fields() {
        let yaml = read_file("set.yaml", YAML, false).unwrap();
        let lines: Vec<serde_json::Value> = serde_norway::from_str(YAML).unwrap();
        let lines = lines.iter().map(|line| format!("{line}\n\n")).collect::<String>();
        let json = read_file("set.jsonl", &lines, false).unwrap();
        for (questions, name) in [(&yaml, "set.yaml"), (&json, "set.jsonl")] {
            assert_eq!(questions.len(), 2, "{name}");
            assert_eq!(questions[1].place, format!("{name}, question 2"));
            let [first, second] = [&questions[0].expected[0], &questions[1].expected[0]];
            assert_eq!(first.has_phrase_in("forty-five days"), Some(true));
            assert_eq!(second.has_phrase_in("The team Kiln owns it."), None);
        }
    }

    #[test]
    fn error_names_file_line_and_field() {
        for (broken, parts) in [
            (YAML.replace("45 days,", "'--',"), ["line 6", "[0].expected[0].any_of[0]: must have"]),
            (YAML.replace("path: app", "path: ../app"), ["line 1", "[0].path: must be a path"]),
            (YAML.replace("split: report", "part: x"), ["line 8", "unknown field `part`"]),
            (
                YAML.replace("any_of: [45 days, forty-five days]", "any_of: []"),
                ["line 5", "[0].expected[0].any_of: must hold at least one item"],
            ),
        ] {
            let error = error("set.yaml", &broken, false);
            assert!(error.contains("set.yaml"), "{error}");
            assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        }
        let line = r#"{"question": "x?", "expected": [{"fact": " "}]}"#;
        let error = error("set.jsonl", &format!("\n{line}\n"), false);
        assert!(
            error.contains("set.jsonl, line 2: expected[0].fact: must not be empty"),
            "{error}"
        );
    }

    #[test]
    fn fact_without_phrases_is_named_if_they_decide() {
        let error = error("set.yaml", YAML, true);
        assert!(error.contains("facts are found by their phrases"), "{error}");
        assert!(error.contains("[1].expected[0]: missing field `any_of` at line 10"), "{error}");
    }

    #[test]
    fn limits_are_enforced() {
        let many = "- {question: x?, expected: [{fact: y}]}\n".repeat(MAX_QUESTIONS + 1);
        assert!(error("set.yaml", &many, false).contains("1001 questions, and 1000"));
        let large = format!("# {}", "x".repeat(usize::try_from(MAX_FILE_BYTES).unwrap()));
        assert!(error("set.yaml", &large, false).contains("4194304 are allowed; split it"));
        assert!(error("set.txt", "", false).contains("is no .yaml, .yml or .jsonl file"));
        assert!(error("set.jsonl", "\n", false).contains("has no questions"));
    }
}
