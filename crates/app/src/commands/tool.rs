//! `memory-copilot tool`: a call of a tool as a model makes it.

use anyhow::{Result, anyhow};
use mc_mcp::{CallError, MemoryServer, ServerSettings};

use crate::api_client::ApiClient;
use crate::cli::{ToolCall, option_name};
use crate::output::{self, Format};
use crate::terminal;

/// Calls the tool and prints the text that a model reads, or the structured content as JSON.
pub async fn run(call: ToolCall, remote: ApiClient, format: Format) -> Result<()> {
    let server = MemoryServer::new(remote.into_core(), ServerSettings::default());
    let result = server.call(call.tool, call.arguments).await.map_err(for_people)?;
    if let (Format::Json, Some(content)) = (format, result.structured_content) {
        output::line(&output::json(&content));
    } else {
        let texts = result.content.iter().filter_map(|block| Some(&block.as_text()?.text));
        texts.for_each(|text| output::line(text));
    }
    Ok(())
}

/// Replaces the name of the argument by that of the option, and omits advice to a model.
pub fn for_people(error: CallError) -> anyhow::Error {
    match error {
        CallError::Argument(error) => {
            anyhow!("--{}: {}", option_name(&error.field), terminal::line(error.rule))
        }
        CallError::Unavailable(error) => error.into(),
        other => anyhow!(terminal::failure(&other.message(), other.suggestions())),
    }
}
