//! The stash: changes that are put aside.

use tokio_util::sync::CancellationToken;

use super::{WorkTree, rejected};
use crate::Error;
use crate::plumbing::{Identity, LIMIT};

impl WorkTree {
    /// Moves all changes, also of untracked files, to a new entry of the stash. Returns whether
    /// there were any. Git writes files of the tree meanwhile.
    pub async fn stash(
        &self,
        message: &str,
        author: &Identity,
        cancel: &CancellationToken,
    ) -> Result<bool, Error> {
        self.check_no_submodule(cancel).await?;
        let before = self.newest_stash(cancel).await?;
        let message = message.lines().next().unwrap_or_default();
        let arguments = ["stash", "push", "--include-untracked", "--message", message];
        self.git_of(author).run(&arguments, LIMIT, cancel).await.map_err(rejected)?;
        Ok(self.newest_stash(cancel).await? != before)
    }

    /// Applies the newest entry of the stash, and deletes the entry. With conflicts, it stays, and
    /// the error names the files, which have marks of the conflicts.
    pub async fn unstash(
        &self,
        author: &Identity,
        cancel: &CancellationToken,
    ) -> Result<(), Error> {
        self.check_no_submodule(cancel).await?;
        let arguments = ["stash", "pop", "--quiet", "--index"];
        let applied = self.git_of(author).run(&arguments, LIMIT, cancel).await.map_err(rejected);
        let Err(error) = applied else { return Ok(()) };
        let unmerged = ["diff", "--name-only", "--diff-filter=U", "--no-ext-diff", "--"];
        let unmerged = self.git.run(&unmerged, LIMIT, cancel).await.map_err(rejected)?;
        if unmerged.is_empty() {
            return Err(error);
        }
        let files: Vec<&str> = unmerged.lines().collect();
        Err(Error::Rejected(format!(
            "the entry of the stash conflicts with {}; resolve the marks in these files; the entry \
             is kept",
            files.join(", ")
        )))
    }

    async fn newest_stash(&self, cancel: &CancellationToken) -> Result<Option<String>, Error> {
        let newest = ["rev-parse", "--verify", "--quiet", "refs/stash"];
        match self.git.run(&newest, LIMIT, cancel).await {
            Ok(newest) => Ok(Some(newest)),
            Err(Error::Unreachable(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Rejects a tree with submodules. A stash makes git run another git in each of them, which
    /// would obey the configuration there.
    async fn check_no_submodule(&self, cancel: &CancellationToken) -> Result<(), Error> {
        let mut has_submodule = false;
        let on_entry = |entry: &[u8]| has_submodule |= entry.starts_with(b"160000 ");
        let list = ["ls-files", "--stage", "-z"];
        self.git.fields(&list, LIMIT, cancel, on_entry).await.map_err(rejected)?;
        if has_submodule {
            return Err(Error::Rejected(
                "the repository has submodules, with which the stash can't be used; commit the \
                 changes instead"
                    .into(),
            ));
        }
        Ok(())
    }
}
