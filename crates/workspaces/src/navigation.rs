//! Two phases of the work on a workspace: discovery, which reads and moves between directories, and
//! edit, which changes files below one locked directory.
//!
//! A model looks at a directory before it locks it, and then changes nothing elsewhere by mistake.
//! The phase is no authority: who may change a workspace is decided before.

use mc_files::{FileError, FileKind, Root};

use crate::Error;
use crate::path::resolve;

#[cfg(test)]
mod tests;

pub use mc_domain::NavigationPhase as Phase;

/// Action of a tool that works in the edit phase only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Changes files.
    EditFiles,
    /// Reads and changes the repository.
    UseGit,
    /// Runs commands.
    RunCommands,
}

/// Path from the root of a file that may be changed. Only [`Navigation::path_to_edit`] returns it,
/// so every change of a file has passed its checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditPath(String);

/// Current directory and phase. It starts at the root, in discovery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Navigation {
    cwd: String,
    phase: Phase,
}

impl Default for Navigation {
    fn default() -> Self {
        Self { cwd: String::new(), phase: Phase::Discovery }
    }
}

impl Navigation {
    /// Returns a navigation that was stored. `cwd` is a path from the root.
    pub fn restore(cwd: &str, phase: Phase) -> Result<Self, Error> {
        Ok(Self { cwd: resolve("", cwd)?, phase })
    }

    /// Returns the path of the current directory from the root; empty for the root itself.
    pub fn cwd(&self) -> &str {
        &self.cwd
    }

    /// Returns the phase.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Makes a directory the current one. In the edit phase, the current one is locked.
    pub fn cd(&mut self, root: &Root, path: &str) -> Result<(), Error> {
        if self.phase == Phase::Edit {
            return Err(Error::LockedDirectory { cwd: self.cwd.clone() });
        }
        if path.is_empty() {
            return Err(Error::PathRequired("cd"));
        }
        let directory = resolve(&self.cwd, path)?;
        check_directory(root, &directory)?;
        self.cwd = directory;
        Ok(())
    }

    /// Starts the edit phase in the current directory, or continues it.
    pub fn lock_cwd(&mut self, root: &Root) -> Result<(), Error> {
        // It may have been deleted since `cd`.
        check_directory(root, &self.cwd)?;
        self.phase = Phase::Edit;
        Ok(())
    }

    /// Returns to discovery. The current directory stays the same.
    pub fn unlock(&mut self) {
        self.phase = Phase::Discovery;
    }

    /// Returns the path from the root of a file or directory to read: any of the workspace.
    pub fn path_to_read(&self, path: &str) -> Result<String, Error> {
        resolve(&self.cwd, path)
    }

    /// Returns the path from the root of a file to change. It must be below the locked directory,
    /// and given relative to it.
    pub fn path_to_edit(&self, path: &str) -> Result<EditPath, Error> {
        self.check(Action::EditFiles)?;
        if path.is_empty() {
            return Err(Error::PathRequired("an edit"));
        }
        let file = self.resolve_below(path)?;
        if file == self.cwd {
            return Err(Error::LockedDirectoryItself { cwd: self.cwd.clone() });
        }
        Ok(EditPath(file))
    }

    /// Returns the path from the root of a file or directory for git: the locked directory or a
    /// path below it, given relative to it.
    pub fn path_for_git(&self, path: &str) -> Result<String, Error> {
        self.check(Action::UseGit)?;
        self.resolve_below(path)
    }

    /// Returns the path from the root of the locked directory or of a path below it, which is given
    /// relative to it.
    fn resolve_below(&self, path: &str) -> Result<String, Error> {
        let (path, cwd) = (path.to_owned(), self.cwd.clone());
        let resolved = resolve(&cwd, &path)?;
        if path.starts_with('/') {
            return Err(Error::AbsolutePath { path, cwd });
        }
        if self.is_below_cwd(&resolved) {
            Ok(resolved)
        } else {
            Err(Error::OutsideLockedDirectory { path, cwd })
        }
    }

    /// Checks that the phase allows an action.
    pub fn check(&self, action: Action) -> Result<(), Error> {
        match self.phase {
            Phase::Discovery => Err(Error::DiscoveryPhase(action)),
            Phase::Edit => Ok(()),
        }
    }

    /// Returns whether a path is the current directory or below it.
    fn is_below_cwd(&self, path: &str) -> bool {
        let rest = path.strip_prefix(&self.cwd);
        rest.is_some_and(|rest| self.cwd.is_empty() || rest.is_empty() || rest.starts_with('/'))
    }
}

impl EditPath {
    /// Returns the path from the root.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Action {
    /// Returns the action as a part of a sentence.
    pub(crate) fn verb_phrase(self) -> &'static str {
        match self {
            Self::EditFiles => "edit files",
            Self::UseGit => "use git",
            Self::RunCommands => "run commands",
        }
    }
}

/// Checks that there is a directory at a path from the root, and no link.
fn check_directory(root: &Root, path: &str) -> Result<(), Error> {
    let metadata = root.metadata(path).map_err(Error::at(path))?;
    match metadata.kind {
        FileKind::Directory => Ok(()),
        FileKind::Link => Err(Error::at(path)(FileError::Link)),
        FileKind::File | FileKind::Other => Err(Error::NotADirectory(path.to_owned())),
    }
}
