//! A second tree of a repository, to try changes.

use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::{WorkTree, check_revision, rejected};
use crate::copy::CopyDirectory;
use crate::fetch::STEP_LIMIT;
use crate::{Error, Limits};

/// Name of the index of a trial tree, beside the tree.
const INDEX: &str = "index";
/// Name of the tree.
const TREE: &str = "tree";

impl WorkTree {
    /// Creates a second work tree at a revision in `directory`, which the service owns and the user
    /// of this tree may pass through. It has files and an index of its own, so its changes leave
    /// this tree as it is; it shares objects, branches and `HEAD`, so don't commit in it.
    ///
    /// It ends when its directory is deleted.
    pub async fn trial(
        &self,
        directory: &Path,
        revision: &str,
        limits: Limits,
        cancel: &CancellationToken,
    ) -> Result<Self, Error> {
        check_revision(revision)?;
        limits.check_files(&self.git, revision, STEP_LIMIT, cancel).await.map_err(rejected)?;
        let own = CopyDirectory::create(&directory.join("trial"), self.user())?;
        let path = own.path().join(TREE);
        own.root()?.create_directories(TREE)?;
        let absolute = ["rev-parse", "--absolute-git-dir"];
        let git_directory = self.git.run(&absolute, STEP_LIMIT, cancel).await?;
        let git = self.git.clone().with_directory(path.clone());
        let git = git.with_git_directory(git_directory.into()).with_index(own.path().join(INDEX));
        let read = ["read-tree", "--reset", "-u", "--end-of-options", revision];
        git.run(&read, STEP_LIMIT, cancel).await.map_err(rejected)?;
        Ok(Self { git, path, is_of_clone: true })
    }
}
