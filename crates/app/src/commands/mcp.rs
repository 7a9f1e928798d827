//! `memory-copilot mcp`: the MCP server that an IDE starts.

use std::io::IsTerminal;
use std::process::exit;

use anyhow::{Context, Result};
use mc_domain::ProjectKey;
use mc_mcp::{ServerSettings, StdioSettings, parse_toolsets};
use tokio_util::sync::CancellationToken;

use crate::cli::McpArgs;
use crate::config::Config;
use crate::{credentials, output};

/// Serves MCP on standard input and output until the client disconnects or `shutdown`, then exits
/// the process. A return would block: the runtime waits for the thread that reads standard input,
/// and that read can't be interrupted.
pub async fn run(args: McpArgs, config: &Config, shutdown: CancellationToken) -> Result<()> {
    let default_project = args
        .project
        .map(|key| ProjectKey::parse(&key).with_context(|| format!("--project {key}")))
        .transpose()?;
    let toolsets = parse_toolsets(&args.toolsets)?;
    let settings = StdioSettings {
        server: ServerSettings { default_project, toolsets },
        core_url: config.base_url(),
        tokens: credentials::token_source(config)?,
        ca_pem: config.ca_pem()?,
    };
    if std::io::stdin().is_terminal() {
        print_hint();
    }
    // Every response is flushed when it is sent, so `exit` loses nothing.
    match mc_mcp::stdio(settings, shutdown).await {
        Ok(()) => exit(0),
        Err(error) => {
            crate::report_error(&error.into());
            exit(1)
        }
    }
}

/// Explains the command to a person who runs it in a terminal.
fn print_hint() {
    // Standard output belongs to the protocol.
    output::error_line(
        "This is an MCP server that waits for messages of a client; the client starts it \
        (set up by `memory-copilot client install`). Press Ctrl-C to end it.",
    );
}
