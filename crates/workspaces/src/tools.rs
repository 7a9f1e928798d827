//! The tools by which a model works on a workspace, in two phases (seed 003).
//!
//! Each tool takes a request of [`mc_contract::operations::workspace_tools`] and returns the
//! response, or an error that says how to continue. Texts of the workspace are masked and bounded;
//! the renderer of a protocol neutralizes them. The caller decides who may use a workspace, stores
//! the [`Navigation`], keeps the [`EditHistory`], and runs the functions without `async` on a
//! blocking thread.
//!
//! Of one workspace, edits, git and commands exclude each other: the caller runs one of [`edit`],
//! [`json_edit`], [`git`] and [`bash`] at a time. Git and commands could otherwise see a tree in
//! the middle of a change. [`navigator`] may run at any time.

mod bash;
mod edit;
mod git;
mod git_output;
mod history;
mod instructions;
mod json_edit;
mod navigator;
mod output;

use mc_files::Root;
use mc_git::WorkTree;
use mc_sanitizer::{Policy, Sanitizer};

use crate::Error;
use crate::edit::MaskedTree;
use crate::navigation::{Action, Navigation};

pub use bash::{CommandProgress, Commands, bash, check_bash};
pub use edit::edit;
pub use git::git;
pub use history::EditHistory;
pub use instructions::instructions;
pub use json_edit::json_edit;
pub use navigator::{navigator, started};

/// An opened workspace, and what the caller may do in it.
#[derive(Debug, Clone, Copy)]
pub struct Workspace<'a> {
    /// The tree, and git's directory of it.
    pub work_tree: &'a WorkTree,
    /// The tree, opened by [`WorkTree::root`].
    pub root: &'a Root,
    /// The rules that find secrets and personal data.
    pub sanitizer: &'a Sanitizer,
    /// Decides which of them are masked.
    pub policy: &'a Policy,
    /// Whether the caller may change the workspace. Otherwise, only discovery is possible.
    pub is_editable: bool,
}

impl Workspace<'_> {
    /// Returns the files as a model sees them.
    pub(crate) fn tree(&self) -> MaskedTree<'_> {
        MaskedTree { root: self.root, sanitizer: self.sanitizer, policy: self.policy }
    }

    /// Returns a text of the workspace, masked.
    pub(crate) fn masked(&self, text: &str) -> String {
        self.tree().mask(text)
    }

    /// Checks that the caller may change the workspace, and that the phase allows an action.
    fn check(&self, navigation: &Navigation, action: Action) -> Result<(), Error> {
        self.check_editable()?;
        navigation.check(action)
    }

    fn check_editable(&self) -> Result<(), Error> {
        if self.is_editable { Ok(()) } else { Err(Error::ReadOnlyWorkspace) }
    }
}
