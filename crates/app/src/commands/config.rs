//! `memory-copilot config show`.

use anyhow::Result;

use crate::config::Config;
use crate::output::{Format, line};

/// Prints the configuration in force.
pub fn show(config: &Config, format: Format) -> Result<()> {
    let yaml = config.masked_yaml()?;
    match format {
        Format::Text => line(yaml.trim_end()),
        Format::Json => {
            let value: serde_json::Value = serde_norway::from_str(&yaml)?;
            line(&format!("{value:#}"));
        }
    }
    Ok(())
}
