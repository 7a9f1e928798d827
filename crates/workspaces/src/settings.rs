//! Settings of the workspaces of a node.

use std::path::PathBuf;
use std::time::Duration;

use mc_domain::{NodeId, WorkspaceId};
use mc_files::ProtectedDirectories;
use mc_git::AllowedPrivateHost;

/// Settings of the workspaces of a node.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The node.
    pub node: NodeId,
    /// Directory of the clones, private to the service. The user of git may pass through it.
    pub directory: PathBuf,
    /// Directories that are never read.
    pub protected: ProtectedDirectories,
    /// Hosts in private networks from which every user may fetch.
    pub allowed_private_hosts: Vec<AllowedPrivateHost>,
    /// Limits of one clone.
    pub limits: mc_git::Limits,
    /// Timeout of one fetch.
    pub fetch_timeout: Duration,
    /// Time after the last use at which a clone is deleted.
    pub ttl: Duration,
    /// Maximum number of clones of a user in a project.
    pub max_per_user: u32,
    /// Maximum size of all clones of a project, in bytes.
    pub max_project_bytes: u64,
    /// Time after the last call at which a navigation ends.
    pub max_idle: Duration,
    /// How commands run; `None` if none may.
    pub commands: Option<CommandSettings>,
}

/// How the commands of workspaces run.
#[derive(Debug, Clone)]
pub struct CommandSettings {
    /// The sandbox. The directory of the clones is one of its allowed roots.
    pub sandbox: mc_sandbox::Settings,
    /// Limits of a command.
    pub limits: mc_sandbox::Limits,
}

impl Settings {
    /// Returns the directory of a clone.
    pub fn directory_of(&self, id: WorkspaceId) -> PathBuf {
        self.directory.join(id.to_string())
    }
}

impl Default for Settings {
    /// The settings of a node without a data directory.
    fn default() -> Self {
        const DAY: Duration = Duration::from_hours(24);
        Self {
            node: NodeId(uuid::Uuid::nil()),
            directory: PathBuf::new(),
            protected: ProtectedDirectories::default(),
            allowed_private_hosts: Vec::new(),
            limits: mc_git::Limits::default(),
            fetch_timeout: Duration::from_mins(30),
            ttl: 7 * DAY,
            max_per_user: 20,
            max_project_bytes: 20 << 30,
            max_idle: Duration::from_hours(8),
            commands: None,
        }
    }
}
