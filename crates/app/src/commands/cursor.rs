//! `memory-copilot cursor install`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use mc_domain::ProjectKey;
use mc_mcp::cursor::{self, CursorEntry};

use crate::output::line;

/// Sets the project in `dir` up for Cursor.
pub fn install(dir: &Path, key: Option<String>, config_file: Option<&Path>) -> Result<()> {
    let dir = std::fs::canonicalize(dir)
        .with_context(|| format!("the folder {} can't be found", dir.display()))?;
    let key = match key {
        Some(key) => ProjectKey::parse(&key).with_context(|| format!("--key {key}"))?,
        None => key_of(&dir)?,
    };
    let report = cursor::install(&dir, &entry(&key, config_file)?)?;
    for (path, change) in report.files {
        line(&format!("{change}: {}", path.display()));
    }
    line(&format!(
        "Project key: {key}. Reload the MCP servers in Cursor's settings, then ask away."
    ));
    Ok(())
}

/// How Cursor starts this very program for a project.
pub fn entry(key: &ProjectKey, config_file: Option<&Path>) -> Result<CursorEntry> {
    let program = std::env::current_exe().context("this program's own path is unknown")?;
    let mut args = vec!["mcp".to_owned(), "--project".to_owned(), key.to_string()];
    if let Some(file) = config_file {
        let file = std::fs::canonicalize(file)
            .with_context(|| format!("{} can't be found", file.display()))?;
        args.extend(["--config".to_owned(), file.to_string_lossy().into_owned()]);
    }
    // Cursor starts the server with a bare environment; what leads to the data must travel along.
    let env = std::env::vars()
        .filter(|(name, _)| {
            name == "MEMORY_COPILOT__DATA_DIR" || name == "MEMORY_COPILOT__SERVER__LISTEN"
        })
        .collect();
    Ok(CursorEntry::Command { command: program.to_string_lossy().into_owned(), args, env })
}

/// The key that a folder suggests.
pub fn key_of(dir: &Path) -> Result<ProjectKey> {
    let name = dir.file_name().map(PathBuf::from).unwrap_or_default();
    let name: String = name
        .to_string_lossy()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' })
        .take(ProjectKey::MAX_LEN)
        .collect();
    let name = name.trim_start_matches(['.', '_', '-']);
    ProjectKey::parse(name)
        .with_context(|| format!("no project key can be made of {}; give --key", dir.display()))
}
