//! Searches the tree of a repository for texts with the `grep` of workspaces, and compares the
//! lines with those of the program `grep`.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use mc_domain::Policy;
use mc_files::Root;
use mc_sanitizer::Sanitizer;
use mc_store::policies;
use mc_workspaces::edit::MaskedTree;
use mc_workspaces::grep;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

use super::Repository;
use crate::harness::Common;
use crate::harness::report::{Report, Table};
use crate::harness::stats::{Spread, Times};

/// Characters of a text.
const TEXT_CHARS: std::ops::RangeInclusive<usize> = 3..=40;
/// Limits that `mc_workspaces::grep` documents.
const MAX_FILE_BYTES: u64 = 2 << 20;
const BINARY_CHECK_BYTES: usize = 8_000;

/// The amount to measure.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    repository: Repository,
    /// Texts to search for
    #[arg(long, default_value_t = 200)]
    texts: usize,
    /// Seed of their choice
    #[arg(long, default_value_t = 26)]
    seed: u64,
}

/// A file, and its lines as a model sees them; `None` if it is binary or too large.
struct File {
    lines: Vec<Vec<u8>>,
    masked: Option<Vec<String>>,
}

/// Lines that were compared.
#[derive(Default)]
struct Compared {
    lines: usize,
    /// In files that are binary or too large.
    left_out: usize,
    /// Whose text is masked.
    masked: usize,
    missed: Vec<String>,
    extra: Vec<String>,
}

/// A line: path and number.
type Line = (String, usize);

/// Measures, and writes the report; fails if a line is missed.
pub fn run(args: &Args) -> Result<()> {
    let (work, source) = args.repository.copy(&args.common, "substrings", 0)?;
    let mut report = Report::new("substrings");
    report.note(args.repository.describe(&source));
    report.note(
        "the lines of `grep -rnaF` in the tree of the commit, for random texts of 3 to 40 \
         characters of its lines; files that are binary or larger than 2 MiB, and lines whose \
         text is masked, count apart",
    );
    let tree = work.join("tree");
    extract(&work.join("bare"), &source.commits[0], &tree)?;
    let (compared, times) = compare_all(&tree, args)?;
    let row = |name: &str, value: usize, target: &str| {
        vec![name.to_owned(), value.to_string(), target.to_owned()]
    };
    report.add("search p50", "ms", Spread::of([times.percentile(0.5)]));
    report.set_table(Table {
        header: vec!["lines", "number", "target"],
        rows: vec![
            row("texts", args.texts, ""),
            row("of grep", compared.lines, ""),
            row("in files that are binary or too large", compared.left_out, ""),
            row("with masked text", compared.masked, ""),
            row("missed", compared.missed.len(), "0"),
            row("found by the workspace alone", compared.extra.len(), "0"),
        ],
    });
    report.write(&args.common.out)?;
    let wrong: Vec<_> = compared.missed.iter().chain(&compared.extra).take(5).collect();
    ensure!(wrong.is_empty(), "lines that only one of both found: {wrong:#?}");
    Ok(())
}

fn compare_all(tree: &Path, args: &Args) -> Result<(Compared, Times)> {
    let root = Root::open(tree)?;
    let (sanitizer, policy) = (Sanitizer::default(), policy());
    let masked = MaskedTree { root: &root, sanitizer: &sanitizer, policy: &policy };
    let files = read_files(tree, masked)?;
    let texts = texts(&files, args);
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism()?.get();
    let work = || {
        let (mut compared, mut times) = (Compared::default(), Vec::new());
        while let Some(text) = texts.get(next.fetch_add(1, Ordering::Relaxed)) {
            let started = Instant::now();
            let found = grep::grep(masked, query(text))?;
            times.push(started.elapsed());
            ensure!(!found.is_partial, "the search for {text:?} is not complete");
            let found: BTreeSet<Line> =
                found.lines.into_iter().map(|line| (line.path, line.line)).collect();
            compared.add(text, &found, &lines_of_grep(tree, text)?, &files)?;
        }
        Ok((compared, times))
    };
    let done: Vec<Result<_>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    let (mut all, mut times) = (Compared::default(), Vec::new());
    for done in done {
        let (compared, took) = done?;
        all.lines += compared.lines;
        all.left_out += compared.left_out;
        all.masked += compared.masked;
        all.missed.extend(compared.missed);
        all.extra.extend(compared.extra);
        times.extend(took);
    }
    Ok((all, Times::of(times)))
}

