//! `memory-copilot tool`: a call of a tool as a model makes it.

use anyhow::Result;
use mc_mcp::{MemoryServer, ServerSettings};

use crate::api_client::ApiClient;
use crate::cli::ToolCall;
use crate::output::{self, Format};

/// Calls the tool and prints what a model reads, or the structured content as JSON.
pub async fn run(call: ToolCall, remote: ApiClient, format: Format) -> Result<()> {
    let server = MemoryServer::new(remote.into_core(), ServerSettings::default());
    let result = server.call(call.tool, call.arguments).await?;
    match (format, result.structured_content) {
        (Format::Json, Some(content)) => output::line(&output::json(&content)),
        _ => {
            let texts = result.content.iter().filter_map(|block| Some(&block.as_text()?.text));
            texts.for_each(|text| output::line(text));
        }
    }
    Ok(())
}
