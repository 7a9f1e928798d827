//! `edit_tool`: views and edits text files below the locked directory.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use super::{LineRange, fields, subcommands};
use crate::number::InsertLine;
use crate::text::{FileText, WorkspacePath};
use crate::{Request, ValidationError};

subcommands! {
    /// Subcommands of `edit_tool`.
    EditCommand {
        /// Reads a text file, with line numbers.
        View = "view",
        /// Creates a file; fails if it exists.
        Create = "create",
        /// Replaces a whole file, or creates it.
        Write = "write",
        /// Replaces a text that is in the file once.
        StrReplace = "str_replace",
        /// Inserts lines.
        Insert = "insert",
        /// Restores a file as it was before the last edit of it.
        UndoEdit = "undo_edit",
    }
}

/// A call of `edit_tool`, in the edit phase.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "subcommand": "str_replace", "path": "cart.rs", "old_str": "total()", "new_str": "sum()"
}))]
pub struct EditRequest {
    /// What to do.
    pub subcommand: EditCommand,
    /// File, relative to the locked directory.
    pub path: WorkspacePath,
    /// `create`, `write` (required): the whole text of the file. `insert` (required): the lines.
    pub content: Option<FileText>,
    /// `str_replace` (required): the text to replace, as it is shown and without line numbers. It
    /// must be in the file exactly once.
    pub old_str: Option<FileText>,
    /// `str_replace` (required): the new text; an empty one deletes the old text.
    pub new_str: Option<FileText>,
    /// `insert` (required): the line after which the content is inserted; 0 is the start.
    pub insert_line: Option<InsertLine>,
    /// `view`: the lines; all by default.
    pub view_range: Option<LineRange>,
}

impl Request for EditRequest {
    fn check(&self) -> Result<(), ValidationError> {
        let uses: fields::Uses = match self.subcommand {
            EditCommand::View => (&[], &["view_range"]),
            EditCommand::Create | EditCommand::Write => (&["content"], &[]),
            EditCommand::StrReplace => (&["old_str", "new_str"], &[]),
            EditCommand::Insert => (&["content", "insert_line"], &[]),
            EditCommand::UndoEdit => (&[], &[]),
        };
        fields::check(
            self.subcommand.as_str(),
            uses,
            &[
                ("content", self.content.is_some()),
                ("old_str", self.old_str.is_some()),
                ("new_str", self.new_str.is_some()),
                ("insert_line", self.insert_line.is_some()),
                ("view_range", self.view_range.is_some()),
            ],
        )
    }
}
