//! Rendering of workspaces and their files.

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
        "failed" => "\nthe fetch failed: mend the cause, and fetch it again",
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
