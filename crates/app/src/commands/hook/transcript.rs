//! The transcript of a session of Claude Code: one JSON object a line.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

/// Size of the end of a transcript that is read, in bytes.
const TAIL_BYTES: u64 = 8 << 20;

/// Returns the names of the tools that the assistant called since the last prompt.
pub fn tools_of_last_turn(path: &Path) -> Result<Vec<String>> {
    let unreadable = || format!("the transcript {} can't be read", path.display());
    let mut file = File::open(path).with_context(unreadable)?;
    let length = file.metadata().with_context(unreadable)?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES))).with_context(unreadable)?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes).with_context(unreadable)?;
    Ok(tools(&String::from_utf8_lossy(&bytes)))
}

/// Whether a tool of Claude Code changes files of the project.
pub fn changes_files(tool: &str) -> bool {
    matches!(tool, "Edit" | "MultiEdit" | "Write" | "NotebookEdit")
}

/// Whether a tool saves to the memory.
pub fn saves(tool: &str) -> bool {
    tool.starts_with("mcp__") && tool.contains("memory-copilot") && tool.ends_with("__save")
}

fn tools(transcript: &str) -> Vec<String> {
    let mut tools = Vec::new();
    // The first line may be cut, and is then no JSON.
    for entry in transcript.lines().rev().filter_map(|line| serde_json::from_str(line).ok()) {
        if is_prompt(&entry) {
            break;
        }
        let blocks = entry["message"]["content"].as_array().into_iter().flatten();
        let calls = blocks.filter(|block| block["type"] == "tool_use");
        tools.extend(calls.filter_map(|call| call["name"].as_str().map(str::to_owned)));
    }
    tools
}

/// Whether an entry is a prompt of the user, and no result of a tool.
fn is_prompt(entry: &Value) -> bool {
    if entry["type"] != "user" || entry["isMeta"] == true {
        return false;
    }
    match &entry["message"]["content"] {
        Value::String(_) => true,
        Value::Array(blocks) => blocks.iter().all(|block| block["type"] != "tool_result"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_since_the_last_prompt_are_found() {
        let transcript = r#"cut":1}
{"type":"user","message":{"role":"user","content":"first"}}
{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Write","input":{}}]}}
{"type":"user","message":{"role":"user","content":[{"type":"text","text":"second"}]}}
{"type":"assistant","message":{"content":[{"type":"text"},{"type":"tool_use","name":"Read"}]}}
{"type":"user","message":{"role":"user","content":[{"type":"tool_result","content":"x"}]}}
{"type":"assistant","message":{"content":[{"type":"tool_use","name":"mcp__memory-copilot__save"}]}}
{"type":"system"}
"#;
        let found = tools(transcript);
        assert_eq!(found, ["mcp__memory-copilot__save", "Read"]);
        assert!(saves(&found[0]) && !saves(&found[1]) && !found.iter().any(|t| changes_files(t)));
        assert!(changes_files("Write") && !saves("mcp__other__save"));
    }
}
