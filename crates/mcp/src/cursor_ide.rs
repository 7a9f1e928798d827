//! Sets a project up for Cursor: `.cursor/mcp.json` and a rule that makes the assistant recall
//! before and save after. Pure file logic; nothing here speaks MCP.
//!
//! What is there belongs to the team: other servers and unknown keys are kept, a file that can't be
//! merged is left alone and its owner told what to paste, and a file with foreign content is backed
//! up before its first change.

mod files;
mod ordered;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

pub use files::{Change, Error};
use ordered::Members;

/// The server's name in `mcp.json`.
pub const SERVER_NAME: &str = "memory-copilot";
/// The rule file; the whole of it is ours.
const RULE: &str = include_str!("cursor_ide/memory-copilot.mdc");

/// How Cursor reaches the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CursorEntry {
    /// Cursor starts the stdio server.
    Command {
        /// The program, best as an absolute path.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Environment variables, in order.
        env: Vec<(String, String)>,
    },
    /// Cursor calls a running service.
    Url {
        /// The address of `/mcp`.
        url: String,
        /// HTTP headers. `${env:NAME}` keeps a token out of the file.
        headers: Vec<(String, String)>,
    },
}

impl CursorEntry {
    fn to_json(&self) -> Value {
        let (mut entry, extra, pairs) = match self {
            Self::Command { command, args, env } => {
                (json!({"command": command, "args": args}), "env", env)
            }
            Self::Url { url, headers } => (json!({"url": url}), "headers", headers),
        };
        if !pairs.is_empty() {
            let pairs = pairs.iter().map(|(name, value)| (name.clone(), json!(value)));
            entry[extra] = Value::Object(pairs.collect());
        }
        entry
    }
}

/// What [`install`] did, file by file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Each file and what happened to it.
    pub files: Vec<(PathBuf, Change)>,
}

/// What to paste into `mcp.json` by hand.
pub fn snippet(entry: &CursorEntry) -> String {
    pretty(&json!({"mcpServers": {SERVER_NAME: entry.to_json()}}))
}

/// Writes both files below `project_dir`, merging with what is there. Running it again changes
/// nothing.
pub fn install(project_dir: &Path, entry: &CursorEntry) -> Result<Report, Error> {
    if !project_dir.is_dir() {
        return Err(Error::NoProject { path: project_dir.to_owned() });
    }
    let folder = project_dir.join(".cursor");
    let config = folder.join("mcp.json");
    let rule = folder.join("rules").join("memory-copilot.mdc");
    // Both are read before either is written: a refusal leaves the project as it was.
    let merged = merge(&config, files::read(&config)?, entry)?;
    let old_rule = files::read(&rule)?;
    Ok(Report {
        files: vec![
            (config.clone(), files::replace(&config, merged.old.as_deref(), &merged.new)?),
            (rule.clone(), files::replace(&rule, old_rule.as_deref(), RULE)?),
        ],
    })
}

struct Merged {
    old: Option<String>,
    new: String,
}

fn merge(path: &Path, old: Option<String>, entry: &CursorEntry) -> Result<Merged, Error> {
    let refuse = |why: &str| Error::NotMergeable {
        path: path.to_owned(),
        why: why.to_owned(),
        snippet: snippet(entry),
    };
    let text = old.as_deref().unwrap_or_default().trim_start_matches('\u{feff}').trim();
    let mut root = Members::parse(if text.is_empty() { "{}" } else { text })
        .map_err(|error| refuse(&error.to_string()))?;
    let mut servers = Members::parse(root.get("mcpServers").unwrap_or("{}"))
        .map_err(|error| refuse(&format!("mcpServers: {error}")))?;
    let ours = entry.to_json();
    let held = servers.get(SERVER_NAME).and_then(|held| serde_json::from_str::<Value>(held).ok());
    if held.as_ref() == Some(&ours) {
        // Already there, whatever the layout of the file: leave its bytes alone.
        let new = old.clone().unwrap_or_default();
        return Ok(Merged { old, new });
    }
    servers.set(SERVER_NAME, indented(&ours, 2));
    root.set("mcpServers", servers.to_text(1));
    Ok(Merged { old, new: format!("{}\n", root.to_text(0)) })
}

/// `value` as it stands at `depth` levels inside a file that indents by two spaces.
fn indented(value: &Value, depth: usize) -> String {
    format!("{value:#}").replace('\n', &format!("\n{}", "  ".repeat(depth)))
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

#[cfg(test)]
mod tests;
