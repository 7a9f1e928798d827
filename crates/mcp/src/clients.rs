//! Setup of a project for a client: the entry of the server, and rules or commands that make the
//! assistant recall before its work and save after it.
//!
//! The files are part of the project, so they hold no path of this machine and no secret. Existing
//! content and comments stay, and a changed file is backed up first. A file that cannot be edited
//! is not changed; the error has the text to paste.

mod edit;
mod files;

use std::path::{Path, PathBuf};

use mc_domain::ProjectKey;
use serde_json::{Value, json};

pub use files::{Change, Error};

/// Name of the server, and of the program that clients start.
pub const SERVER_NAME: &str = "memory-copilot";
/// Rules for the assistant, for clients that read rules from a file of their own.
const RULE: &str = include_str!("clients/rule.md");
const CURSOR_HEADER: &str =
    "---\ndescription: Team memory - recall before, save after\nalwaysApply: true\n---\n\n";
const VS_CODE_HEADER: &str =
    "---\ndescription: Team memory - recall before, save after\napplyTo: \"**\"\n---\n\n";
/// Time after which Claude Code ends a command, in seconds. The commands end before.
const COMMAND_TIMEOUT_SECONDS: u64 = 10;

/// A program in which people work with an assistant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    /// Claude Code.
    ClaudeCode,
    /// Cursor.
    Cursor,
    /// Visual Studio Code with GitHub Copilot.
    VsCode,
    /// Zed.
    Zed,
    /// Junie, the agent of the IDEs by the same vendor.
    JetBrains,
}

impl Client {
    /// Every client.
    pub const ALL: &'static [Self] =
        &[Self::ClaudeCode, Self::Cursor, Self::VsCode, Self::Zed, Self::JetBrains];

    /// Returns the name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Cursor => "cursor",
            Self::VsCode => "vscode",
            Self::Zed => "zed",
            Self::JetBrains => "jetbrains",
        }
    }

    /// Returns the client with this name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|client| client.as_str() == name)
    }

    /// Returns the next step for a person.
    pub fn next_step(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Start `claude` in the project and allow the server.",
            Self::Cursor => "Reload the MCP servers in the settings of Cursor.",
            Self::VsCode => "Run \"MCP: List Servers\" in VS Code and start the server.",
            Self::Zed => "Open the project in Zed and trust it.",
            Self::JetBrains => {
                "Junie reads the file. For AI Assistant, paste its content in Settings | Tools | \
                 AI Assistant | Model Context Protocol."
            }
        }
    }

    /// Returns the files of the client, relative to the project, with the edits of each.
    fn edits(self, server: &Server) -> Vec<(&'static str, Edit)> {
        let entry = |servers, value| Edit::Entry { servers, value };
        match self {
            Self::ClaudeCode => vec![
                (".mcp.json", entry("mcpServers", server.entry(Some("stdio")))),
                (".claude/settings.json", Edit::Commands(server.commands())),
            ],
            Self::Cursor => vec![
                (".cursor/mcp.json", entry("mcpServers", server.entry(None))),
                (".cursor/rules/memory-copilot.mdc", Edit::Text(format!("{CURSOR_HEADER}{RULE}"))),
            ],
            Self::VsCode => vec![
                (".vscode/mcp.json", entry("servers", server.entry(Some("stdio")))),
                (
                    ".github/instructions/memory-copilot.instructions.md",
                    Edit::Text(format!("{VS_CODE_HEADER}{RULE}")),
                ),
            ],
            Self::Zed => {
                vec![(".zed/settings.json", entry("context_servers", server.entry(None)))]
            }
            Self::JetBrains => {
                vec![(".junie/mcp/mcp.json", entry("mcpServers", server.entry(None)))]
            }
        }
    }
}

/// The server as a client starts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Project of all calls.
    pub project: ProjectKey,
    /// Environment variables that are the same on every machine, in order.
    pub env: Vec<(String, String)>,
}

impl Server {
    fn entry(&self, transport: Option<&str>) -> Value {
        let mut entry = json!({
            "command": SERVER_NAME,
            "args": ["mcp", "--project", self.project.as_str()],
        });
        if let Some(transport) = transport {
            entry["type"] = transport.into();
        }
        if !self.env.is_empty() {
            let pairs = self.env.iter().map(|(name, value)| (name.clone(), json!(value)));
            entry["env"] = Value::Object(pairs.collect());
        }
        entry
    }

    /// Returns the commands of Claude Code's events. A failure never stops the user: the shell
    /// ignores it, even if the program is missing or older.
    fn commands(&self) -> Vec<EventCommand> {
        let variable = |(name, value): &(String, String)| {
            format!("{name}='{}' ", value.replace('\'', r"'\''"))
        };
        let env: String = self.env.iter().map(variable).collect();
        let command = |event, name| EventCommand {
            event,
            mark: format!("{SERVER_NAME} hook {name} "),
            value: json!({
                "type": "command",
                "command": format!(
                    "{env}{SERVER_NAME} hook {name} --project {} || true", self.project
                ),
                "timeout": COMMAND_TIMEOUT_SECONDS,
            }),
        };
        vec![command("UserPromptSubmit", "prompt"), command("Stop", "stop")]
    }
}

/// A command that Claude Code runs at an event.
struct EventCommand {
    event: &'static str,
    /// Text by which an earlier version of the command is recognized.
    mark: String,
    value: Value,
}

/// The change of a file.
enum Edit {
    /// The entry of the server in an object of servers.
    Entry { servers: &'static str, value: Value },
    /// Commands in the settings of Claude Code.
    Commands(Vec<EventCommand>),
    /// The whole file.
    Text(String),
}

impl Edit {
    fn apply(&self, old: Option<&str>) -> Result<String, String> {
        match self {
            Self::Entry { servers, value } => edit::set_entry(old, servers, SERVER_NAME, value),
            Self::Commands(commands) => edit::set_commands(old, commands),
            Self::Text(text) => Ok(text.clone()),
        }
    }
}

/// A file and its change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// The file.
    pub path: PathBuf,
    /// Its content before; `None` if it does not exist.
    pub old: Option<String>,
    /// Its content after.
    pub new: String,
    /// What was done with it; `None` in a dry run.
    pub change: Option<Change>,
}

/// Writes the files of a client below `project_dir`. It is idempotent. With `dry_run`, nothing is
/// written.
pub fn install(
    project_dir: &Path,
    client: Client,
    server: &Server,
    dry_run: bool,
) -> Result<Vec<FileChange>, Error> {
    if !project_dir.is_dir() {
        return Err(Error::NoProject { path: project_dir.to_owned() });
    }
    // All files are read before one is written, so that an error leaves the project unchanged.
    let edits = client.edits(server).into_iter();
    let mut files = edits
        .map(|(path, edit)| {
            let path = project_dir.join(path);
            files::require_inside(project_dir, &path)?;
            let old = files::read(&path)?;
            match edit.apply(old.as_deref()) {
                Ok(new) => Ok(FileChange { path, old, new, change: None }),
                Err(why) => {
                    let snippet = edit.apply(None).unwrap_or_default();
                    Err(Error::NotMergeable { path, why, snippet })
                }
            }
        })
        .collect::<Result<Vec<_>, _>>()?;
    if !dry_run {
        for file in &mut files {
            file.change = Some(files::replace(&file.path, file.old.as_deref(), &file.new)?);
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests;
