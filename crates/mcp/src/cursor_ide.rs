//! Setup of a project for Cursor: `.cursor/mcp.json`, and a rule that makes the assistant recall
//! before its work and save after it.
//!
//! Existing content is kept: other servers and unknown keys are preserved, and a changed file is
//! backed up first. A file that cannot be merged is not changed; the error has the text to paste.

mod files;
mod ordered;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

pub use files::{Change, Error};
use ordered::Members;

/// Name of the server in `mcp.json`.
pub const SERVER_NAME: &str = "memory-copilot";
/// Content of the rule file.
const RULE: &str = include_str!("cursor_ide/memory-copilot.mdc");

/// Entry by which Cursor connects to the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CursorEntry {
    /// Cursor starts the stdio server.
    Command {
        /// Program, preferably as an absolute path.
        command: String,
        /// Arguments of the program.
        args: Vec<String>,
        /// Environment variables, in order.
        env: Vec<(String, String)>,
    },
    /// Cursor calls a running service.
    Url {
        /// URL of `/mcp`.
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

/// Changes made by [`install`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Each file with its change.
    pub files: Vec<(PathBuf, Change)>,
}

/// Returns the text to add to `mcp.json` by hand.
pub fn snippet(entry: &CursorEntry) -> String {
    pretty(&json!({"mcpServers": {SERVER_NAME: entry.to_json()}}))
}

/// Writes both files below `project_dir`, and merges them with existing content. It is idempotent.
pub fn install(project_dir: &Path, entry: &CursorEntry) -> Result<Report, Error> {
    if !project_dir.is_dir() {
        return Err(Error::NoProject { path: project_dir.to_owned() });
    }
    let directory = project_dir.join(".cursor");
    let config = directory.join("mcp.json");
    let rule = directory.join("rules").join("memory-copilot.mdc");
    // Both files are read before one is written, so that an error leaves the project unchanged.
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
    let not_mergeable = |why: &str| Error::NotMergeable {
        path: path.to_owned(),
        why: why.to_owned(),
        snippet: snippet(entry),
    };
    let text = old.as_deref().unwrap_or_default().trim_start_matches('\u{feff}').trim();
    let mut root = Members::parse(if text.is_empty() { "{}" } else { text })
        .map_err(|error| not_mergeable(&error.to_string()))?;
    let mut servers = Members::parse(root.get("mcpServers").unwrap_or("{}"))
        .map_err(|error| not_mergeable(&format!("mcpServers: {error}")))?;
    let ours = entry.to_json();
    let existing =
        servers.get(SERVER_NAME).and_then(|entry| serde_json::from_str::<Value>(entry).ok());
    if existing.as_ref() == Some(&ours) {
        // Equal except for formatting: the file is not changed.
        let new = old.clone().unwrap_or_default();
        return Ok(Merged { old, new });
    }
    servers.set(SERVER_NAME, indented(&ours, 2));
    root.set("mcpServers", servers.to_text(1));
    Ok(Merged { old, new: format!("{}\n", root.to_text(0)) })
}

/// Formats `value` for a nesting of `depth` levels with an indent of two spaces.
fn indented(value: &Value, depth: usize) -> String {
    format!("{value:#}").replace('\n', &format!("\n{}", "  ".repeat(depth)))
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

#[cfg(test)]
mod tests;
