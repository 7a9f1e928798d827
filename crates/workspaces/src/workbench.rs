//! The tools of workspaces on a node: calls by the handle of a navigation (seed 003).
//!
//! The current directory and the phase are in the database. What can't be stored stays in memory:
//! the edits that can be undone, and running commands. After a restart, edits of before can't be
//! undone here, and running commands are lost.

mod command;
mod exclusion;
mod histories;

use std::io;
use std::sync::Arc;

use mc_accounts::Principal;
use mc_contract::number::WaitSeconds;
use mc_contract::operations::workspace_tools::{
    BashRequest, Command, EditRequest, GitRequest, JsonEditRequest, NavigatorRequest, ToolResponse,
};
use mc_domain::{CommandId, NavigationId, WorkspaceId, WorkspaceKind, WorkspaceState};
use mc_git::Identity;
use mc_memory::ProjectContext;
use mc_memory::content_filter::run_blocking;
use mc_sandbox::{Limits, Sandbox};
use mc_store::navigations::{self, StoredNavigation};
use mc_store::workspaces::{self, Workspace as StoredWorkspace};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::navigation::Navigation;
use crate::open::{OpenWorkspace, open};
use crate::tools::{self, EditHistory};
use crate::{Error, ServiceError, Settings, fetch, requests};
use command::RunningCommands;
use exclusion::Exclusion;
use histories::Histories;

pub use exclusion::Permit;

/// The workspaces of a node at work.
#[derive(Debug, Default)]
pub struct Workbench {
    /// Settings of the node.
    pub settings: Arc<Settings>,
    sandbox: OnceCell<Arc<Sandbox>>,
    exclusion: Exclusion,
    histories: Histories,
    commands: RunningCommands,
}

/// A navigation of the caller, with its workspace open.
struct Session {
    stored: StoredNavigation,
    navigation: Navigation,
    open: Arc<OpenWorkspace>,
    history: Arc<std::sync::Mutex<EditHistory>>,
}

impl Workbench {
    /// Creates the workbench of a node.
    pub fn new(settings: Settings) -> Self {
        Self { settings: Arc::new(settings), ..Self::default() }
    }

    /// Starts a navigation of the caller at the root of a workspace, in discovery.
    pub async fn start(
        &self,
        ctx: &ProjectContext,
        principal: &Principal,
        workspace: WorkspaceId,
    ) -> Result<ToolResponse, ServiceError> {
        // The workspace must be the caller's, and ready.
        open(ctx, principal, &self.settings, workspace).await?;
        // Random: an id that contains the time could be guessed.
        let id = NavigationId(uuid::Uuid::new_v4());
        let (project, user) = (ctx.project.id, principal.user);
        let mut tx = ctx.store.begin().await?;
        navigations::create(&mut tx, project, workspace, user, id).await?;
        tx.commit().await?;
        let response = tools::started(&Navigation::default());
        Ok(ToolResponse { handle: Some(id), ..response })
    }

    /// Ends a navigation of the caller, with its commands.
    pub async fn end(&self, ctx: &ProjectContext, id: NavigationId) -> Result<(), ServiceError> {
        let mut tx = ctx.store.begin().await?;
        if !navigations::delete(&mut tx, id).await? {
            return Err(ServiceError::UnknownNavigation(id));
        }
        tx.commit().await?;
        self.histories.remove(id);
        self.commands.cancel_of_navigation(id);
        Ok(())
    }

    /// Deletes a workspace, and ends its commands. The files of a clone on this node are deleted,
    /// too; those on another node are deleted by its collector. A registered directory stays as it
    /// is.
    pub async fn delete(&self, ctx: &ProjectContext, id: WorkspaceId) -> Result<(), ServiceError> {
        let deleted = requests::delete(ctx, id, WorkspaceState::ALL).await?;
        self.delete_files(&deleted.ok_or(ServiceError::UnknownWorkspace(id))?).await;
        Ok(())
    }

    async fn delete_files(&self, workspace: &StoredWorkspace) {
        let is_here = workspace.node == Some(self.settings.node);
        if workspace.kind != WorkspaceKind::Clone || !is_here {
            return;
        }
        let id = workspace.id;
        if let Err(error) = self.delete_directory(id).await {
            tracing::warn!(workspace.id = %id, %error, "a directory is left to the collector");
        }
    }

    /// Ends the commands of a workspace without a row, and deletes its directory. No call can start
    /// in it, since each reads the row first.
    pub(crate) async fn delete_directory(&self, id: WorkspaceId) -> io::Result<()> {
        self.commands.cancel_of_workspace(id);
        let Ok(_permit) = self.exclusion.enter(&id.to_string()).await else {
            return Err(io::ErrorKind::ResourceBusy.into());
        };
        let directory = self.settings.directory_of(id);
        run_blocking(move || fetch::delete_directory(&directory)).await
    }

    /// Deletes a workspace that is not fetched yet; another one stays as it is.
    pub async fn cancel_fetch(
        &self,
        ctx: &ProjectContext,
        id: WorkspaceId,
    ) -> Result<(), ServiceError> {
        if let Some(deleted) = requests::delete(ctx, id, WorkspaceState::UNFETCHED).await? {
            self.delete_files(&deleted).await;
        }
        Ok(())
    }

