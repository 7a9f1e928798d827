//! The repository to index: a scratch clone to commit to.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::harness::{make_dir, remove};
use crate::text::{Package, files, packages};

/// Files of a push.
const PUSHED: usize = 10;
/// Extensions of the files that are used.
const ENDINGS: &[&str] = &["rs", "md", "toml", "c", "h", "py", "js", "sh"];
/// Larger files are bindings and tables, which the service does not index either.
const MAX_BYTES: usize = 512 * 1024;

/// A clone below the working directory.
pub struct Clone {
    path: PathBuf,
    /// Its text files and their lines, by path.
    files: BTreeMap<String, usize>,
    origin: String,
}

impl Clone {
    /// Clones a local repository.
    pub fn of(repo: &Path, path: &Path) -> Result<Self> {
        remove(path)?;
        let from = repo.to_str().context("the repository's path is no UTF-8")?;
        let to = path.to_str().context("the working folder's path is no UTF-8")?;
        git(Path::new("."), &["clone", "--quiet", "--no-hardlinks", from, to])?;
        let commit = git(path, &["rev-parse", "--short=12", "HEAD"])?;
        let name = repo.file_name().unwrap_or_default().to_string_lossy();
        Self::read(path, format!("repository {name} at {}", commit.trim()))
    }

    fn read(path: &Path, origin: String) -> Result<Self> {
        let mut files = BTreeMap::new();
        for file in git(path, &["ls-files", "-z"])?.split_terminator('\0') {
            if let Ok(text) = std::fs::read_to_string(path.join(file)) {
                files.insert(file.to_owned(), text.lines().count());
            }
        }
        ensure!(files.len() >= PUSHED, "{origin} has fewer than {PUSHED} text files");
        Ok(Self { path: path.to_path_buf(), files, origin })
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Describes it.
    pub fn describe(&self) -> String {
        let lines: usize = self.files.values().sum();
        format!("{}: {lines} lines in {} text files", self.origin, self.files.len())
    }

    /// Counts the lines of the given files.
    pub fn lines_of<'a>(&self, paths: impl Iterator<Item = &'a String>) -> usize {
        paths.filter_map(|path| self.files.get(path)).sum()
    }

    /// Commits a change of ten Rust files, which differ by `number`.
    pub fn push(&self, number: usize) -> Result<()> {
        let code: Vec<_> = self.files.keys().filter(|file| is_rust(file)).collect();
        let code = if code.len() < PUSHED { self.files.keys().collect() } else { code };
        let step = code.len() / PUSHED;
        for part in 0..PUSHED {
            let path = self.path.join(code[(part * step + number) % code.len()]);
            let mut text = std::fs::read_to_string(&path)?;
            write!(text, "\n/// Added by push {number}.\nfn added_by_push_{number}() {{}}\n")?;
            std::fs::write(&path, text)?;
        }
        commit_all(&self.path, &format!("Push {number}"))
    }
}

fn is_rust(file: &str) -> bool {
    Path::new(file).extension().is_some_and(|ending| ending == "rs")
}

/// Creates a repository of whole packages from `Cargo.lock`, by name, with at least that many
/// lines.
pub fn of_dependencies(path: &Path, lines: usize) -> Result<Clone> {
    empty(path)?;
    let (mut copied, mut taken) = (0, 0);
    for package in packages()? {
        if copied >= lines {
            break;
        }
        copied += copy(&package, path)?;
        taken += 1;
    }
    ensure!(
        copied >= lines,
        "the dependencies have {copied} lines only; ask for fewer with --lines"
    );
    commit_all(path, "Import the sources of dependencies")?;
    Clone::read(path, format!("sources of the first {taken} packages of Cargo.lock"))
}

/// Copies a package's sources; returns their lines.
fn copy(package: &Package, into: &Path) -> Result<usize> {
    let directory = into.join(format!("{}-{}", package.name, package.version));
    let mut lines = 0;
    for file in files(&package.dir, ENDINGS)? {
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        if text.len() > MAX_BYTES {
            continue;
        }
        let target = directory.join(file.strip_prefix(&package.dir)?);
        if let Some(parent) = target.parent() {
            std::fs::create_dir_all(parent)?;
        }
        lines += text.lines().count();
        std::fs::write(target, text)?;
    }
    Ok(lines)
}

/// Creates an empty repository in place of an existing one.
pub fn empty(path: &Path) -> Result<()> {
    remove(path)?;
    make_dir(path)?;
    git(path, &["init", "--quiet"])?;
    Ok(())
}

/// Commits everything in a repository's directory.
pub fn commit_all(path: &Path, message: &str) -> Result<()> {
    git(path, &["add", "--all"])?;
    git(path, &["commit", "--quiet", "--message", message])?;
    Ok(())
}

/// Runs git with a fixed author and date, so that equal files give equal commits.
fn git(dir: &Path, args: &[&str]) -> Result<String> {
    let output = Command::new("git")
        .current_dir(dir)
        .args(["-c", "user.name=bench", "-c", "user.email=bench@example.org"])
        .args(["-c", "commit.gpgsign=false", "-c", "core.hooksPath=/dev/null"])
        .args(args)
        .env("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z")
        .env("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z")
        .output()
        .context("git can't be run")?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "git {} failed: {complaint}", args.join(" "));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
