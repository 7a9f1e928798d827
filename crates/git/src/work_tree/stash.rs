//! The stash: changes that are put aside.

use tokio_util::sync::CancellationToken;

use super::{WorkTree, check_path, rejected};
use crate::Error;
use crate::plumbing::{Identity, LIMIT};

impl WorkTree {
    /// Moves the changes of files and directories, also of untracked files, to a new entry of the
    /// stash; all changes if `paths` is empty. Returns whether there were any. Git writes files of
    /// the tree meanwhile.
    ///
    /// Fails if other files are staged, since an entry has the whole index.
    pub async fn stash(
        &self,
        message: &str,
        paths: &[&str],
        author: &Identity,
        cancel: &CancellationToken,
    ) -> Result<bool, Error> {
        self.check_no_submodule(cancel).await?;
        paths.iter().try_for_each(|path| check_path(path))?;
        if !paths.is_empty() {
            let staged = ["diff", "--cached", "--name-only", "-z", "--no-renames", "--no-ext-diff"];
            let staged = self.names(&staged, cancel).await?;
            if let Some(other) = staged.iter().find(|name| !is_in_any(name, paths)) {
                return Err(Error::Rejected(format!(
                    "{other} is staged and not in {}; commit it before other changes are stashed",
                    paths.join(", ")
                )));
            }
            // Git would create an empty entry.
            if self.changed(paths, cancel).await?.is_empty() {
                return Ok(false);
            }
        }
        let before = self.newest_stash(cancel).await?;
        let message = message.lines().next().unwrap_or_default();
        let mut arguments = vec!["stash", "push", "--include-untracked", "--message", message];
        if !paths.is_empty() {
            // With it but without paths, git creates an empty entry if there is no change.
            arguments.insert(0, "--literal-pathspecs");
            arguments.push("--");
            arguments.extend(paths);
        }
        self.git_of(author).run(&arguments, LIMIT, cancel).await.map_err(rejected)?;
        Ok(self.newest_stash(cancel).await? != before)
    }

    /// Applies the newest entry of the stash, and deletes the entry. With conflicts, it stays, and
    /// the error names the files, which have marks of the conflicts.
    ///
    /// Fails if the entry has a file that is not in one of `paths`, unless they are empty.
    pub async fn unstash(
        &self,
        paths: &[&str],
        author: &Identity,
        cancel: &CancellationToken,
    ) -> Result<(), Error> {
        self.check_no_submodule(cancel).await?;
        if !paths.is_empty() {
            let stashed = "stash show --include-untracked --name-only -z --no-renames \
                           --no-ext-diff --no-textconv";
            let stashed: Vec<&str> = stashed.split_whitespace().collect();
            let stashed = self.names(&stashed, cancel).await?;
            if let Some(other) = stashed.iter().find(|name| !is_in_any(name, paths)) {
                return Err(Error::Rejected(format!(
                    "the newest entry of the stash has {other}, which is not in {}; apply it from \
                     a directory that contains all of its files",
                    paths.join(", ")
                )));
            }
        }
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

    /// Returns the names that git prints with `-z`.
    async fn names(
        &self,
        arguments: &[&str],
        cancel: &CancellationToken,
    ) -> Result<Vec<String>, Error> {
        let mut names = Vec::new();
        let on_name = |name: &[u8]| names.push(String::from_utf8_lossy(name).into_owned());
        self.git.fields(arguments, LIMIT, cancel, on_name).await.map_err(rejected)?;
        Ok(names)
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

/// Returns whether a file is one of `paths` or below one of them.
fn is_in_any(file: &str, paths: &[&str]) -> bool {
    paths.iter().any(|path| {
        file.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}
