//! Commands of workspaces.

use clap::Subcommand;
use mc_domain::WorkspaceId;

use super::{ConsentArg, PageArgs, ProjectArg};

/// Subcommands of `workspaces`.
#[derive(Debug, Subcommand)]
pub enum WorkspacesCommand {
    /// List your workspaces of the project, newest first.
    List {
        #[command(flatten)]
        project: ProjectArg,
        /// Those of all users of the project; for its maintainers.
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        page: PageArgs,
    },
    /// Delete a workspace with its files and all changes of them. A registered directory stays as
    /// it is.
    Delete {
        /// The workspace's id.
        id: WorkspaceId,
        #[command(flatten)]
        consent: ConsentArg,
    },
}
