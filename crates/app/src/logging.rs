//! The log, on standard error: standard output belongs to results and to MCP.
//!
//! Every event passes through [`Masked`] before it is written, with its fields, its spans and the
//! causes of its errors.

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

/// Directives for libraries that log too much at `info`: rmcp logs the parameters of every client,
/// and sqlx logs a notice for each object that a migration finds in the database already.
const QUIET_LIBRARIES: &str = "rmcp=warn,sqlx::postgres::notice=warn";

/// Directive for the library of chat models, which logs texts of prompts and answers.
const SILENT_LIBRARY: &str = "genai=off";

/// Starts the log as configured.
pub fn init(log: &Log) -> Result<()> {
    let filter = EnvFilter::try_new(directives(&log.level))
        .with_context(|| format!("log.level \"{}\" is not a level or filter", log.level))?;
    let is_terminal = std::io::stderr().is_terminal();
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        // The writer adds the colours: any escape sequence in an event comes from its text.
        .with_ansi(false)
        .with_writer(Masked::new(std::io::stderr, log.format, is_terminal));
    match log.format {
        LogFormat::Text => builder.with_target(false).init(),
        LogFormat::Json => builder.json().init(),
    }
    Ok(())
}

/// Returns `level` with [`QUIET_LIBRARIES`] at `warn`, unless `level` names them or is above
/// `warn`, and with [`SILENT_LIBRARY`] off.
fn directives(level: &str) -> String {
    match level.trim().parse::<LevelFilter>() {
        Ok(plain) if plain < LevelFilter::WARN => format!("{level},{SILENT_LIBRARY}"),
        _ => format!("{QUIET_LIBRARIES},{level},{SILENT_LIBRARY}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noisy_libraries_log_at_warn_unless_named() {
        let filter = |level| EnvFilter::new(directives(level)).to_string();
        assert!(filter("info").contains("rmcp=warn"));
        let named = filter("info,rmcp=debug");
        assert!(named.contains("rmcp=debug") && !named.contains("rmcp=warn"), "{named}");
        assert_eq!(filter("error"), "genai=off,error");
        assert!(filter("trace,genai=trace").contains("genai=off"));
    }
}
