//! `memory-copilot client install`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use mc_domain::ProjectKey;
use mc_mcp::clients::{self, Client, FileChange, SERVER_NAME, Server};
use serde_json::{Value, json};
use similar::TextDiff;
use url::Url;

use crate::cli::ClientCommand;
use crate::config::Config;
use crate::output::{Format, list, one_line, text};

/// The variable whose value is the same on every machine, if it names another one.
const URL_VARIABLE: &str = "MEMORY_COPILOT__CLIENT__URL";

/// Configures a client for the project in a directory.
pub fn run(command: ClientCommand, config: &Config, format: Format) -> Result<()> {
    let ClientCommand::Install { client, dir, project, dry_run } = command;
    let dir = std::fs::canonicalize(&dir)
        .with_context(|| format!("the directory {} can't be found", dir.display()))?;
    let project = match project {
        Some(key) => ProjectKey::parse(&key).with_context(|| format!("--project {key}"))?,
        None => key_from_name(&dir)?,
    };
    let is_shared = is_url_shared(&config.client.url)?;
    let (env, local): (Vec<_>, Vec<_>) = config
        .client_environment()
        .into_iter()
        .partition(|(name, _)| is_shared && name == URL_VARIABLE);
    let server = Server { project, env };
    let files = clients::install(&dir, client, &server, dry_run)?;
    let report = json!({
        "project_key": server.project.as_str(),
        "client": client.as_str(),
        "dry_run": dry_run,
        "files": files.iter().map(|file| file_json(file, &dir)).collect::<Vec<_>>(),
        "notes": notes(client, &local),
    });
    format.print(&report, readable);
    Ok(())
}

/// Whether the configured URL of the service is written into files of the project: not one of this
/// machine, nor one with a password.
fn is_url_shared(url: &str) -> Result<bool> {
    let Ok(url) = url.parse::<Url>() else { return Ok(false) };
    ensure!(
        url.username().is_empty() && url.password().is_none(),
        "client.url has a user or a password, which the files of a project must not have; remove \
         them from the URL"
    );
    Ok(!mc_domain::is_loopback(&url))
}

fn file_json(file: &FileChange, dir: &Path) -> Value {
    let path = file.path.strip_prefix(dir).unwrap_or(&file.path);
    let change = match (&file.change, &file.old) {
        (Some(change), _) => change.to_string(),
        (None, None) => "would be created".to_owned(),
        (None, Some(old)) if *old == file.new => "unchanged".to_owned(),
        (None, Some(_)) => "would be updated".to_owned(),
    };
    let mut json = json!({ "path": path, "change": change });
    if file.change.is_none() {
        json["diff"] = diff(file, path).into();
    }
    json
}

fn diff(file: &FileChange, path: &Path) -> String {
    let (old, path) = (file.old.as_deref().unwrap_or_default(), path.display().to_string());
    TextDiff::from_lines(old, &file.new).unified_diff().header(&path, &path).to_string()
}

/// Returns what the user has to do: the files have nothing of this machine.
fn notes(client: Client, local: &[(String, String)]) -> Vec<String> {
    let mut notes = vec![client.next_step().to_owned()];
    if !is_in_path() {
        notes.push(format!(
            "{SERVER_NAME} is not in your PATH: run `make install`, and add its directory to the \
             PATH of the client."
        ));
    }
    if !local.is_empty() {
        let names: Vec<_> = local.iter().map(|(name, value)| format!("{name}={value}")).collect();
        notes.push(format!(
            "The service is found with settings of this machine, which are not written. Set them \
             where the client starts: {}",
            names.join(" ")
        ));
    }
    notes
}

fn is_in_path() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(SERVER_NAME).is_file())
}

fn readable(report: &Value) -> String {
    let files = list(report, "files").iter().map(|file| {
        format!("{}: {}\n{}", text(file, "change"), one_line(file, "path"), text(file, "diff"))
    });
    let notes = list(report, "notes").iter().filter_map(Value::as_str);
    let notes: Vec<_> = notes.collect();
    format!(
        "{}Project key: {}. {}",
        files.collect::<String>(),
        text(report, "project_key"),
        notes.join("\n")
    )
}

/// Derives a project key from the name of a directory.
fn key_from_name(dir: &Path) -> Result<ProjectKey> {
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
