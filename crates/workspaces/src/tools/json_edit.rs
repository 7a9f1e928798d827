//! `json_edit_tool`: views and edits values of JSON files below the locked directory.

use mc_contract::Request as _;
use mc_contract::operations::workspace_tools::{
    JsonEditCommand, JsonEditRequest, ToolResponse, required,
};
use mc_text_edit::json::{self, JsonValues, Matches, Position};
use mc_text_edit::{Limits, MAX_FILE_BYTES};

use super::edit::edited_output;
use super::output::Output;
use super::{EditHistory, Workspace};
use crate::Error;
use crate::navigation::{Action, Navigation};
use crate::path::display;

/// Runs a subcommand of `json_edit_tool`.
pub fn json_edit(
    workspace: &Workspace<'_>,
    navigation: &Navigation,
    history: &mut EditHistory,
    request: &JsonEditRequest,
) -> Result<ToolResponse, Error> {
    request.check()?;
    workspace.check(navigation, Action::EditFiles)?;
    let path = navigation.path_to_edit(request.path.as_str())?;
    let json_path = request.json_path.as_str();
    let tree = workspace.tree();
    if request.subcommand == JsonEditCommand::View {
        let values =
            tree.view(path.as_str(), |view| json::view(view, json_path, Limits::default()))?;
        return Ok(shown_values(&values).response(navigation));
    }
    let matches = if request.all == Some(true) { Matches::All } else { Matches::One };
    let value = || {
        let value = required(request.subcommand.as_str(), "value", request.value.as_ref());
        value.map(ToString::to_string)
    };
    let seen = history.seen(&path);
    let edited = match request.subcommand {
        JsonEditCommand::Remove | JsonEditCommand::View => {
            tree.edit(&path, seen, |view| json::remove(view, json_path, matches, MAX_FILE_BYTES))?
        }
        JsonEditCommand::Set => {
            let value = value()?;
            tree.edit(&path, seen, |view| {
                json::set(view, json_path, &value, matches, MAX_FILE_BYTES)
            })?
        }
        JsonEditCommand::Add => {
            let value = value()?;
            let position = position(request);
            tree.edit(&path, seen, |view| {
                json::add(view, json_path, position, &value, MAX_FILE_BYTES)
            })?
        }
    };
    let shown = display(path.as_str());
    Ok(edited_output(workspace, history, edited, &shown).response(navigation))
}

fn position(request: &JsonEditRequest) -> Position<'_> {
    match (&request.key, request.index) {
        (Some(key), _) => Position::Key(key.as_str()),
        (None, Some(index)) => Position::Index(index.get()),
        (None, None) => Position::End,
    }
}

/// Returns values with their paths and lines. They are masked already.
fn shown_values(values: &JsonValues) -> Output {
    let mut output = Output::default();
    for value in &values.values {
        output.text.push_str(&format!("{} (line {}): {}\n", value.path, value.line, value.text));
        output.is_truncated |= value.is_cut;
    }
    let (shown, count) = (values.values.len(), values.count);
    if shown < count {
        output.is_truncated = true;
        output = output.note(format!("{shown} of {count} values are shown; make the path exact"));
    }
    output
}