    /// Runs a subcommand of `navigator`.
    pub async fn navigator(
        &self,
        ctx: &ProjectContext,
        principal: &Principal,
        id: NavigationId,
        request: NavigatorRequest,
    ) -> Result<ToolResponse, ServiceError> {
        let session = self.session(ctx, principal, id).await?;
        let call = move |session: &mut Session, tree: &tools::Workspace<'_>| {
            let mut history = histories::locked(&session.history);
            tools::navigator(tree, &mut session.navigation, &mut history, &request)
        };
        self.blocking(ctx, session, call).await
    }

    /// Runs a subcommand of `edit_tool`.
    pub async fn edit(
        &self,
        ctx: &ProjectContext,
        principal: &Principal,
        id: NavigationId,
        request: EditRequest,
    ) -> Result<ToolResponse, ServiceError> {
        self.edit_alone(ctx, principal, id, move |tree, navigation, history| {
            tools::edit(tree, navigation, history, &request)
        })
        .await
    }

    /// Runs a subcommand of `json_edit_tool`.
    pub async fn json_edit(
        &self,
        ctx: &ProjectContext,
        principal: &Principal,
        id: NavigationId,
        request: JsonEditRequest,
    ) -> Result<ToolResponse, ServiceError> {
        self.edit_alone(ctx, principal, id, move |tree, navigation, history| {
            tools::json_edit(tree, navigation, history, &request)
        })
        .await
    }

    /// Runs a subcommand of `git_tool`. The caller is the author of a commit that names no other.
    pub async fn git(
        &self,
        ctx: &ProjectContext,
        principal: &Principal,
        id: NavigationId,
        request: GitRequest,
    ) -> Result<ToolResponse, ServiceError> {
        let session = self.session(ctx, principal, id).await?;
        let (session, permit) = self.alone(ctx, principal, session).await?;
        let name = principal.name().to_owned();
        let author = Identity { email: format!("{name}@localhost"), name };
        // A task of its own: a git that is killed with its request would leave its locks behind.
        let call = tokio::spawn(async move {
            let _permit = permit;
            let root = session.open.work_tree.root()?;
            let tree = session.open.for_tools(&root);
            let cancel = CancellationToken::new();
            let navigation = &session.navigation;
            let response = tools::git(&tree, navigation, &author, &request, &cancel).await?;
            Ok::<_, ServiceError>((session, response))
        });
        let (session, response) = call.await.map_err(|_| ServiceError::Panicked)??;
        self.finish(ctx, &session, response).await
    }

    /// Starts a command of `bash`, and waits some seconds for its end.
    pub async fn bash(
        &self,
        ctx: &ProjectContext,
        principal: &Principal,
        id: NavigationId,
        request: BashRequest,
        wait: WaitSeconds,
    ) -> Result<Command, ServiceError> {
        let session = self.session(ctx, principal, id).await?;
        // Refused before anything waits.
        let root = session.open.work_tree.root()?;
        tools::check_bash(&session.open.for_tools(&root), &session.navigation)?;
        let (sandbox, limits) = self.sandbox().await?;
        let (session, permit) = self.alone(ctx, principal, session).await?;
        self.check_space(ctx, principal, &session.open).await?;
        navigations::touch(&ctx.store, id).await?;
        let started =
            self.commands.start(principal.user, session, permit, sandbox, limits, request)?;
        // Its navigation or workspace may have been deleted before the command was known.
        if let Err(error) = self.stored(ctx, id).await {
            self.commands.cancel(id, started)?;
            return Err(error);
        }
        self.commands.wait(id, started, wait).await
    }

    /// Waits some seconds for the end of a command, and returns it or how far it is.
    pub async fn command(
        &self,
        ctx: &ProjectContext,
        principal: &Principal,
        id: NavigationId,
        command: CommandId,
        wait: WaitSeconds,
    ) -> Result<Command, ServiceError> {
        // The command is on the node of the workspace.
        self.session(ctx, principal, id).await?;
        navigations::touch(&ctx.store, id).await?;
        self.commands.wait(id, command, wait).await
    }

    /// Ends a running command with all its processes.
    pub async fn cancel(
        &self,
        ctx: &ProjectContext,
        principal: &Principal,
        id: NavigationId,
        command: CommandId,
    ) -> Result<Command, ServiceError> {
        self.session(ctx, principal, id).await?;
        self.commands.cancel(id, command)?;
        self.commands.wait(id, command, WaitSeconds::default()).await
    }

    /// Returns what runs commands, with the limits of one.
    pub async fn sandbox(&self) -> Result<(Arc<Sandbox>, Limits), ServiceError> {
        let tools = self.settings.commands.as_ref().ok_or(ServiceError::NoCommands)?;
        let detect = || async {
            let sandbox = Sandbox::detect(tools.sandbox.clone()).await;
            sandbox.map(Arc::new).map_err(|error| ServiceError::Tree(Error::Sandbox(error)))
        };
        let sandbox = Arc::clone(self.sandbox.get_or_try_init(detect).await?);
        Ok((sandbox, tools.limits.clone()))
    }

    /// Waits until no other call changes the tree of a workspace, and lets none do so until the
    /// result is dropped.
    pub async fn enter(&self, open: &OpenWorkspace) -> Result<Permit, ServiceError> {
        self.exclusion.enter(&tree_key(&open.workspace)).await
    }

    async fn stored(
        &self,
        ctx: &ProjectContext,
        id: NavigationId,
    ) -> Result<StoredNavigation, ServiceError> {
        let found = navigations::find(&ctx.store, id, self.settings.max_idle).await?;
        found.ok_or(ServiceError::UnknownNavigation(id))
    }

    async fn session(
        &self,
        ctx: &ProjectContext,
        principal: &Principal,
        id: NavigationId,
    ) -> Result<Session, ServiceError> {
        let stored = self.stored(ctx, id).await?;
        let open = open(ctx, principal, &self.settings, stored.workspace).await?;
        let navigation = Navigation::restore(&stored.cwd, stored.phase)?;
        let history = self.histories.of(id, self.settings.max_idle);
        Ok(Session { stored, navigation, open: Arc::new(open), history })
    }

    /// Returns a session once no other call changes its tree. The navigation is read again then: it
    /// may have left the edit phase meanwhile.
    async fn alone(
        &self,
        ctx: &ProjectContext,
        principal: &Principal,
        session: Session,
    ) -> Result<(Session, Permit), ServiceError> {
        let permit = self.enter(&session.open).await?;
        Ok((self.session(ctx, principal, session.id()).await?, permit))
    }

    /// Checks that the workspaces of the project may take more space. The collector measures what
    /// they take, so a command may exceed it by the limit of its own.
    pub async fn check_space(
        &self,
        ctx: &ProjectContext,
        principal: &Principal,
        open: &OpenWorkspace,
    ) -> Result<(), ServiceError> {
        if open.workspace.kind != WorkspaceKind::Clone {
            return Ok(());
        }
        let space = workspaces::space(&ctx.store, ctx.project.id, principal.user).await?;
        let most = self.settings.max_project_bytes;
        if u64::try_from(space.bytes).unwrap_or(0) < most {
            return Ok(());
        }
        Err(ServiceError::NoSpace { megabytes: most >> 20 })
    }

    /// Runs a tool that changes files, once no other call changes the tree.
    async fn edit_alone(
        &self,
        ctx: &ProjectContext,
        principal: &Principal,
        id: NavigationId,
        edit: impl FnOnce(
            &tools::Workspace<'_>,
            &Navigation,
            &mut EditHistory,
        ) -> Result<ToolResponse, Error>
        + Send
        + 'static,
    ) -> Result<ToolResponse, ServiceError> {
        let session = self.session(ctx, principal, id).await?;
        let (session, permit) = self.alone(ctx, principal, session).await?;
        self.check_space(ctx, principal, &session.open).await?;
        let call = move |session: &mut Session, tree: &tools::Workspace<'_>| {
            // Until the file is written, even if the request is dropped.
            let _permit = permit;
            edit(tree, &session.navigation, &mut histories::locked(&session.history))
        };
        self.blocking(ctx, session, call).await
    }

    /// Runs a tool that reads and writes files on a blocking thread.
    async fn blocking(
        &self,
        ctx: &ProjectContext,
        mut session: Session,
        call: impl FnOnce(&mut Session, &tools::Workspace<'_>) -> Result<ToolResponse, Error>
        + Send
        + 'static,
    ) -> Result<ToolResponse, ServiceError> {
        let work = move || {
            let open = Arc::clone(&session.open);
            let root = open.work_tree.root()?;
            let response = call(&mut session, &open.for_tools(&root))?;
            Ok::<_, ServiceError>((session, response))
        };
        let (session, response) = run_blocking(work).await?;
        self.finish(ctx, &session, response).await
    }

    /// Stores the navigation if the call has changed it, and that it was used. Adds its handle to
    /// the response.
    async fn finish(
        &self,
        ctx: &ProjectContext,
        session: &Session,
        response: ToolResponse,
    ) -> Result<ToolResponse, ServiceError> {
        let Session { stored, navigation, .. } = session;
        let (cwd, phase) = (navigation.cwd(), navigation.phase());
        if (stored.cwd.as_str(), stored.phase) == (cwd, phase) {
            navigations::touch(&ctx.store, stored.id).await?;
        } else if !navigations::update(&ctx.store, stored, cwd, phase).await? {
            return Err(ServiceError::ChangedNavigation);
        }
        Ok(ToolResponse { handle: Some(stored.id), ..response })
    }
}

impl Session {
    fn id(&self) -> NavigationId {
        self.stored.id
    }

    fn workspace(&self) -> WorkspaceId {
        self.open.workspace.id
    }
}

/// Returns the key of a workspace's tree. A directory may be registered more than once.
fn tree_key(workspace: &StoredWorkspace) -> String {
    workspace.folder.clone().unwrap_or_else(|| workspace.id.to_string())
}
