//! `navigator`: reads a workspace, and moves between the phases.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use super::{LineRange, fields, subcommands};
use crate::number::ResultLimit;
use crate::text::{Glob, SearchPattern, WorkspacePath};
use crate::{Request, ValidationError};

subcommands! {
    /// Subcommands of `navigator`.
    NavigatorCommand {
        /// Changes the current directory, in discovery.
        Cd = "cd",
        /// Returns the current directory.
        Pwd = "pwd",
        /// Lists a directory.
        Ls = "ls",
        /// Reads a text file, with line numbers.
        Read = "read",
        /// Finds files and directories by a glob.
        Find = "find",
        /// Finds lines of files by a regular expression.
        Grep = "grep",
        /// Starts the edit phase in the current directory.
        LockCwd = "lock_cwd",
        /// Returns to discovery.
        Unlock = "unlock",
    }
}

/// A call of `navigator`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"subcommand": "grep", "path": "src", "pattern": "fn main"}))]
pub struct NavigatorRequest {
    /// What to do.
    pub subcommand: NavigatorCommand,
    /// `cd`, `read` (required), `ls`, `find`, `grep` (the current directory by default): file or
    /// directory. For `grep` it may be a file.
    pub path: Option<WorkspacePath>,
    /// `read`: the lines; all by default.
    pub view_range: Option<LineRange>,
    /// `find`: a glob relative to `path`, such as `src/**/*.rs`; without a slash, it matches names
    /// in any directory. `grep`: a regular expression for one line.
    pub pattern: Option<SearchPattern>,
    /// `grep`: whether `pattern` is a text and no expression; false by default.
    pub literal: Option<bool>,
    /// `grep`: whether upper and lower case are the same; false by default.
    pub ignore_case: Option<bool>,
    /// `grep`: glob of the files to read, relative to `path`.
    pub glob: Option<Glob>,
    /// `ls`, `find`, `grep`: most entries or lines; 200 by default.
    pub max_results: Option<ResultLimit>,
}

impl Request for NavigatorRequest {
    fn check(&self) -> Result<(), ValidationError> {
        let uses: fields::Uses = match self.subcommand {
            NavigatorCommand::Cd => (&["path"], &[]),
            NavigatorCommand::Ls => (&[], &["path", "max_results"]),
            NavigatorCommand::Read => (&["path"], &["view_range"]),
            NavigatorCommand::Find => (&["pattern"], &["path", "max_results"]),
            NavigatorCommand::Grep => {
                (&["pattern"], &["path", "literal", "ignore_case", "glob", "max_results"])
            }
            NavigatorCommand::Pwd | NavigatorCommand::LockCwd | NavigatorCommand::Unlock => {
                (&[], &[])
            }
        };
        fields::check(
            self.subcommand.as_str(),
            uses,
            &[
                ("path", self.path.is_some()),
                ("view_range", self.view_range.is_some()),
                ("pattern", self.pattern.is_some()),
                ("literal", self.literal.is_some()),
                ("ignore_case", self.ignore_case.is_some()),
                ("glob", self.glob.is_some()),
                ("max_results", self.max_results.is_some()),
            ],
        )
    }
}
