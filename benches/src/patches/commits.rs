//! Commits, applied to the files before them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use mc_coding::{Limits, check, write};
use mc_files::Root;
use mc_patch::{FilePatch, Operation, Patch, parse};

use super::mutations::Case;
use super::repository::Repository;
use super::tree::{self, Files};

/// Cases of wrong versions that are taken from one commit.
const CASES_OF_COMMIT: usize = 2;

/// Commits that were compared.
#[derive(Debug, Default)]
pub struct Compared {
    /// With the same files as after `git apply`.
    equal: usize,
    /// Refused, by the reason.
    refused: BTreeMap<String, usize>,
    /// Beyond the limits of a patch, or without a change of a file.
    left_out: usize,
    /// Repository, commit, and what differs.
    pub different: Vec<String>,
    /// Durations of the checks and applications, in ms.
    pub millis: Vec<f64>,
}

impl Compared {
    pub fn add(&mut self, other: Self) {
        self.equal += other.equal;
        self.left_out += other.left_out;
        for (reason, count) in other.refused {
            *self.refused.entry(reason).or_default() += count;
        }
        self.different.extend(other.different);
        self.millis.extend(other.millis);
    }
}

impl fmt::Display for Compared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (equal, different) = (self.equal, self.different.len());
        write!(f, "{equal} commits equal, {different} different")?;
        for (reason, count) in &self.refused {
            write!(f, ", {count} refused ({reason})")?;
        }
        write!(f, ", {} left out", self.left_out)
    }
}

/// Applies the newest commits that are within the limits and have no refused change, and collects
/// cases for wrong versions.
pub fn compare(
    repository: &Repository,
    work: &Path,
    count: usize,
    cases: &mut Vec<Case>,
) -> Result<Compared> {
    let limits = Limits::default();
    let mut compared = Compared::default();
    for commit in repository.commits()? {
        if compared.equal + compared.different.len() == count {
            break;
        }
        let diff = repository.diff(&commit)?;
        let patch = parse(&diff).unwrap_or_default();
        if diff.len() > limits.max_diff_bytes
            || patch.files.is_empty()
            || patch.files.len() > limits.max_files
        {
            compared.left_out += 1;
            continue;
        }
        let refusals = patch.files.iter().filter_map(|file| file.refusal);
        if let Some(refusal) = refusals.max_by_key(|refusal| format!("{refusal:?}")) {
            *compared.refused.entry(format!("{refusal:?}").to_lowercase()).or_default() += 1;
            continue;
        }
        let before = files_before(repository, &commit, &patch)?;
        if before.values().any(|(content, _)| content.len() as u64 > limits.max_file_bytes) {
            compared.left_out += 1;
            continue;
        }
        match difference(work, &diff, &before, limits, &mut compared.millis)? {
            None => compared.equal += 1,
            Some(what) => {
                compared.different.push(format!("{} {commit}: {what}", repository.name));
            }
        }
        let modified = patch.files.iter().filter(|file| file.operation == Operation::Modify);
        for file in modified.take(CASES_OF_COMMIT) {
            cases.extend(case(repository, &commit, file, &before)?);
        }
    }
    Ok(compared)
}

fn files_before(repository: &Repository, commit: &str, patch: &Patch) -> Result<Files> {
    let mut files = Files::new();
    for path in patch.files.iter().filter_map(FilePatch::old_path) {
        if let Some(content) = repository.file(&format!("{commit}^"), path)? {
            files.insert(path.to_owned(), (content, false));
        }
    }
    Ok(files)
}

/// Returns what differs after both programs.
fn difference(
    work: &Path,
    diff: &[u8],
    before: &Files,
    limits: Limits,
    millis: &mut Vec<f64>,
) -> Result<Option<String>> {
    let (ours, of_git) = (work.join("ours"), work.join("git"));
    tree::create(&ours, before)?;
    tree::create(&of_git, before)?;
    let is_applied = tree::run(&of_git, "git", &["apply", "--whitespace=nowarn", "-"], diff)?;
    let root = Root::open(&ours)?;
    let began = Instant::now();
    let checked = check(&root, diff, limits);
    let written = match &checked {
        Ok(checked) => write(&root, checked).map_err(|error| {
            let problems: Vec<_> =
                checked.problems().map(|problem| format!("{problem:?}")).collect();
            format!("{error}: {problems:?}")
        }),
        Err(error) => Err(error.to_string()),
    };
    millis.push(began.elapsed().as_secs_f64() * 1_000.0);
    Ok(match (written, is_applied) {
        (Ok(()), true) => {
            let (ours, of_git) = (tree::read(&ours)?, tree::read(&of_git)?);
            let path =
                ours.keys().chain(of_git.keys()).find(|path| ours.get(*path) != of_git.get(*path));
            path.map(|path| format!("{path} has other content"))
        }
        (Ok(()), false) => Some("only git refuses it".to_owned()),
        (Err(error), true) => Some(error),
        (Err(_), false) => None,
    })
}

/// Returns the change of one file as a case, if it is text.
fn case(
    repository: &Repository,
    commit: &str,
    file: &FilePatch,
    before: &Files,
) -> Result<Option<Case>> {
    let Some((old, _)) = before.get(&file.path) else { return Ok(None) };
    let new = repository.file(commit, &file.path)?;
    let texts =
        String::from_utf8(old.clone()).ok().zip(new.and_then(|new| String::from_utf8(new).ok()));
    Ok(texts.map(|(before, after)| Case { file: file.clone(), before, after }))
}
