//! `memory-copilot cursor install`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use mc_domain::ProjectKey;
use mc_mcp::cursor_ide::{self, CursorEntry};

use serde_json::{Value, json};

use crate::config::Config;
use crate::output::{Format, text};

/// Configures Cursor for the project in `dir`.
pub fn install(dir: &Path, key: Option<String>, config: &Config, format: Format) -> Result<()> {
    let dir = std::fs::canonicalize(dir)
        .with_context(|| format!("the directory {} can't be found", dir.display()))?;
    let key = match key {
        Some(key) => ProjectKey::parse(&key).with_context(|| format!("--project {key}"))?,
        None => key_from_name(&dir)?,
    };
    let report = cursor_ide::install(&dir, &entry(&key, config)?)?;
    let files: Vec<_> = report
        .files
        .iter()
        .map(|(path, change)| json!({ "path": path, "change": change.to_string() }))
        .collect();
    format.print(&json!({ "project_key": key.as_str(), "files": files }), readable);
    Ok(())
}

fn readable(result: &Value) -> String {
    let files = result["files"].as_array().into_iter().flatten();
    let lines = files.map(|file| format!("{}: {}\n", text(file, "change"), text(file, "path")));
    format!(
        "{}Project key: {}. Reload the MCP servers in the settings of Cursor.",
        lines.collect::<String>(),
        text(result, "project_key")
    )
}

/// Returns the entry with which Cursor starts this program for a project.
pub fn entry(key: &ProjectKey, config: &Config) -> Result<CursorEntry> {
    let program = std::env::current_exe().context("the path of this program is unknown")?;
    let args = vec!["mcp".to_owned(), "--project".to_owned(), key.to_string()];
    let command = program.to_string_lossy().into_owned();
    Ok(CursorEntry::Command { command, args, env: config.client_environment() })
}

/// Derives a project key from the name of a directory.
pub fn key_from_name(dir: &Path) -> Result<ProjectKey> {
    let name = dir.file_name().map(PathBuf::from).unwrap_or_default();
    let name: String = name
        .to_string_lossy()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' })
        .take(ProjectKey::MAX_LEN)
        .collect();
    let name = name.trim_start_matches(['.', '_', '-']);
    ProjectKey::parse(name).with_context(|| {
        format!("no project key can be derived from {}; set --project", dir.display())
    })
}
