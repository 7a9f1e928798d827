//! Commands of `bash` that run in the background, and their results.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mc_contract::number::WaitSeconds;
use mc_contract::operations::workspace_tools::{BashRequest, Command, ToolResponse};
use mc_domain::{Classified as _, CommandId, CommandState, NavigationId, UserId, WorkspaceId};
use mc_sandbox::{Limits, Sandbox};
use tokio_util::sync::CancellationToken;

use super::Session;
use super::exclusion::Permit;
use crate::background::{Background, BackgroundLimits, Finished, Full, Slot};
use crate::command_result::CANCELLED_CODE;
use crate::tools::{self, CommandProgress, Commands};
use crate::{Error, ServiceError};

/// How many commands run at once.
const LIMITS: BackgroundLimits = BackgroundLimits { of_node: 8, of_user: 4 };

/// The commands of a node that run, or ended not long ago.
#[derive(Debug)]
pub(super) struct RunningCommands(Background<Subject, ToolResponse>);

/// What a command belongs to, and how far it is.
#[derive(Debug, Clone)]
struct Subject {
    navigation: NavigationId,
    workspace: WorkspaceId,
    progress: Arc<Mutex<CommandProgress>>,
}

impl Default for RunningCommands {
    fn default() -> Self {
        Self(Background::new(LIMITS))
    }
}

impl RunningCommands {
    /// Starts a command. It has its workspace alone until it ends.
    pub fn start(
        &self,
        user: UserId,
        session: Session,
        permit: Permit,
        sandbox: Arc<Sandbox>,
        limits: Limits,
        request: BashRequest,
    ) -> Result<CommandId, ServiceError> {
        let id = CommandId(uuid::Uuid::new_v4());
        let progress = Arc::default();
        let (navigation, workspace) = (session.id(), session.workspace());
        let subject = Subject { navigation, workspace, progress: Arc::clone(&progress) };
        permit.name(navigation, id);
        let started = self.0.start(id.0, user, subject, move |cancel, slot| {
            let running =
                Running { session, permit, slot, sandbox, limits, request, progress, cancel };
            running.run()
        });
        started.map_err(|full| match full {
            Full::Node(max) => ServiceError::TooManyCommands(max),
            Full::User(max) => ServiceError::TooManyCommandsOfUser(max),
        })?;
        Ok(id)
    }

    /// Waits for the end of a command, but not for long. Returns how far it is.
    pub async fn wait(
        &self,
        navigation: NavigationId,
        id: CommandId,
        wait: WaitSeconds,
    ) -> Result<Command, ServiceError> {
        let is_meant = |subject: &Subject| subject.navigation == navigation;
        let found = self.0.wait(id.0, is_meant, Duration::from_secs(wait.get())).await;
        let now = found.ok_or(ServiceError::UnknownCommand(id))?;
        let progress = *now.subject.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let CommandProgress { stdout_bytes, stderr_bytes } = progress;
        let (state, result) = match now.finished.transpose() {
            Ok(None) => (CommandState::Running, None),
            Ok(Some(response)) if now.is_cancelled && response.error_code == CANCELLED_CODE => {
                (CommandState::Cancelled, Some(response))
            }
            Ok(response) => (CommandState::Completed, response),
            Err((kind, reason)) => return Err(ServiceError::CommandFailed { kind, reason }),
        };
        let started_at = now.started_at;
        Ok(Command { command_id: id, state, started_at, stdout_bytes, stderr_bytes, result })
    }

    /// Ends a command with all its processes.
    pub fn cancel(&self, navigation: NavigationId, id: CommandId) -> Result<(), ServiceError> {
        let is_known = self.0.cancel(id.0, |subject| subject.navigation == navigation);
        if is_known { Ok(()) } else { Err(ServiceError::UnknownCommand(id)) }
    }

    /// Ends all commands of a navigation.
    pub fn cancel_of_navigation(&self, navigation: NavigationId) {
        self.0.cancel_where(|subject| subject.navigation == navigation);
    }

    /// Ends all commands in a workspace.
    pub fn cancel_of_workspace(&self, workspace: WorkspaceId) {
        self.0.cancel_where(|subject| subject.workspace == workspace);
    }
}

/// All that a running command needs.
struct Running {
    session: Session,
    permit: Permit,
    slot: Slot,
    sandbox: Arc<Sandbox>,
    limits: Limits,
    request: BashRequest,
    progress: Arc<Mutex<CommandProgress>>,
    cancel: CancellationToken,
}

impl Running {
    async fn run(self) -> Finished<ToolResponse> {
        let Self { session, permit, slot, sandbox, limits, request, progress, cancel } = self;
        let on_progress = move |now| {
            *progress.lock().unwrap_or_else(PoisonError::into_inner) = now;
        };
        let commands = Commands { sandbox: &sandbox, limits: &limits };
        let outcome = async {
            let root = session.open.work_tree.root().map_err(Error::from)?;
            let tree = session.open.for_tools(&root);
            tools::bash(&tree, commands, &session.navigation, &request, on_progress, &cancel).await
        };
        let outcome = outcome.await;
        // Only now may others change the workspace.
        drop((permit, slot));
        let response = outcome.map_err(|error| (error.kind(), error.to_string()))?;
        Ok(ToolResponse { handle: Some(session.id()), ..response })
    }
}
