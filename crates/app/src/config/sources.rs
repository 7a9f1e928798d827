//! Configuration files and default directories.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use figment::providers::Serialized;
use figment::value::{Dict, Map};
use figment::{Metadata, Profile};
use mc_privileges::is_root;

/// A configuration file, named in the errors about its content.
pub(super) struct YamlFile {
    path: PathBuf,
    content: serde_norway::Value,
}

impl YamlFile {
    pub(super) fn read(path: PathBuf) -> Result<Self> {
        let content = read_yaml(&path)?;
        Ok(Self { path, content })
    }
}

impl figment::Provider for YamlFile {
    fn metadata(&self) -> Metadata {
        Metadata::from("the configuration file", self.path.as_path())
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        Serialized::defaults(&self.content).data()
    }
}

pub(super) fn usual_files() -> Vec<PathBuf> {
    let mut files = vec![PathBuf::from("config/memory-copilot.local.yaml")];
    files.extend(default_data_dir().ok().map(|dir| dir.join("memory-copilot.yaml")));
    files
}

fn read_yaml(path: &Path) -> Result<serde_norway::Value> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("the configuration file {} can't be read", path.display()))?;
    let value: serde_norway::Value = serde_norway::from_str(&text)
        .with_context(|| format!("the configuration file {} is not YAML", path.display()))?;
    match value {
        serde_norway::Value::Null => Ok(serde_norway::Value::Mapping(serde_norway::Mapping::new())),
        serde_norway::Value::Mapping(_) => Ok(value),
        _ => bail!("the configuration file {} is not a mapping of sections", path.display()),
    }
}

pub(super) fn default_config_dir() -> Result<PathBuf> {
    under_home("XDG_CONFIG_HOME", ".config")
}

pub(super) fn default_cache_dir() -> Result<PathBuf> {
    if let Some(dir) = std::env::var_os("MEMORY_COPILOT_CACHE").filter(|dir| !dir.is_empty()) {
        return Ok(dir.into());
    }
    under_home("XDG_CACHE_HOME", ".cache")
}

/// Returns the data directory in an environment that has only `HOME`.
pub(super) fn bare_data_dir() -> Result<PathBuf> {
    if is_root() {
        return default_data_dir();
    }
    let home = std::env::var_os("HOME").context("HOME is not set; set data_dir")?;
    Ok(PathBuf::from(home).join(".local/share/memory-copilot"))
}

pub(super) fn default_data_dir() -> Result<PathBuf> {
    // PostgreSQL refuses root, and the user it runs as must reach its data: not below root's home.
    if is_root() {
        return Ok("/var/lib/memory-copilot".into());
    }
    under_home("XDG_DATA_HOME", ".local/share")
}

fn under_home(variable: &str, otherwise: &str) -> Result<PathBuf> {
    let absolute = std::env::var_os(variable).map(PathBuf::from).filter(|dir| dir.is_absolute());
    if let Some(dir) = absolute {
        return Ok(dir.join("memory-copilot"));
    }
    let home = std::env::var_os("HOME").context("HOME is not set; set data_dir and cache_dir")?;
    Ok(PathBuf::from(home).join(otherwise).join("memory-copilot"))
}
