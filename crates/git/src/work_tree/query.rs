//! What git tells of a work tree.

use tokio_util::sync::CancellationToken;

use super::{WorkTree, check_path, check_revision, rejected};
use crate::Error;
use crate::plumbing::LIMIT;

/// Options of git itself: paths are no patterns, and their names are printed unchanged.
const GLOBAL: &[&str] = &[
    "--literal-pathspecs",
    "-c",
    "core.quotePath=false",
    "-c",
    "log.showSignature=false",
    "-c",
    "blame.ignoreRevsFile=",
];
/// The format of commits. One of the configuration may verify signatures by a program.
const FORMAT: &str = "--format=medium";
/// Maximum size of a file of the tree whose lines are blamed, in bytes.
const MAX_BLAMED_BYTES: u64 = 32 << 20;
/// Options of everything that prints differences: no program of the repository runs.
const DIFF: &[&str] = &[
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--ignore-submodules=all",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--find-renames=50%",
];

/// Output of git, up to a limit.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Text {
    /// Start of the output.
    pub bytes: Vec<u8>,
    /// Whether there is more. Git is stopped at the limit, so the length is not known.
    pub is_cut: bool,
}

impl Text {
    fn append(&mut self, chunk: &[u8], max_bytes: usize) {
        let capacity = max_bytes.saturating_sub(self.bytes.len());
        self.bytes.extend_from_slice(&chunk[..chunk.len().min(capacity)]);
        self.is_cut |= chunk.len() > capacity;
    }
}

/// Differences to show.
#[derive(Debug, Clone, Copy, Default)]
pub struct Diff<'a> {
    /// Whether the index is compared instead of the files.
    pub is_staged: bool,
    /// Revision to compare with; `None` for the index, or for `HEAD` if the index is compared.
    pub from: Option<&'a str>,
    /// Revision that is compared instead of the files. It needs `from`.
    pub to: Option<&'a str>,
    /// Files and directories; all if empty.
    pub paths: &'a [&'a str],
    /// Whether only the numbers of changed lines are shown.
    pub is_summary: bool,
}

/// Commits to show, newest first.
#[derive(Debug, Clone, Copy, Default)]
pub struct Log<'a> {
    /// Newest commit; `None` for `HEAD`.
    pub revision: Option<&'a str>,
    /// Maximum number of commits.
    pub max_count: u32,
    /// Files and directories that the commits touch; all if empty.
    pub paths: &'a [&'a str],
}

/// Lines whose last commit is shown.
#[derive(Debug, Clone, Copy)]
pub struct Blame<'a> {
    /// File.
    pub path: &'a str,
    /// Commit of the file; `None` for the file of the tree.
    pub revision: Option<&'a str>,
    /// First and last line, from 1; all lines if `None`, and without a last line, those to the end.
    pub lines: Option<(u32, Option<u32>)>,
}

impl WorkTree {
    /// Returns the branch, and the changed and untracked files, one a line, as `git status --short
    /// --branch` does. All files are shown if `paths` is empty.
    pub async fn status(
        &self,
        paths: &[&str],
        max_bytes: usize,
        cancel: &CancellationToken,
    ) -> Result<Text, Error> {
        let status = "status --short --branch --no-ahead-behind --ignore-submodules=all \
                      --untracked-files=all --no-renames";
        let arguments: Vec<&str> = status.split_whitespace().collect();
        self.text(&arguments, paths, max_bytes, cancel).await
    }

    /// Returns differences as a unified diff.
    pub async fn diff(
        &self,
        diff: Diff<'_>,
        max_bytes: usize,
        cancel: &CancellationToken,
    ) -> Result<Text, Error> {
        let mut arguments = vec!["diff"];
        arguments.extend(DIFF);
        if diff.is_staged {
            arguments.push("--cached");
        }
        if diff.is_summary {
            arguments.push("--stat=120");
        }
        if diff.to.is_some() && diff.from.is_none() {
            return Err(Error::Rejected("to_revision needs revision: give both".into()));
        }
        arguments.push("--end-of-options");
        let revisions = diff.from.into_iter().chain(diff.to);
        for revision in revisions {
            check_revision(revision)?;
            arguments.push(revision);
        }
        self.text(&arguments, diff.paths, max_bytes, cancel).await
    }

