//! Changes of a work tree and its repository.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mc_files::{FileError, FileKind, Root};
use tokio_util::sync::CancellationToken;

use super::{WorkTree, check_path, check_revision, rejected};
use crate::copy::file_failed;
use crate::plumbing::{Identity, IndexEntry, LIMIT, Mode, Plumbing, run_blocking};
use crate::{Error, Limits};

/// Maximum number of files that one operation stages or restores.
pub const MAX_FILES: usize = 1_000;
/// Maximum size of a file that is staged or restored, in bytes.
const MAX_FILE_BYTES: u64 = 32 << 20;
/// Maximum size of all files that one operation restores, in bytes.
const MAX_RESTORED_BYTES: u64 = 256 << 20;

/// Time in which the files of one operation are read or written. With the time that git itself
/// takes, it is within that of a request.
const FILES_TIME: Duration = Duration::from_secs(15);

/// A file of the tree, as it will be committed.
enum Found {
    File { mode: Mode, content: Vec<u8> },
    Missing,
}

/// Checks that the files of an operation do not take too long.
fn check_time(started: Instant, done: usize, count: usize, state: &str) -> Result<(), Error> {
    if started.elapsed() < FILES_TIME {
        return Ok(());
    }
    let seconds = FILES_TIME.as_secs();
    Err(Error::Rejected(format!(
        "only {done} of {count} files were done within {seconds} s, and {state}; name fewer files \
         at once"
    )))
}

impl WorkTree {
    /// Stages files, and the changed files of directories; all changed files if `paths` is empty.
    /// Returns their number. A deleted file is staged as such.
    pub async fn add(&self, paths: &[&str], cancel: &CancellationToken) -> Result<usize, Error> {
        let changed = self.changed(paths, cancel).await?;
        let plumbing = self.plumbing(cancel);
        let root = Arc::new(self.root()?);
        let mut entries = Vec::with_capacity(changed.len());
        let (started, count) = (Instant::now(), changed.len());
        for path in changed {
            check_time(started, entries.len(), count, "nothing was staged")?;
            let found = self.read(&root, &path).await?;
            entries.push(match found {
                Found::Missing => IndexEntry::Removed { path },
                Found::File { mode, content } => {
                    let sha = plumbing.store(&content).await.map_err(rejected)?;
                    IndexEntry::Blob { mode, sha, path }
                }
            });
        }
        plumbing.update_index(&entries).await.map_err(rejected)?;
        Ok(entries.len())
    }

    /// Commits what is staged, and returns the commit.
    pub async fn commit(
        &self,
        message: &str,
        author: &Identity,
        cancel: &CancellationToken,
    ) -> Result<String, Error> {
        if message.trim().is_empty() {
            return Err(Error::Rejected("the message of the commit is empty; write one".into()));
        }
        let git = self.git_of(author);
        let plumbing = Plumbing { git: &git, cancel };
        let parent = self.head(cancel).await?.unwrap_or_default();
        let tree = plumbing.run(&["write-tree"]).await.map_err(rejected)?;
        if !parent.is_empty() {
            let name = format!("{parent}^{{tree}}");
            let committed = plumbing.run(&["rev-parse", &name]).await?;
            if committed == tree {
                let reason = "nothing is staged; stage changes with the subcommand add first";
                return Err(Error::Rejected(reason.into()));
            }
        }
        let commit = plumbing.commit(&tree, &parent, message).await.map_err(rejected)?;
        let reason = format!("commit: {message}");
        plumbing.move_ref("HEAD", &parent, &commit, &reason).await.map_err(rejected)?;
        Ok(commit)
    }

