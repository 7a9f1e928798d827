//! Settings of the MCP server.

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
        Self { default_project: None, toolsets: Toolset::DEFAULT.to_vec() }
    }
}

/// Group of tools that is enabled or disabled together, to keep the list of tools short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Toolset {
    /// Team memory: recall and save, with search, links and feedback.
    Memory,
    /// Indexed repositories and documents: search and reading.
    Repo,
    /// Questions to indexed repositories, with the options of a query pipeline.
    Rag,
    /// Navigation and editing of workspaces, in two phases.
    Files,
}

impl Toolset {
    /// All toolsets.
    pub const ALL: &'static [Self] = &[Self::Memory, Self::Repo, Self::Rag, Self::Files];
    /// Toolsets that are enabled by default.
    pub const DEFAULT: &'static [Self] = &[Self::Memory, Self::Repo];
    /// Name of all toolsets together.
    const ALL_NAME: &'static str = "all";

    /// Returns the name in the settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Repo => "repo",
            Self::Rag => "rag",
            Self::Files => "files",
        }
    }
}

/// Error for the name of an unknown toolset.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown toolset \"{0}\"; use memory, repo, rag, files, several of them, or all")]
pub struct UnknownToolset(String);

impl Toolset {
    /// Returns the toolsets with these names; `all` is all of them.
    pub fn parse(names: &[String]) -> Result<Vec<Self>, UnknownToolset> {
        let mut enabled = Vec::new();
        for name in names {
            let is_named = |set: &Self| name == Self::ALL_NAME || name == set.as_str();
            let before = enabled.len();
            enabled.extend(Self::ALL.iter().copied().filter(is_named));
            if enabled.len() == before {
                return Err(UnknownToolset(name.chars().take(64).collect()));
            }
        }
        Ok(enabled)
    }
}
