//! `memory-copilot mcp`: what an IDE starts.

use std::io::IsTerminal;
use std::process::exit;

use anyhow::{Context, Result};
use mc_domain::ProjectKey;
use mc_mcp::{ServerSettings, StdioSettings, Toolset};
use tokio_util::sync::CancellationToken;

use crate::cli::McpArgs;
use crate::config::Config;
use crate::{credentials, output};

/// Serves MCP on standard input and output until the client leaves or `shutdown`, and ends the
/// process: what reads a terminal or a socket is a thread that nothing can interrupt, and a
/// runtime that is dropped would wait for it until the client says another word.
pub async fn run(args: McpArgs, config: &Config, shutdown: CancellationToken) -> Result<()> {
    let default_project = args
        .project
        .map(|key| ProjectKey::parse(&key).with_context(|| format!("--project {key}")))
        .transpose()?;
    let toolsets =
        args.toolsets.iter().map(|name| name.parse()).collect::<Result<Vec<Toolset>, _>>()?;
    let settings = StdioSettings {
        server: ServerSettings { default_project, toolsets },
        core_url: config.base_url(),
        tokens: credentials::of(config)?,
        ca_pem: config.ca_pem()?,
    };
    if std::io::stdin().is_terminal() {
        hint();
    }
    // Each answer was flushed when it was sent, so nothing is lost by leaving at once.
    match mc_mcp::stdio(settings, shutdown).await {
        Ok(()) => exit(0),
        Err(error) => {
            crate::report_error(&error.into());
            exit(1)
        }
    }
}

/// For the person who types `memory-copilot mcp` to see what happens.
fn hint() {
    // Standard output belongs to the protocol.
    output::error_line(
        "This is an MCP server that waits for a client's messages; a client starts it by itself \
         (for Cursor: `memory-copilot cursor install`). Ctrl-C ends it.",
    );
}