    /// Restores files, and the files of directories, to their content in a revision (`None`: what
    /// is staged); all files without a path. Returns their number. Files that are not in the
    /// revision stay.
    pub async fn restore(
        &self,
        revision: Option<&str>,
        paths: &[&str],
        cancel: &CancellationToken,
    ) -> Result<usize, Error> {
        let files = self.files_of(revision, paths, cancel).await?;
        let root = Arc::new(self.root()?);
        let (started, count) = (Instant::now(), files.len());
        let mut capacity = MAX_RESTORED_BYTES;
        for (done, StoredFile { mode, sha, path }) in files.into_iter().enumerate() {
            check_time(started, done, count, "those are restored")?;
            let size = self.size_of(&sha, cancel).await?;
            capacity =
                capacity.checked_sub(size).filter(|_| size <= MAX_FILE_BYTES).ok_or_else(|| {
                    Error::Rejected(format!(
                        "{path} and the files before it are too large to be restored at once; \
                         name fewer or smaller files"
                    ))
                })?;
            let mut content = Vec::new();
            let blob = ["cat-file", "blob", sha.as_str()];
            let read = |chunk: &[u8]| content.extend_from_slice(chunk);
            self.git.stream(&blob, None, LIMIT, cancel, read).await.map_err(rejected)?;
            let root = Arc::clone(&root);
            let write = move || write(&root, &path, &content, mode);
            run_blocking(write).await?;
        }
        Ok(count)
    }

    /// Returns the size of an object, in bytes.
    async fn size_of(&self, sha: &str, cancel: &CancellationToken) -> Result<u64, Error> {
        let size = self.git.run(&["cat-file", "-s", sha], LIMIT, cancel).await.map_err(rejected)?;
        size.parse().map_err(|_| Error::Rejected(format!("git has no size of {sha}; try again")))
    }

    /// Checks that the files of a commit are within the limits.
    pub async fn check_size(
        &self,
        revision: &str,
        limits: Limits,
        cancel: &CancellationToken,
    ) -> Result<(), Error> {
        check_revision(revision)?;
        limits.check_files(&self.git, revision, LIMIT, cancel).await
    }

    /// Returns the changed files of these paths.
    pub(super) async fn changed(
        &self,
        paths: &[&str],
        cancel: &CancellationToken,
    ) -> Result<Vec<String>, Error> {
        paths.iter().try_for_each(|path| check_path(path))?;
        let status = "--literal-pathspecs status --porcelain=v1 -z --no-renames \
                      --untracked-files=all --ignore-submodules=all --";
        let mut arguments: Vec<&str> = status.split_whitespace().collect();
        arguments.extend(paths);
        let mut changed = Vec::new();
        let on_field = |field: &[u8]| {
            // Two letters of the state and a space are before the path.
            changed.extend(field.get(3..).map(|path| String::from_utf8(path.to_owned())));
        };
        self.git.fields(&arguments, LIMIT, cancel, on_field).await.map_err(rejected)?;
        // A nested repository is listed as a directory.
        let changed =
            changed.into_iter().filter(|path| !matches!(path, Ok(path) if path.ends_with('/')));
        let changed: Result<Vec<String>, _> = changed.collect();
        let changed = changed.map_err(|_| {
            Error::Rejected("a changed file has a name that is not UTF-8; rename it".into())
        })?;
        limited(changed)
    }

    /// Returns the files of a revision, or those that are staged.
    async fn files_of(
        &self,
        revision: Option<&str>,
        paths: &[&str],
        cancel: &CancellationToken,
    ) -> Result<Vec<StoredFile>, Error> {
        paths.iter().try_for_each(|path| check_path(path))?;
        let mut arguments = vec!["--literal-pathspecs"];
        match revision {
            Some(revision) => {
                check_revision(revision)?;
                // It takes `--` for a path.
                let list = ["ls-tree", "-r", "-z", "--full-tree", "--end-of-options", revision];
                arguments.extend(list);
            }
            None => arguments.extend(["ls-files", "--stage", "-z", "--"]),
        }
        arguments.extend(paths);
        let (mut files, mut is_valid) = (Vec::new(), true);
        let on_field = |field: &[u8]| match stored_file(field) {
            Ok(file) => files.extend(file),
            Err(InvalidEntry) => is_valid = false,
        };
        self.git.fields(&arguments, LIMIT, cancel, on_field).await.map_err(rejected)?;
        if !is_valid {
            return Err(Error::Rejected(
                "a file has a conflict, or a name that is not UTF-8; name other files".into(),
            ));
        }
        if files.is_empty() {
            let reason = format!("there is no file at {}; check the paths", paths.join(", "));
            return Err(Error::Rejected(reason));
        }
        limited(files)
    }

