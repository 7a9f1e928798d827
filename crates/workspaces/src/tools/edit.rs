//! `edit_tool`: views and edits text files below the locked directory.

use mc_contract::Request as _;
use mc_contract::operations::workspace_tools::{
    EditCommand, EditRequest, LineRange, ToolResponse, required,
};
use mc_contract::text::FileText;
use mc_text_edit::{Limits, MAX_FILE_BYTES, insert, str_replace};

use super::output::Output;
use super::{EditHistory, Workspace};
use crate::Error;
use crate::edit::AppliedEdit;
use crate::navigation::{Action, EditPath, Navigation};
use crate::path::display;

/// Runs a subcommand of `edit_tool`.
pub fn edit(
    workspace: &Workspace<'_>,
    navigation: &Navigation,
    history: &mut EditHistory,
    request: &EditRequest,
) -> Result<ToolResponse, Error> {
    request.check()?;
    workspace.check(navigation, Action::EditFiles)?;
    let path = navigation.path_to_edit(request.path.as_str())?;
    let shown = display(path.as_str());
    let tree = workspace.tree();
    let text = |name, value: &Option<FileText>| {
        let text = required(request.subcommand.as_str(), name, value.as_ref());
        text.map(|text| text.as_str().to_owned())
    };
    let output = match request.subcommand {
        EditCommand::View => {
            let range = request.view_range.map(LineRange::get);
            let view = tree.read(path.as_str(), range, Limits::default())?;
            history.see(path.as_str(), view.version);
            Output::of_file(view)
        }
        EditCommand::Create => {
            let created = tree.create(&path, &text("content", &request.content)?)?;
            let message = format!("File {shown} created successfully.");
            history.add(created.undo);
            Output::new(message)
        }
        EditCommand::Write => {
            let content = text("content", &request.content)?;
            let written = tree.write(&path, history.seen(&path), &content)?;
            let message = format!("File {shown} written successfully.");
            let diff = written.edit.edited().diff.clone();
            applied(workspace, history, written, &message, &diff)
        }
        EditCommand::StrReplace => {
            let (old, new) =
                (text("old_str", &request.old_str)?, text("new_str", &request.new_str)?);
            let edited = tree.edit(&path, history.seen(&path), |view| {
                str_replace(view, &old, &new, MAX_FILE_BYTES)
            })?;
            edited_output(workspace, history, edited, &shown)
        }
        EditCommand::Insert => {
            let content = text("content", &request.content)?;
            let subcommand = request.subcommand.as_str();
            let line = required(subcommand, "insert_line", request.insert_line.as_ref())?.get();
            let edited = tree.edit(&path, history.seen(&path), |view| {
                insert(view, line, &content, MAX_FILE_BYTES)
            })?;
            edited_output(workspace, history, edited, &shown)
        }
        EditCommand::UndoEdit => undo(workspace, history, &path)?,
    };
    Ok(output.response(navigation))
}

fn undo(
    workspace: &Workspace<'_>,
    history: &mut EditHistory,
    path: &EditPath,
) -> Result<Output, Error> {
    let nothing = || Error::NothingToUndo(path.as_str().to_owned());
    let undo = history.last(path).ok_or_else(nothing)?;
    let is_created = undo.version_before().is_none();
    workspace.tree().undo(path, undo)?;
    history.remove_last(path);
    let shown = display(path.as_str());
    Ok(Output::new(if is_created {
        format!("The creation of {shown} was undone; the file is deleted.")
    } else {
        format!("The last edit of {shown} was undone.")
    }))
}

/// Adds an edit of lines to the history, and shows the lines.
pub(super) fn edited_output(
    workspace: &Workspace<'_>,
    history: &mut EditHistory,
    edited: AppliedEdit,
    shown: &str,
) -> Output {
    let message = format!("File {shown} edited successfully.");
    let snippet = edited.edit.edited().snippet.clone();
    applied(workspace, history, edited, &message, &snippet)
}

/// Adds an edit to the history. `change` shows it.
fn applied(
    workspace: &Workspace<'_>,
    history: &mut EditHistory,
    applied: AppliedEdit,
    message: &str,
    change: &str,
) -> Output {
    let edited = applied.edit.edited();
    let (added, removed) = (edited.added_lines, edited.removed_lines);
    let hidden = edited.removed_hidden_chars;
    // The new text may have secrets, too.
    let change = workspace.tree().mask(change);
    let mut output = Output::new(format!("{message} Lines added: {added}, removed: {removed}.\n"));
    if !change.is_empty() {
        output.text.push('\n');
        output.text.push_str(&change);
    }
    if hidden > 0 {
        output =
            output.note(format!("characters that are not shown and were removed, too: {hidden}"));
    }
    history.add(applied.undo);
    output
}
