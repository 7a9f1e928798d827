//! `memory-copilot config show`.

use anyhow::Result;

use crate::config::Config;
use crate::output::{self, Format, line};

/// Prints the effective configuration and the path of the token file. The path is derived from
/// `data_dir`, so the YAML has it as a comment and stays a valid configuration file.
pub fn show(config: &Config, format: Format) -> Result<()> {
    let yaml = config.masked_yaml()?;
    let token_file = config.token_file();
    match format {
        Format::Text => {
            line(yaml.trim_end());
            line(&format!("# token_file: {}", token_file.display()));
        }
        Format::Json => {
            let mut value: serde_json::Value = serde_norway::from_str(&yaml)?;
            value["token_file"] = token_file.to_string_lossy().into();
            line(&output::json(&value));
        }
    }
    Ok(())
}