    /// Reads a file of the tree by a handle, on a blocking thread.
    async fn read(&self, root: &Arc<Root>, path: &str) -> Result<Found, Error> {
        let (root, path) = (Arc::clone(root), path.to_owned());
        let read =
            move || found(&root, &path).map_err(|error| file_failed(Path::new(&path), error));
        run_blocking(read).await
    }

    /// Reads a regular file of the tree by a handle, on a blocking thread.
    pub(super) async fn read_file(&self, path: &str, max_bytes: u64) -> Result<Vec<u8>, Error> {
        let (root, path) = (self.root()?, path.to_owned());
        let read = move || {
            let read = root.read(&path, max_bytes);
            read.map_err(|error| file_failed(Path::new(&path), error))
        };
        run_blocking(read).await
    }
}

/// A file of a commit or of the index.
struct StoredFile {
    mode: Mode,
    sha: String,
    path: String,
}

/// An entry with a conflict, or whose name is not UTF-8.
struct InvalidEntry;

fn found(root: &Root, path: &str) -> Result<Found, FileError> {
    let metadata = match root.metadata(path) {
        Ok(metadata) => metadata,
        // A directory around it may have become a file or a link.
        Err(FileError::Missing | FileError::NotADirectory | FileError::Link) => {
            return Ok(Found::Missing);
        }
        Err(error) => return Err(error),
    };
    match metadata.kind {
        FileKind::Directory => return Ok(Found::Missing),
        FileKind::Link => {
            return Ok(Found::File { mode: Mode::Link, content: root.read_link(path)? });
        }
        FileKind::File | FileKind::Other => {}
    }
    let content = root.read(path, MAX_FILE_BYTES)?;
    let mode = if metadata.permissions & 0o100 == 0 { Mode::File } else { Mode::Executable };
    Ok(Found::File { mode, content })
}

/// Writes a file of a commit by a handle. A link is not restored: it may lead anywhere.
fn write(root: &Root, path: &str, content: &[u8], mode: Mode) -> Result<(), Error> {
    let failed = |error| file_failed(&root.path().join(path), error);
    let permissions = match mode {
        Mode::File => 0o644,
        Mode::Executable => 0o755,
        Mode::Link => {
            return Err(Error::Rejected(format!(
                "{path} is a symbolic link, which is not restored; name the other files"
            )));
        }
    };
    if let Some((directory, _)) = path.rsplit_once('/') {
        root.create_directories(directory).map_err(failed)?;
    }
    root.replace(path, content, permissions).map_err(failed)
}

/// Parses a line of `git ls-tree` or `git ls-files --stage`; `None` for a submodule.
fn stored_file(line: &[u8]) -> Result<Option<StoredFile>, InvalidEntry> {
    let line = std::str::from_utf8(line).map_err(|_| InvalidEntry)?;
    let (head, path) = line.split_once('\t').ok_or(InvalidEntry)?;
    let columns: Vec<&str> = head.split(' ').collect();
    // Stage 0 has no conflict. A tree has the kind of the object instead.
    if columns.get(2).is_some_and(|stage| matches!(*stage, "1" | "2" | "3")) {
        return Err(InvalidEntry);
    }
    let mode = match columns.first().copied() {
        Some("100644" | "100664") => Mode::File,
        Some("100755") => Mode::Executable,
        Some("120000") => Mode::Link,
        _ => return Ok(None),
    };
    let sha = columns.iter().find(|column| column.len() >= 40).ok_or(InvalidEntry)?;
    Ok(Some(StoredFile { mode, sha: (*sha).to_owned(), path: path.to_owned() }))
}

fn limited<T>(files: Vec<T>) -> Result<Vec<T>, Error> {
    if files.len() > MAX_FILES {
        return Err(Error::Rejected(format!(
            "{} files are more than the {MAX_FILES} of one operation; name directories with fewer",
            files.len()
        )));
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operation_that_takes_too_long_says_how_far_it_is() {
        let now = Instant::now();
        check_time(now, 3, 9, "nothing was staged").expect("in time");
        let Some(earlier) = now.checked_sub(FILES_TIME) else { return };
        let error = check_time(earlier, 3, 9, "nothing was staged").expect_err("late");
        assert!(error.to_string().contains("only 3 of 9 files"), "{error}");
    }
}
