//! What an operator or a developer decides about the MCP server.

use std::str::FromStr;

use mc_domain::ProjectKey;

/// Settings that hold on every transport.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    /// The project of a call that names none (`--project`).
    pub default_project: Option<ProjectKey>,
    /// Which groups of tools are listed and answer.
    pub toolsets: Vec<Toolset>,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self { default_project: None, toolsets: Toolset::ALL.to_vec() }
    }
}

/// A group of tools that is switched on or off together, so that the list stays short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Toolset {
    /// What the team knows: `recall`, `save`, `search`, `link_issue`, `open_doc`, `feedback`,
    /// `forget`.
    Memory,
    /// The indexed repositories and documents: `search`, `search_code`, `open_doc`.
    Repo,
}

impl Toolset {
    /// Every toolset; all are on by default.
    pub const ALL: &'static [Self] = &[Self::Memory, Self::Repo];

    /// The name in the settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Repo => "repo",
        }
    }
}

/// A name that is no toolset.
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
