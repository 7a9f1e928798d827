//! The repository whose commits are replayed: a bare copy with a branch that moves.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Result;

/// Branch that the index runs read.
pub const BRANCH: &str = "replay";

/// A bare copy of a repository.
pub struct Source {
    path: PathBuf,
    /// The commits to replay, oldest first. The first one is the start.
    pub commits: Vec<String>,
}

impl Source {
    /// Copies a repository, and takes the last commits of the first parents of `tip`, at most
    /// `count` and the one before them.
    pub fn of(repository: &Path, tip: &str, count: usize, into: &Path) -> Result<Self> {
        let [from, to] = [repository, into].map(|path| path.display().to_string());
        let from_any_owner = ["-c", "safe.directory=*"];
        let clone = ["clone", "--quiet", "--bare", "--no-hardlinks", &from, &to];
        git(Path::new("/"), &[&from_any_owner[..], &clone].concat())?;
        let wanted = format!("--max-count={}", count + 1);
        let list = git(into, &["rev-list", "--first-parent", "--reverse", &wanted, tip])?;
        let commits: Vec<String> = list.lines().map(str::to_owned).collect();
        let source = Self { path: into.to_owned(), commits };
        source.move_to(&source.commits[0])?;
        Ok(source)
    }

    /// Returns the URL to index.
    pub fn location(&self) -> String {
        format!("file://{}", self.path.display())
    }

    /// Moves the branch to a commit, as a push does.
    pub fn move_to(&self, commit: &str) -> Result<()> {
        git(&self.path, &["update-ref", &format!("refs/heads/{BRANCH}"), commit]).map(drop)
    }
}

/// Runs git, with a fixed author.
pub fn git(directory: &Path, arguments: &[&str]) -> Result<String> {
    let output = Command::new("git")
        .current_dir(directory)
        .args(["-c", "user.name=replay", "-c", "user.email=replay@example.org"])
        .args(["-c", "commit.gpgsign=false", "-c", "core.hooksPath=/dev/null"])
        .args(arguments)
        .output()?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        return Err(format!("git {} failed: {message}", arguments.join(" ")).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}
