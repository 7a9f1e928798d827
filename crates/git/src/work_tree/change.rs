//! Changes of a work tree and its repository.

use std::io::Read as _;
use std::sync::Arc;

use mc_files::{FileError, FileKind, Root};
use tokio_util::sync::CancellationToken;

use super::{WorkTree, check_path, check_revision, rejected};
use crate::copy::file_failed;
use crate::plumbing::{Identity, IndexEntry, LIMIT, Mode, Plumbing};
use crate::{Error, Limits};

/// Maximum number of files that one operation stages or restores.
pub const MAX_FILES: usize = 1_000;
/// Maximum size of a file that is staged or restored, in bytes.
const MAX_FILE_BYTES: u64 = 32 << 20;

/// A file of the tree, as it will be committed.
enum Found {
    File { mode: Mode, content: Vec<u8> },
    Missing,
}

impl WorkTree {
    /// Stages files, and the changed files of directories; all changed files if `paths` is empty.
    /// Returns their number. A deleted file is staged as such.
    pub async fn add(&self, paths: &[&str], cancel: &CancellationToken) -> Result<usize, Error> {
        let changed = self.changed(paths, cancel).await?;
        let plumbing = self.plumbing(cancel);
        let root = Arc::new(self.root()?);
        let mut entries = Vec::with_capacity(changed.len());
        for path in changed {
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
    /// is staged). Returns their number. Files that are not in the revision stay.
    pub async fn restore(
        &self,
        revision: Option<&str>,
        paths: &[&str],
        cancel: &CancellationToken,
    ) -> Result<usize, Error> {
        let files = self.files_of(revision, paths, cancel).await?;
        let root = self.root()?;
        let count = files.len();
        for (mode, sha, path) in files {
            let mut content = Vec::new();
            let blob = ["cat-file", "blob", sha.as_str()];
            let read = |chunk: &[u8]| content.extend_from_slice(chunk);
            self.git.stream(&blob, LIMIT, cancel, read).await.map_err(rejected)?;
            write(&root, &path, &content, mode)?;
        }
        Ok(count)
    }

    /// Moves all changes, also of untracked files, to a new entry of the stash.
    pub async fn stash(
        &self,
        message: &str,
        author: &Identity,
        cancel: &CancellationToken,
    ) -> Result<String, Error> {
        let message = message.lines().next().unwrap_or_default();
        let arguments = ["stash", "push", "--include-untracked", "--message", message];
        self.git_of(author).run(&arguments, LIMIT, cancel).await.map_err(rejected)
    }

    /// Applies the newest entry of the stash, and deletes the entry.
    pub async fn unstash(
        &self,
        author: &Identity,
        cancel: &CancellationToken,
    ) -> Result<String, Error> {
        let arguments = ["stash", "pop", "--quiet", "--index"];
        self.git_of(author).run(&arguments, LIMIT, cancel).await.map_err(rejected)
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
    async fn changed(
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
        let changed = changed
            .map_err(|_| Error::Rejected("a changed file has a name that is not UTF-8".into()))?;
        limited(changed)
    }

    /// Returns mode, object and path of the files of a revision, or of those that are staged.
    async fn files_of(
        &self,
        revision: Option<&str>,
        paths: &[&str],
        cancel: &CancellationToken,
    ) -> Result<Vec<(Mode, String, String)>, Error> {
        if paths.is_empty() {
            return Err(Error::Rejected("name the files to restore".into()));
        }
        paths.iter().try_for_each(|path| check_path(path))?;
        let mut arguments = vec!["--literal-pathspecs"];
        match revision {
            Some(revision) => {
                check_revision(revision)?;
                arguments.extend([
                    "ls-tree",
                    "-r",
                    "-z",
                    "--full-tree",
                    "--end-of-options",
                    revision,
                ]);
            }
            None => arguments.extend(["ls-files", "--stage", "-z"]),
        }
        arguments.push("--");
        arguments.extend(paths);
        let mut files = Vec::new();
        let on_field = |field: &[u8]| files.extend(entry(&String::from_utf8_lossy(field)));
        self.git.fields(&arguments, LIMIT, cancel, on_field).await.map_err(rejected)?;
        if files.is_empty() {
            let reason = format!("there is no file at {}", paths.join(", "));
            return Err(Error::Rejected(reason));
        }
        limited(files)
    }

    /// Reads a file of the tree by a handle, on a blocking thread.
    async fn read(&self, root: &Arc<Root>, path: &str) -> Result<Found, Error> {
        let (root, below) = (Arc::clone(root), path.to_owned());
        let read = tokio::task::spawn_blocking(move || found(&root, &below)).await;
        // The runtime is shutting down.
        let read = read.map_err(|_| Error::Cancelled)?;
        read.map_err(|error| file_failed(&self.path.join(path), error))
    }
}

fn found(root: &Root, path: &str) -> Result<Found, FileError> {
    let metadata = match root.metadata(path) {
        Ok(metadata) => metadata,
        Err(FileError::Missing | FileError::NotADirectory) => return Ok(Found::Missing),
        Err(error) => return Err(error),
    };
    if metadata.kind == FileKind::Link {
        return Ok(Found::File { mode: Mode::Link, content: root.read_link(path)? });
    }
    let (file, metadata) = root.open_file(path)?;
    if metadata.size > MAX_FILE_BYTES {
        return Err(FileError::TooLarge(MAX_FILE_BYTES));
    }
    let mut content = Vec::new();
    file.take(MAX_FILE_BYTES).read_to_end(&mut content)?;
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
                "{path} is a symbolic link, which is not restored"
            )));
        }
    };
    if let Some((directory, _)) = path.rsplit_once('/') {
        root.create_directories(directory).map_err(failed)?;
    }
    root.replace(path, content, permissions).map_err(failed)
}

/// Parses a line of `git ls-tree` or `git ls-files --stage`.
fn entry(line: &str) -> Option<(Mode, String, String)> {
    let (head, path) = line.split_once('\t')?;
    let mut columns = head.split(' ');
    let mode = match columns.next()? {
        "100644" | "100664" => Mode::File,
        "100755" => Mode::Executable,
        "120000" => Mode::Link,
        // A submodule.
        _ => return None,
    };
    let sha = columns.find(|column| column.len() >= 40)?;
    Some((mode, sha.to_owned(), path.to_owned()))
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
