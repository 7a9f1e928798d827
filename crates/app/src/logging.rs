//! Log lines, on standard error: standard output belongs to results and to MCP.
//!
//! Whatever is logged, with its fields, its spans and the causes of its errors, leaves through
//! [`Masked`], which sees each event as it is about to be written.

mod line;
mod panics;
mod writer;

use std::io::IsTerminal;

use anyhow::{Context, Result};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use crate::config::{Log, LogFormat};

pub use line::plain;
pub use panics::log_panics;
use writer::Masked;

/// Parts that tell at `info` what only their authors want to know: rmcp every client's parameters,
/// `PostgreSQL` that what a migration makes is there already.
const CHATTY: &str = "rmcp=warn,sqlx::postgres::notice=warn";

/// Starts logging as configured.
pub fn init(log: &Log) -> Result<()> {
    let filter = EnvFilter::try_new(directives(&log.level))
        .with_context(|| format!("log.level \"{}\" is not a level or filter", log.level))?;
    let is_terminal = std::io::stderr().is_terminal();
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        // The writer paints: escapes that are in an event by then are none of ours.
        .with_ansi(false)
        .with_writer(Masked::new(std::io::stderr, log.format, is_terminal));
    match log.format {
        LogFormat::Text => builder.with_target(false).init(),
        LogFormat::Json => builder.json().init(),
    }
    Ok(())
}

/// `level`, with the chatty parts at `warn` unless it names them or is quieter itself.
fn directives(level: &str) -> String {
    match level.trim().parse::<LevelFilter>() {
        Ok(plain) if plain < LevelFilter::WARN => level.to_owned(),
        _ => format!("{CHATTY},{level}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chatty_parts_stay_at_warn_unless_they_are_named() {
        let filter = |level| EnvFilter::new(directives(level)).to_string();
        assert!(filter("info").contains("rmcp=warn"));
        let named = filter("info,rmcp=debug");
        assert!(named.contains("rmcp=debug") && !named.contains("rmcp=warn"), "{named}");
        assert_eq!(filter("error"), "error");
    }
}
