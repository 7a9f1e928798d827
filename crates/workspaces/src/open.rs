//! Opening the files of a workspace on its node.

use mc_accounts::Principal;
use mc_domain::{WorkspaceId, WorkspaceState};
use mc_files::Root;
use mc_git::WorkTree;
use mc_memory::ProjectContext;
use mc_sanitizer::{Policy, Sanitizer};
use mc_store::workspaces::{self, Workspace};
use mc_store::{nodes, policies};
use tokio_util::sync::CancellationToken;

use crate::{ServiceError, Settings, tools};

/// A workspace whose files are on this node.
#[derive(Debug)]
pub struct OpenWorkspace {
    /// Its row.
    pub workspace: Workspace,
    /// Its tree and repository.
    pub work_tree: WorkTree,
    /// Finds secrets and personal data in its files.
    pub sanitizer: Sanitizer,
    /// Decides which of them are masked.
    pub policy: Policy,
}

impl OpenWorkspace {
    /// Returns the workspace for tools. `root` is that of its tree.
    pub fn for_tools<'a>(&'a self, root: &'a Root) -> tools::Workspace<'a> {
        tools::Workspace {
            work_tree: &self.work_tree,
            root,
            sanitizer: &self.sanitizer,
            policy: &self.policy,
            is_editable: self.workspace.is_editable,
        }
    }
}

/// Opens a workspace of the caller, and notes that it is used.
pub async fn open(
    ctx: &ProjectContext,
    principal: &Principal,
    settings: &Settings,
    id: WorkspaceId,
) -> Result<OpenWorkspace, ServiceError> {
    let found = workspaces::find(&ctx.store, id).await?;
    let workspace = found.ok_or(ServiceError::UnknownWorkspace(id))?;
    if workspace.owner != principal.user {
        return Err(ServiceError::OtherOwner);
    }
    // The right to register a directory may have been withdrawn since.
    if workspace.folder.is_some() && !principal.has_local_access() {
        return Err(ServiceError::FolderAccess);
    }
    if workspace.state != WorkspaceState::Ready {
        let reason = workspace.last_error.as_ref().and_then(|error| error["message"].as_str());
        return Err(ServiceError::NotReady(workspace.state, reason.map(str::to_owned)));
    }
    if workspace.node != Some(settings.node) {
        return Err(other_node(ctx, &workspace).await?);
    }
    let work_tree = match &workspace.folder {
        None => WorkTree::of_clone(&settings.directory_of(id))?,
        Some(folder) => {
            let cancel = CancellationToken::new();
            WorkTree::in_place(folder.as_ref(), &settings.protected, &cancel).await?
        }
    };
    workspaces::mark_used(&ctx.store, id, settings.ttl).await?;
    // Anyone who can write to the repository may use comments that allow a finding.
    let policy = policies::sanitizing(&ctx.project.policy).with_comments(true);
    Ok(OpenWorkspace { workspace, work_tree, sanitizer: Sanitizer::default(), policy })
}

/// Returns why the files of a workspace of another node can't be used here. Requests for a node
/// that lives reach it before they are answered here.
async fn other_node(
    ctx: &ProjectContext,
    workspace: &Workspace,
) -> Result<ServiceError, ServiceError> {
    let message = match nodes::of_workspace(&ctx.store, workspace.id).await? {
        Some(node) if node.is_alive && node.url.is_empty() => format!(
            "the files are on the node {}, which other nodes can't reach; send the request to that \
             node, or set its server.node_url",
            node.name
        ),
        Some(node) if node.is_alive => {
            format!("the files are on the node {}, which did not answer; try again", node.name)
        }
        Some(node) => format!(
            "the files are on the node {}, which has not been seen since {}; start it, or fetch \
             the repository again, which loses the changes of this workspace",
            node.name,
            node.seen_at.format("%Y-%m-%d %H:%M:%S UTC")
        ),
        None => "the files are on a node that was not seen for a month; fetch the repository again"
            .to_owned(),
    };
    Ok(ServiceError::OtherNode(message))
}
