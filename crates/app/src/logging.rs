//! Log lines, on standard error: standard output belongs to results and to MCP.

use anyhow::{Context, Result};
use tracing_subscriber::EnvFilter;

use crate::config::{Log, LogFormat};

/// Starts logging as configured.
pub fn init(log: &Log) -> Result<()> {
    let filter = EnvFilter::try_new(&log.level)
        .with_context(|| format!("log.level \"{}\" is not a level or filter", log.level))?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match log.format {
        LogFormat::Text => builder.with_target(false).init(),
        LogFormat::Json => builder.json().init(),
    }
    Ok(())
}