impl Compared {
    fn add(
        &mut self,
        text: &str,
        found: &BTreeSet<Line>,
        right: &BTreeSet<Line>,
        files: &Files,
    ) -> Result<()> {
        self.lines += right.len();
        for line in right.difference(found) {
            let (path, number) = line;
            let file = files.get(path).with_context(|| format!("{path} is not in the tree"))?;
            match &file.masked {
                None => self.left_out += 1,
                Some(masked) if masked[number - 1].as_bytes() != file.lines[number - 1] => {
                    self.masked += 1;
                }
                Some(_) => self.missed.push(format!("{text:?} in {path}:{number}")),
            }
        }
        let extra = found.difference(right);
        self.extra.extend(extra.map(|(path, number)| format!("{text:?} in {path}:{number}")));
        Ok(())
    }
}

/// Files by path.
type Files = std::collections::BTreeMap<String, File>;

fn read_files(tree: &Path, masked: MaskedTree<'_>) -> Result<Files> {
    let mut files = Files::new();
    let mut todo = vec![tree.to_owned()];
    while let Some(directory) = todo.pop() {
        for entry in std::fs::read_dir(directory)? {
            let entry = entry?;
            let (kind, path) = (entry.file_type()?, entry.path());
            if kind.is_dir() {
                todo.push(path);
            } else if kind.is_file() {
                let bytes = std::fs::read(&path)?;
                let start = &bytes[..bytes.len().min(BINARY_CHECK_BYTES)];
                let is_read = bytes.len() as u64 <= MAX_FILE_BYTES && !start.contains(&0);
                let lines_of = |text: String| text.split('\n').map(str::to_owned).collect();
                let text = String::from_utf8_lossy(&bytes);
                let masked = is_read.then(|| lines_of(masked.mask(&text)));
                let lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
                let path = path.strip_prefix(tree)?.to_string_lossy().into_owned();
                files.insert(path, File { lines, masked });
            }
        }
    }
    Ok(files)
}

/// Returns random parts of random lines.
fn texts(files: &Files, args: &Args) -> Vec<String> {
    let mut random = StdRng::seed_from_u64(args.seed);
    let files: Vec<&File> = files.values().filter(|file| file.masked.is_some()).collect();
    let mut texts = Vec::new();
    while texts.len() < args.texts && !files.is_empty() {
        let file = files[random.random_range(0..files.len())];
        let line = &file.lines[random.random_range(0..file.lines.len())];
        let line: Vec<char> = String::from_utf8_lossy(line).trim().chars().collect();
        let length = random.random_range(TEXT_CHARS);
        if line.len() < *TEXT_CHARS.start() {
            continue;
        }
        let start = random.random_range(0..=line.len() - TEXT_CHARS.start());
        let text: String = line.into_iter().skip(start).take(length).collect();
        // The program reads bytes, and a replaced character has others.
        if !text.contains(['\u{fffd}', '\r', '\0']) {
            texts.push(text);
        }
    }
    texts
}

fn query(text: &str) -> grep::Query<'_> {
    grep::Query {
        path: "",
        pattern: text,
        is_literal: true,
        ignores_case: false,
        glob: None,
        max_matches: usize::MAX,
    }
}

fn policy() -> mc_sanitizer::Policy {
    policies::sanitizing(&Policy::default()).with_comments(true)
}

fn lines_of_grep(tree: &Path, text: &str) -> Result<BTreeSet<Line>> {
    let output = Command::new("grep")
        .current_dir(tree)
        .env("LC_ALL", "C")
        .args(["-rnaF", "--null", "-e", text, "."])
        .output()
        .context("grep can't be run")?;
    ensure!(output.status.code().is_some_and(|code| code < 2), "grep failed: {text:?}");
    let mut lines = BTreeSet::new();
    // A binary file may have NUL and line ends anywhere; its lines count if they can be read.
    for line in output.stdout.split(|byte| *byte == b'\n') {
        let mut parts = line.splitn(2, |byte| *byte == 0);
        let (Some(path), Some(rest)) = (parts.next(), parts.next()) else { continue };
        let number = rest.split(|byte| *byte == b':').next().unwrap_or_default();
        let number = std::str::from_utf8(number).ok().and_then(|number| number.parse().ok());
        let path = String::from_utf8_lossy(path);
        let path = path.strip_prefix("./").unwrap_or(&path).to_owned();
        lines.extend(number.map(|number| (path, number)));
    }
    Ok(lines)
}

/// Writes the tree of a commit.
fn extract(repository: &Path, commit: &str, tree: &Path) -> Result<()> {
    std::fs::create_dir_all(tree)?;
    let archive = tree.with_extension("tar");
    let git = Command::new("git")
        .arg("-C")
        .arg(repository)
        .args(["archive", "--format=tar", "-o"])
        .args([archive.as_os_str(), commit.as_ref()])
        .status()?;
    let tar = Command::new("tar").arg("-xf").arg(&archive).arg("-C").arg(tree).status()?;
    ensure!(git.success() && tar.success(), "the tree of {commit} can't be written");
    Ok(())
}
