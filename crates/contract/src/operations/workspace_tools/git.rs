//! `git_tool`: shows and changes the repository of a workspace. Nothing leaves the machine.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use super::{LineRange, fields, subcommands};
use crate::list::WorkspacePaths;
use crate::number::CommitLimit;
use crate::text::{Email, FreeText, GitRef, PersonName, WorkspacePath};
use crate::{Request, ValidationError};

subcommands! {
    /// Subcommands of `git_tool`.
    GitCommand {
        /// Returns the branch, and the changed and untracked files.
        Status = "status",
        /// Returns differences.
        Diff = "diff",
        /// Returns commits, newest first.
        Log = "log",
        /// Returns a commit with its changes, or a file of a commit.
        Show = "show",
        /// Returns the lines of a file with the commit of each.
        Blame = "blame",
        /// Stages files.
        Add = "add",
        /// Commits what is staged.
        Commit = "commit",
        /// Puts changes aside, and applies them again.
        Stash = "stash",
        /// Restores files. It does not change the branch.
        Checkout = "checkout",
    }
}

subcommands! {
    /// Action of `stash`.
    StashAction {
        /// Lists the entries.
        List = "list",
        /// Moves all changes below the locked directory to a new entry.
        Push = "push",
        /// Applies the newest entry, and deletes it.
        Pop = "pop",
    }
}

/// A call of `git_tool`, in the edit phase. Paths are relative to the locked directory.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"subcommand": "commit", "message": "Round the total of a cart"}))]
pub struct GitRequest {
    /// What to do.
    pub subcommand: GitCommand,
    /// `blame` (required), `show`: one file.
    pub path: Option<WorkspacePath>,
    /// `status`, `diff`, `log`, `add`, `checkout` (required): files and directories; the locked
    /// directory by default.
    pub paths: Option<WorkspacePaths>,
    /// `show` (required), `diff` (the older side), `log` (the newest commit), `blame`, `checkout`:
    /// a branch, tag or commit, such as `HEAD~2`. Without it, `diff` compares with what is staged
    /// or, if `staged`, with `HEAD`; `checkout` restores what is staged.
    pub revision: Option<GitRef>,
    /// `diff`: the newer side; the files by default. It needs `revision`.
    pub to_revision: Option<GitRef>,
    /// `diff`: whether staged changes are shown; false by default.
    pub staged: Option<bool>,
    /// `diff`: whether only the numbers of changed lines are shown; false by default.
    pub summary: Option<bool>,
    /// `log`: most commits; 20 by default.
    pub max_count: Option<CommitLimit>,
    /// `blame`, `show` with `path`: the lines; all by default.
    pub view_range: Option<LineRange>,
    /// `commit` (required), `stash` with `push`: message.
    pub message: Option<FreeText>,
    /// `commit`: name of the author; the caller's by default.
    pub author_name: Option<PersonName>,
    /// `commit`: e-mail address of the author; the caller's by default.
    pub author_email: Option<Email>,
    /// `stash` (required): what to do.
    pub action: Option<StashAction>,
}

impl GitRequest {
    fn uses(&self) -> fields::Uses {
        match self.subcommand {
            GitCommand::Status | GitCommand::Add => (&[], &["paths"]),
            GitCommand::Diff => (&[], &["paths", "revision", "to_revision", "staged", "summary"]),
            GitCommand::Log => (&[], &["paths", "revision", "max_count"]),
            GitCommand::Show if self.path.is_some() => (&["revision"], &["path", "view_range"]),
            GitCommand::Show => (&["revision"], &[]),
            GitCommand::Blame => (&["path"], &["revision", "view_range"]),
            GitCommand::Commit => (&["message"], &["author_name", "author_email"]),
            GitCommand::Stash if self.action == Some(StashAction::Push) => {
                (&["action"], &["message"])
            }
            GitCommand::Stash => (&["action"], &[]),
            GitCommand::Checkout => (&["paths"], &["revision"]),
        }
    }
}

impl Request for GitRequest {
    fn check(&self) -> Result<(), ValidationError> {
        fields::check(
            self.subcommand.as_str(),
            self.uses(),
            &[
                ("path", self.path.is_some()),
                ("paths", self.paths.is_some()),
                ("revision", self.revision.is_some()),
                ("to_revision", self.to_revision.is_some()),
                ("staged", self.staged.is_some()),
                ("summary", self.summary.is_some()),
                ("max_count", self.max_count.is_some()),
                ("view_range", self.view_range.is_some()),
                ("message", self.message.is_some()),
                ("author_name", self.author_name.is_some()),
                ("author_email", self.author_email.is_some()),
                ("action", self.action.is_some()),
            ],
        )?;
        if self.to_revision.is_some() && self.revision.is_none() {
            return Err(ValidationError::new("to_revision", "needs revision; give both"));
        }
        if self.to_revision.is_some() && self.staged == Some(true) {
            let rule = "must not be given with staged; compare two revisions, or what is staged";
            return Err(ValidationError::new("to_revision", rule));
        }
        if self.subcommand == GitCommand::Checkout
            && self.paths.as_ref().is_some_and(WorkspacePaths::is_empty)
        {
            return Err(ValidationError::new("paths", "must hold at least one item"));
        }
        Ok(())
    }
}
