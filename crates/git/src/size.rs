//! Limits of the size of a copy: a pack of some megabytes may hold millions of files.

use std::fs::DirEntry;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::Error;
use crate::program::Git;
use mc_privileges::raise_privileges;

/// Interval between checks of the size of a running fetch.
const SIZE_CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// Limits of the copy of one repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of files of a commit.
    pub files: u64,
    /// Maximum bytes of the fetched packs, and of all files of a commit.
    pub bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { files: 200_000, bytes: 2 << 30 }
    }
}

impl Limits {
    /// Returns the error for a repository that exceeds the limits.
    pub(crate) fn exceeded(self) -> Error {
        Error::RepositoryTooLarge { files: self.files, megabytes: self.bytes >> 20 }
    }

    /// Checks the files of a commit before they are written. Git stops at the first file beyond a
    /// limit, because a commit may list the same directory any number of times.
    pub(crate) async fn check_files(
        self,
        git: &Git,
        sha: &str,
        limit: Duration,
        cancel: &CancellationToken,
    ) -> Result<(), Error> {
        let stop = cancel.child_token();
        let (mut files, mut bytes) = (0_u64, 0_u64);
        let list = ["ls-tree", "-r", "-l", "-z", "--full-tree", "--end-of-options", sha];
        let listed = git.fields(&list, limit, &stop, |entry| {
            files += 1;
            bytes = bytes.saturating_add(file_size(entry));
            if files > self.files || bytes > self.bytes {
                stop.cancel();
            }
        });
        let listed = listed.await;
        if files > self.files || bytes > self.bytes { Err(self.exceeded()) } else { listed }
    }
}

/// Objects of a copy, including incomplete packs. A fetch stores packs, unless the server is a
/// plain web server, which has single objects.
pub(crate) struct Objects(PathBuf);

impl Objects {
    /// Returns the objects of the repository whose directory of git is `git_directory`.
    pub(crate) fn of(git_directory: &Path) -> Self {
        Self(git_directory.join("objects"))
    }

    /// Runs a fetch and returns its error stream. Stops it, and returns `None`, if the objects take
    /// more than `max_bytes`.
    pub(crate) async fn fetch(
        &self,
        git: &Git,
        arguments: &[&str],
        max_bytes: u64,
        limit: Duration,
        cancel: &CancellationToken,
    ) -> Result<Option<String>, Error> {
        let stop = cancel.child_token();
        let fetched = git.fetch(arguments, limit, &stop);
        tokio::pin!(fetched);
        let mut is_too_large = false;
        let fetched = loop {
            tokio::select! {
                fetched = &mut fetched => break fetched,
                () = tokio::time::sleep(SIZE_CHECK_INTERVAL), if !is_too_large => {
                    is_too_large = self.size() > max_bytes;
                    if is_too_large {
                        stop.cancel();
                    }
                }
            }
        };
        if matches!(fetched, Err(Error::PrivilegesNotDropped { .. })) {
            // Git may still run.
            return fetched.map(Some);
        }
        // A fetch may end between two checks of its size: it is complete, or git failed because a
        // pack reached the limit of a written file.
        let is_ended = matches!(fetched, Ok(_) | Err(Error::Unreachable(_)));
        if is_too_large || (is_ended && self.size() > max_bytes) {
            return Ok(None);
        }
        fetched.map(Some)
    }

    fn size(&self) -> u64 {
        let _raised = raise_privileges();
        let files = list(&self.0).flat_map(|directory| list(&directory.path()));
        files.filter_map(|file| Some(file.metadata().ok()?.len())).sum()
    }
}

fn list(directory: &Path) -> impl Iterator<Item = DirEntry> + use<> {
    std::fs::read_dir(directory).into_iter().flatten().flatten()
}

/// Returns the size in a line of `git ls-tree -l`; 0 for a submodule, which has none.
fn file_size(entry: &[u8]) -> u64 {
    let columns = entry.split(|byte| *byte == b'\t').next().unwrap_or_default();
    let size = columns.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
    std::str::from_utf8(size).ok().and_then(|size| size.parse().ok()).unwrap_or(0)
}
