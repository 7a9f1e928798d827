//! A second tree of a repository, to try changes.

use std::path::Path;

use mc_files::Root;
use tokio_util::sync::CancellationToken;

use super::{Diff, Text, WorkTree, check_revision, rejected};
use crate::copy::{CopyDirectory, file_failed};
use crate::fetch::STEP_LIMIT;
use crate::{Error, Limits};

/// Name of the index of a trial tree, beside the tree.
const INDEX: &str = "index";
/// Name of the tree.
const TREE: &str = "tree";

/// A second tree of a repository, with files and an index of its own.
#[derive(Debug)]
pub struct Trial(WorkTree);

impl Trial {
    /// Returns the top directory of the tree.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Opens the tree, to list, read and write files.
    pub fn root(&self) -> Result<Root, Error> {
        self.0.root()
    }

    /// Stages files, as [`WorkTree::add`] does.
    pub async fn add(&self, paths: &[&str], cancel: &CancellationToken) -> Result<usize, Error> {
        self.0.add(paths, cancel).await
    }

    /// Returns differences, as [`WorkTree::diff`] does.
    pub async fn diff(
        &self,
        diff: Diff<'_>,
        max_bytes: usize,
        cancel: &CancellationToken,
    ) -> Result<Text, Error> {
        self.0.diff(diff, max_bytes, cancel).await
    }
}

impl WorkTree {
    /// Creates a second work tree at a revision in `directory`, which the service owns and the user
    /// of this tree may pass through. Its changes leave this tree as it is; it shares the objects.
    ///
    /// It ends when its directory is deleted. Another call replaces it.
    pub async fn trial(
        &self,
        directory: &Path,
        revision: &str,
        limits: Limits,
        cancel: &CancellationToken,
    ) -> Result<Trial, Error> {
        check_revision(revision)?;
        limits.check_files(&self.git, revision, STEP_LIMIT, cancel).await.map_err(rejected)?;
        let own = CopyDirectory::create(&directory.join("trial"), self.user())?;
        own.clear()?;
        let own = CopyDirectory::create(own.path(), self.user())?;
        let path = own.path().join(TREE);
        let created = own.root()?.create_directories(TREE);
        created.map_err(|error| file_failed(&path, error))?;
        let absolute = ["rev-parse", "--absolute-git-dir"];
        let git_directory = self.git.run(&absolute, STEP_LIMIT, cancel).await?;
        let git = self.git.clone().with_directory(path.clone());
        let git = git.with_git_directory(git_directory.into()).with_index(own.path().join(INDEX));
        let git = git.confined_also_to(own.root()?.into())?;
        let read = ["read-tree", "--reset", "-u", "--end-of-options", revision];
        git.run(&read, STEP_LIMIT, cancel).await.map_err(rejected)?;
        Ok(Trial(Self { git, path, protected: None }))
    }
}
