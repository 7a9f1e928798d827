//! Rendering of workspaces and their files.

use mc_contract::operations::workspace_tools::instructions;
use serde_json::Value;

use super::untrusted_block::Data;
use super::{ModelText, NAME, SENTENCE, append, items, string};

/// Maximum length of a path, in characters.
const PATH: usize = 1_024;
/// Number of build files that are shown.
const BUILD_FILES: usize = 12;

/// Renders a workspace.
pub fn workspace(workspace: &Value) -> ModelText {
    let mut text = ModelText::from_line(string(workspace, "owner"), NAME);
    text.add("/").add_line(string(workspace, "name"), NAME);
    text.add_labelled(" at ", string(workspace, "ref"), NAME);
    text.add_labelled("\nworkspaceId: ", string(workspace, "workspaceId"), NAME);
    text.add_labelled("\ncommit: ", string(workspace, "commit"), NAME);
    text.add(match string(workspace, "state") {
        "ready" => "\nready: its files can be read",
        "failed" => "\nthe fetch failed: correct the cause, and fetch it again",
        _ => "\nnot fetched yet: inspect it in some seconds",
    });
    text.add_labelled("\nlast error: ", string(&workspace["lastError"], "message"), SENTENCE);
    text
}

/// Renders the description of a directory.
pub fn inspection(inspection: &Value) -> ModelText {
    let number = |value: &Value, field| value.get(field).and_then(Value::as_u64).unwrap_or(0);
    let mut text = ModelText::from_line(string(inspection, "path"), PATH);
    text.add(": ").add_number(number(inspection, "files")).add(" files, ");
    text.add_number(number(inspection, "bytes")).add(" bytes");
    if inspection["isPartial"] == true {
        text.add(", and more, since a limit was reached");
    }
    match inspection.get("projectPath").and_then(Value::as_str) {
        Some("") => text.add("\nprojectPath: the root"),
        Some(path) => text.add_labelled("\nprojectPath: ", path, PATH),
        None => text.add("\nno build file"),
    };
    let mut data = Data::default();
    data.section("languages");
    for share in items(inspection, "languages") {
        let files = number(share, "files");
        data.text(&format!("{}: {files} files", string(share, "language")));
    }
    data.section("build files");
    for file in items(inspection, "buildFiles").iter().take(BUILD_FILES) {
        data.text(&format!("{} ({})", string(file, "path"), string(file, "tool")));
    }
    data.section("entries");
    for entry in items(inspection, "entries") {
        let mut line = string(entry, "path").chars().take(PATH).collect::<String>();
        match string(entry, "kind") {
            "directory" => line.push_str(&format!("/ {} files", number(entry, "files"))),
            "file" => append(&mut line, " ", &number(entry, "bytes").to_string()),
            kind => append(&mut line, " ", kind),
        }
        data.text(&line);
    }
    text.add("\ntree").add_cautioned(data);
    if let omitted @ 1.. = number(inspection, "omittedEntries") {
        text.add("\n").add_number(omitted).add(" more entries: inspect a directory below.");
    }
    text
}

/// Renders lines of a file.
pub fn workspace_file(file: &Value) -> ModelText {
    let number = |field| file.get(field).and_then(Value::as_u64).unwrap_or(0);
    let mut text = ModelText::from_line(string(file, "path"), PATH);
    text.add(", lines ").add_number(number("startLine")).add(" to ");
    text.add_number(number("endLine")).add(" of ").add_number(number("lines"));
    text.add_labelled(", ", string(file, "encoding"), NAME);
    let mut data = Data::default();
    data.text(string(file, "content"));
    text.add_cautioned(data);
    if let masked @ 1.. = number("maskedCount") {
        text.add("\n").add_number(masked).add(" places are masked.");
    }
    if let Some(next) = file.get("nextLine").and_then(Value::as_u64) {
        text.add("\nMore lines: startLine ").add_number(next).add(".");
    }
    text
}

/// Renders the instructions of the phase that a navigation has entered.
pub fn phase(result: &Value) -> ModelText {
    let mut text = navigation(result);
    if let Ok(phase) = string(result, "phase").parse() {
        text.add("\n\n").add(instructions(phase));
    }
    text
}

/// Renders the state of a navigation.
fn navigation(result: &Value) -> ModelText {
    let mut text = ModelText::from_line(string(result, "cwd"), PATH);
    text.add_labelled(", phase ", string(result, "phase"), NAME);
    text.add_labelled(", handle ", string(result, "handle"), NAME);
    text
}

/// Renders the result of a tool of a navigation.
pub fn tool_result(result: &Value) -> ModelText {
    let mut text = navigation(result);
    match result.get("error_code").and_then(Value::as_i64) {
        None | Some(0) => {}
        Some(code) => {
            text.add("\nexit code ").add_number(code);
        }
    }
    let mut data = Data::default();
    data.text(string(result, "output"));
    if !string(result, "error").is_empty() {
        data.section("standard error");
        data.text(string(result, "error"));
    }
    text.add("\noutput").add_cautioned(data);
    for note in items(result, "notes").iter().filter_map(Value::as_str) {
        text.add_labelled("\nnote: ", note, SENTENCE);
    }
    text
}

/// Renders a command: its result, or how far it is.
pub fn command(command: &Value) -> ModelText {
    if command["output"].is_string() {
        return tool_result(command);
    }
    let number = |field| command.get(field).and_then(Value::as_u64).unwrap_or(0);
    let mut text = ModelText::from_constant("The command still runs. Bytes of output so far: ");
    text.add_number(number("stdout_bytes")).add(", of errors: ");
    text.add_number(number("stderr_bytes"));
    text.add_labelled(".\nCall bash with command_id ", string(command, "command_id"), NAME);
    text.add(" to get the result.");
    text
}
