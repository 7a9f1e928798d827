//! Settings of the MCP server.

use mc_domain::ProjectKey;

pub use mc_domain::policy::Toolset;

/// Settings for every transport.
#[derive(Debug, Clone, Default)]
pub struct ServerSettings {
    /// Project of calls without one (`--project`).
    pub default_project: Option<ProjectKey>,
    /// The chosen toolsets; `None` for those of the policy of the client's project.
    pub toolsets: Option<Vec<Toolset>>,
}

/// Name of all toolsets together.
const ALL: &str = "all";

/// Error for the name of an unknown toolset.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown toolset \"{0}\"; use memory, repo, rag, github, coding, files, several of them, or all"
)]
pub struct UnknownToolset(String);

/// Returns the toolsets with these names, of which `all` stands for all; `None` without a name.
pub fn parse_toolsets(names: &[String]) -> Result<Option<Vec<Toolset>>, UnknownToolset> {
    let mut chosen = Vec::new();
    for name in names {
        if name == ALL {
            chosen.extend(Toolset::ALL);
        } else {
            let toolset = name.parse();
            chosen.push(toolset.map_err(|_| UnknownToolset(name.chars().take(64).collect()))?);
        }
    }
    Ok((!chosen.is_empty()).then_some(chosen))
}
