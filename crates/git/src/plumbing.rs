//! Commits by git's plumbing commands: no hook runs, no filter changes a file, and the index is one
//! of the commit's own.

use std::path::PathBuf;
use std::time::Duration;

use mc_privileges::UnprivilegedUser;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::Error;
use crate::program::Git;

/// Timeout of one command.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

/// Author or committer of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Name.
    pub name: String,
    /// E-mail address.
    pub email: String,
}

impl Identity {
    /// Returns the identity of the service, which makes commits of its own.
    pub fn of_service() -> Self {
        Self { name: "Memory Copilot".into(), email: "memory-copilot@localhost".into() }
    }

    /// Returns the settings that make this the author, and another one the committer.
    pub(crate) fn settings(author: &Self, committer: &Self) -> Vec<String> {
        [("author", author), ("committer", committer)]
            .into_iter()
            .flat_map(|(role, Self { name, email })| {
                [format!("{role}.name={}", plain(name)), format!("{role}.email={}", plain(email))]
            })
            .collect()
    }
}

/// Removes what git does not accept in an identity.
fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() && !matches!(c, '<' | '>')).collect()
}

/// Kind of a file in a tree of git.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    File,
    Executable,
    Link,
}

impl Mode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::File => "100644",
            Self::Executable => "100755",
            Self::Link => "120000",
        }
    }
}

/// A changed file of an index.
#[derive(Debug)]
pub(crate) enum IndexEntry {
    /// The file has this content.
    Blob { mode: Mode, sha: String, path: String },
    /// The file does not exist.
    Removed { path: String },
}

/// Git that runs plumbing commands.
pub(crate) struct Plumbing<'a> {
    pub git: &'a Git,
    pub cancel: &'a CancellationToken,
}

impl Plumbing<'_> {
    pub async fn run(&self, arguments: &[&str]) -> Result<String, Error> {
        self.git.run(arguments, LIMIT, self.cancel).await
    }

    /// Stores the content of a file unchanged, and returns its object name.
    pub async fn store(&self, content: &[u8]) -> Result<String, Error> {
        let arguments = ["hash-object", "-w", "--stdin", "--no-filters"];
        self.git.run_with_input(&arguments, content, LIMIT, self.cancel).await
    }

    /// Changes entries of the index.
    pub async fn update_index(&self, entries: &[IndexEntry]) -> Result<(), Error> {
        let (mut blobs, mut removed) = (String::new(), String::new());
        for entry in entries {
            match entry {
                IndexEntry::Blob { mode, sha, path } => {
                    blobs.extend([mode.as_str(), " ", sha, "\t", path, "\0"]);
                }
                IndexEntry::Removed { path } => removed.extend([path, "\0"]),
            }
        }
        let add: &[&str] = &["update-index", "-z", "--index-info"];
        let remove: &[&str] = &["update-index", "--force-remove", "-z", "--stdin"];
        for (arguments, lines) in [(add, blobs), (remove, removed)] {
            if !lines.is_empty() {
                self.git.run_with_input(arguments, lines.as_bytes(), LIMIT, self.cancel).await?;
            }
        }
        Ok(())
    }

    /// Stores the tree of a commit (empty: of no commit) with these changes, in an index of its
    /// own, so that what others have staged is not committed. Returns its object name.
    pub async fn tree(&self, commit: &str, entries: &[IndexEntry]) -> Result<String, Error> {
        let name = format!("memory-copilot-{}.index", Uuid::now_v7().simple());
        let path = ["rev-parse", "--path-format=absolute", "--git-path", &name];
        let index = PathBuf::from(self.run(&path).await?);
        let git = self.git.clone().with_index(index.clone());
        let own = Plumbing { git: &git, cancel: self.cancel };
        let in_index = async {
            let start = if commit.is_empty() { "--empty" } else { commit };
            own.run(&["read-tree", start]).await?;
            own.update_index(entries).await?;
            own.run(&["write-tree"]).await
        };
        let tree = in_index.await;
        // One that stays is small, and git never reads it.
        let _ = as_user(&git, move || std::fs::remove_file(index)).await;
        tree
    }

    /// Stores a commit, and returns its object name. It has no parent if `parent` is empty.
    pub async fn commit(&self, tree: &str, parent: &str, message: &str) -> Result<String, Error> {
        let mut arguments = vec!["commit-tree", tree];
        if !parent.is_empty() {
            arguments.extend(["-p", parent]);
        }
        self.git.run_with_input(&arguments, message.as_bytes(), LIMIT, self.cancel).await
    }

    /// Moves a ref from a commit to another one, unless somebody else has moved it meanwhile.
    pub async fn move_ref(
        &self,
        name: &str,
        from: &str,
        to: &str,
        reason: &str,
    ) -> Result<(), Error> {
        let reason = reason.lines().next().unwrap_or_default();
        let from = if from.is_empty() { "0".repeat(to.len()) } else { from.to_owned() };
        self.run(&["update-ref", "-m", reason, name, to, &from]).await.map(drop)
    }
}

/// Runs `access` to files on a blocking thread.
pub(crate) async fn run_blocking<T: Send + 'static>(
    access: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    // Without a result, the runtime is shutting down.
    tokio::task::spawn_blocking(access).await.unwrap_or(Err(Error::Cancelled))
}

/// Runs `access` to files on a blocking thread, with the rights of the user who runs `git`.
pub(crate) async fn as_user<T: Send + 'static>(
    git: &Git,
    access: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> std::io::Result<T> {
    let user = git.user();
    let access = move || {
        let _access = user.map(UnprivilegedUser::access_files).transpose()?;
        access()
    };
    tokio::task::spawn_blocking(access).await.map_err(std::io::Error::other)?
}
