//! `memory-copilot mcp`: what an IDE starts.

use anyhow::{Context, Result};
use mc_domain::ProjectKey;
use mc_mcp::{ServerSettings, StdioSettings, Toolset};
use tokio_util::sync::CancellationToken;

use crate::cli::McpArgs;
use crate::config::Config;

/// Serves MCP on standard input and output until the client leaves.
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
        token_file: config.token_file(),
    };
    Ok(mc_mcp::stdio(settings, shutdown).await?)
}
