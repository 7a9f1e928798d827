//! Settings of the MCP server.

use std::str::FromStr;

use mc_domain::ProjectKey;

/// Settings for every transport.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    /// Project of calls without one (`--project`).
    pub default_project: Option<ProjectKey>,
    /// Enabled toolsets.
    pub toolsets: Vec<Toolset>,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self { default_project: None, toolsets: Toolset::ALL.to_vec() }
    }
}

/// Group of tools that is enabled or disabled together, to keep the list of tools short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Toolset {
    /// Team memory: recall and save, with search, links and feedback.
    Memory,
    /// Indexed repositories and documents: search and reading.
    Repo,
}

impl Toolset {
    /// All toolsets, which are enabled by default.
    pub const ALL: &'static [Self] = &[Self::Memory, Self::Repo];

    /// Returns the name in the settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Repo => "repo",
        }
    }
}

/// Error for the name of an unknown toolset.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown toolset \"{0}\"; use memory, repo, or both")]
pub struct UnknownToolset(String);

impl FromStr for Toolset {
    type Err = UnknownToolset;

    fn from_str(name: &str) -> Result<Self, UnknownToolset> {
        Self::ALL
            .iter()
            .copied()
            .find(|toolset| toolset.as_str() == name)
            .ok_or_else(|| UnknownToolset(name.chars().take(64).collect()))
    }
}