    /// Returns commits with their changed files.
    pub async fn log(
        &self,
        log: Log<'_>,
        max_bytes: usize,
        cancel: &CancellationToken,
    ) -> Result<Text, Error> {
        let max_count = format!("--max-count={}", log.max_count);
        let mut arguments =
            vec!["log", FORMAT, "--stat=120", "--no-decorate", "--no-mailmap", "--no-notes"];
        arguments.extend(DIFF);
        arguments.extend([max_count.as_str(), "--date=iso-strict", "--end-of-options"]);
        let revision = log.revision.unwrap_or("HEAD");
        check_revision(revision)?;
        arguments.push(revision);
        self.text(&arguments, log.paths, max_bytes, cancel).await
    }

    /// Returns a commit with its changes of these files and directories; of all if `paths` is
    /// empty.
    pub async fn show(
        &self,
        revision: &str,
        paths: &[&str],
        max_bytes: usize,
        cancel: &CancellationToken,
    ) -> Result<Text, Error> {
        check_revision(revision)?;
        let mut arguments = vec!["show", FORMAT, "--no-decorate", "--no-mailmap", "--no-notes"];
        // Otherwise, a commit that changes none of these files would not be shown at all.
        arguments.push("--sparse");
        arguments.extend(DIFF);
        arguments.extend(["--date=iso-strict", "--end-of-options", revision]);
        self.text(&arguments, paths, max_bytes, cancel).await
    }

    /// Returns a file in a commit.
    pub async fn show_file(
        &self,
        revision: &str,
        path: &str,
        max_bytes: usize,
        cancel: &CancellationToken,
    ) -> Result<Text, Error> {
        check_revision(revision)?;
        check_path(path)?;
        let file = format!("{revision}:{path}");
        self.text(&["cat-file", "blob", &file], &[], max_bytes, cancel).await
    }

    /// Returns the lines of a file, each with its last commit, author and date.
    pub async fn blame(
        &self,
        blame: Blame<'_>,
        max_bytes: usize,
        cancel: &CancellationToken,
    ) -> Result<Text, Error> {
        check_path(blame.path)?;
        let lines = blame.lines.map(|(first, last)| {
            format!("-L{first},{}", last.map(|last| last.to_string()).unwrap_or_default())
        });
        let mut arguments = vec!["blame", "--no-textconv", "--date=short"];
        arguments.extend(lines.as_deref());
        let Some(revision) = blame.revision else {
            // Git itself would follow a link of a directory.
            let content = self.read_file(blame.path, MAX_BLAMED_BYTES).await?;
            arguments.extend(["--contents", "-"]);
            return self
                .text_of(&arguments, Some(&content), &[blame.path], max_bytes, cancel)
                .await;
        };
        check_revision(revision)?;
        arguments.push(revision);
        self.text(&arguments, &[blame.path], max_bytes, cancel).await
    }

    /// Returns the entries of the stash, newest first.
    pub async fn stashes(
        &self,
        max_bytes: usize,
        cancel: &CancellationToken,
    ) -> Result<Text, Error> {
        self.text(&["stash", "list"], &[], max_bytes, cancel).await
    }

    /// Runs git on these paths, and keeps the start of its output.
    async fn text(
        &self,
        arguments: &[&str],
        paths: &[&str],
        max_bytes: usize,
        cancel: &CancellationToken,
    ) -> Result<Text, Error> {
        self.text_of(arguments, None, paths, max_bytes, cancel).await
    }

    async fn text_of(
        &self,
        arguments: &[&str],
        input: Option<&[u8]>,
        paths: &[&str],
        max_bytes: usize,
        cancel: &CancellationToken,
    ) -> Result<Text, Error> {
        paths.iter().try_for_each(|path| check_path(path))?;
        let mut all = [GLOBAL, arguments].concat();
        // Without it, a file of the name of a revision makes the argument ambiguous.
        if !matches!(arguments, ["cat-file" | "stash", ..]) {
            all.push("--");
        }
        all.extend(paths);
        let mut text = Text::default();
        let stop = cancel.child_token();
        let on_chunk = |chunk: &[u8]| {
            text.append(chunk, max_bytes);
            if text.is_cut {
                stop.cancel();
            }
        };
        match self.git.stream(&all, input, LIMIT, &stop, on_chunk).await {
            Err(Error::Cancelled) if !cancel.is_cancelled() => Ok(text),
            streamed => streamed.map(|()| text).map_err(rejected),
        }
    }
}
