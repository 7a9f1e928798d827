//! Commands of `bash` that run in the background, and their results.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use chrono::Utc;
use mc_contract::number::WaitSeconds;
use mc_contract::operations::workspace_tools::{BashRequest, Command, ToolResponse};
use mc_domain::{
    Classified as _, CommandId, CommandState, ErrorKind, NavigationId, UserId, WorkspaceId,
};
use mc_sandbox::{Limits, Sandbox};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_util::sync::CancellationToken;

use super::Session;
use super::exclusion::Permit;
use crate::tools::{self, CANCELLED_CODE, CommandProgress, Commands};
use crate::{Error, ServiceError};

/// How long the result of a command is kept.
const KEPT: Duration = Duration::from_mins(30);
/// Maximum number of commands that run on a node at once.
const MAX_RUNNING: usize = 8;
/// Maximum number of them of one user.
const MAX_OF_USER: usize = 4;
/// Maximum number of results of one user that are kept.
const MAX_RESULTS: usize = 64;

/// The commands of a node that run, or ended not long ago.
#[derive(Debug)]
pub(super) struct RunningCommands {
    all: Mutex<HashMap<CommandId, Entry>>,
    slots: Arc<Semaphore>,
}

#[derive(Debug)]
struct Entry {
    user: UserId,
    navigation: NavigationId,
    workspace: WorkspaceId,
    command: Command,
    progress: Arc<Mutex<CommandProgress>>,
    result: watch::Receiver<Option<Finished>>,
    cancel: CancellationToken,
    completed_at: Option<Instant>,
}

/// The result of a command, or why it could not run.
type Finished = Result<ToolResponse, (ErrorKind, String)>;

impl Default for RunningCommands {
    fn default() -> Self {
        Self { all: Mutex::default(), slots: Arc::new(Semaphore::new(MAX_RUNNING)) }
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
        let slot = Arc::clone(&self.slots).try_acquire_owned();
        let slot = slot.map_err(|_| ServiceError::TooManyCommands(MAX_RUNNING))?;
        let id = CommandId(uuid::Uuid::new_v4());
        let (done, result) = watch::channel(None);
        let (progress, cancel) = (Arc::default(), CancellationToken::new());
        let entry = Entry {
            user,
            navigation: session.id(),
            workspace: session.workspace(),
            command: Command {
                command_id: id,
                state: CommandState::Running,
                started_at: Utc::now(),
                stdout_bytes: 0,
                stderr_bytes: 0,
                result: None,
            },
            progress: Arc::clone(&progress),
            result,
            cancel: cancel.clone(),
            completed_at: None,
        };
        {
            let mut all = self.all();
            forget_old(&mut all, user);
            if count_of(&all, user) >= MAX_OF_USER {
                return Err(ServiceError::TooManyCommandsOfUser(MAX_OF_USER));
            }
            all.insert(id, entry);
        }
        permit.name(session.id(), id);
        let running = Running { session, permit, slot, sandbox, limits, request, progress, cancel };
        tokio::spawn(async move {
            // There is no receiver if the result was forgotten.
            let _ = done.send(Some(running.run().await));
        });
        Ok(id)
    }

    /// Waits for the end of a command, but not for long. Returns how far it is.
    pub async fn wait(
        &self,
        navigation: NavigationId,
        id: CommandId,
        wait: WaitSeconds,
    ) -> Result<Command, ServiceError> {
        let mut result = self.find(navigation, id, |entry| entry.result.clone())?;
        // On an error, the task has panicked.
        let wait = Duration::from_secs(wait.get());
        let _ = tokio::time::timeout(wait, result.wait_for(Option::is_some)).await;
        let has_panicked = result.has_changed().is_err() && result.borrow().is_none();
        let finished = result.borrow().clone();
        self.find(navigation, id, |entry| entry.now(finished, has_panicked))?
    }

    /// Ends a command with all its processes.
    pub fn cancel(&self, navigation: NavigationId, id: CommandId) -> Result<(), ServiceError> {
        self.find(navigation, id, |entry| entry.cancel.cancel())
    }

    /// Ends all commands of a navigation.
    pub fn cancel_of_navigation(&self, navigation: NavigationId) {
        self.cancel_where(|entry| entry.navigation == navigation);
    }

    /// Ends all commands in a workspace.
    pub fn cancel_of_workspace(&self, workspace: WorkspaceId) {
        self.cancel_where(|entry| entry.workspace == workspace);
    }

    fn cancel_where(&self, is_meant: impl Fn(&Entry) -> bool) {
        let all = self.all();
        all.values().filter(|entry| is_meant(entry)).for_each(|entry| entry.cancel.cancel());
    }

    fn find<T>(
        &self,
        navigation: NavigationId,
        id: CommandId,
        read: impl FnOnce(&mut Entry) -> T,
    ) -> Result<T, ServiceError> {
        let mut all = self.all();
        let entry = all.get_mut(&id).filter(|entry| entry.navigation == navigation);
        entry.map(read).ok_or(ServiceError::UnknownCommand(id))
    }

    fn all(&self) -> std::sync::MutexGuard<'_, HashMap<CommandId, Entry>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the number of commands of a user that run.
fn count_of(all: &HashMap<CommandId, Entry>, user: UserId) -> usize {
    all.values().filter(|entry| entry.user == user && entry.completed_at.is_none()).count()
}

/// Forgets old results, so that the user may get another one.
fn forget_old(all: &mut HashMap<CommandId, Entry>, user: UserId) {
    all.values_mut().for_each(Entry::note_end);
    all.retain(|_, entry| entry.completed_at.is_none_or(|ended| ended.elapsed() < KEPT));
    while all.values().filter(|entry| entry.user == user).count() >= MAX_RESULTS {
        let own = all.iter().filter(|(_, entry)| entry.user == user);
        let ended = own.filter_map(|(id, entry)| Some((*id, entry.completed_at?)));
        let Some((oldest, _)) = ended.min_by_key(|(_, ended)| *ended) else { return };
        all.remove(&oldest);
    }
}

impl Entry {
    /// Notes when the command was found to have ended. The task that ran it has no sender left.
    fn note_end(&mut self) {
        if self.result.has_changed().is_err() {
            self.completed_at.get_or_insert_with(Instant::now);
        }
    }

    /// Returns how far the command is.
    fn now(
        &mut self,
        finished: Option<Finished>,
        has_panicked: bool,
    ) -> Result<Command, ServiceError> {
        let progress = *self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let CommandProgress { stdout_bytes, stderr_bytes } = progress;
        let command = Command { stdout_bytes, stderr_bytes, ..self.command.clone() };
        let result = match finished {
            _ if has_panicked => Err(ServiceError::CommandFailed {
                kind: ErrorKind::Internal,
                reason: "the service failed while it ran; its log has the cause; run it again"
                    .into(),
            }),
            None => return Ok(command),
            Some(Ok(response)) => Ok(response),
            Some(Err((kind, reason))) => Err(ServiceError::CommandFailed { kind, reason }),
        };
        self.note_end();
        result.map(|response| {
            let is_cancelled = self.cancel.is_cancelled() && response.error_code == CANCELLED_CODE;
            let state =
                if is_cancelled { CommandState::Cancelled } else { CommandState::Completed };
            Command { state, result: Some(response), ..command }
        })
    }
}

/// All that a running command needs.
struct Running {
    session: Session,
    permit: Permit,
    slot: OwnedSemaphorePermit,
    sandbox: Arc<Sandbox>,
    limits: Limits,
    request: BashRequest,
    progress: Arc<Mutex<CommandProgress>>,
    cancel: CancellationToken,
}

impl Running {
    async fn run(self) -> Finished {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(user: UserId) -> (Entry, watch::Sender<Option<Finished>>) {
        let (done, result) = watch::channel(None);
        let command = Command {
            command_id: CommandId(uuid::Uuid::new_v4()),
            state: CommandState::Running,
            started_at: Utc::now(),
            stdout_bytes: 0,
            stderr_bytes: 0,
            result: None,
        };
        let entry = Entry {
            user,
            navigation: NavigationId(uuid::Uuid::nil()),
            workspace: WorkspaceId(uuid::Uuid::nil()),
            command,
            progress: Arc::default(),
            result,
            cancel: CancellationToken::new(),
            completed_at: None,
        };
        (entry, done)
    }

    #[test]
    fn commands_and_results_are_limited_for_each_user() {
        let [ann, bob] = [1, 2].map(|number| UserId(uuid::Uuid::from_u128(number)));
        let mut all = HashMap::new();
        let mut running = Vec::new();
        for user in [ann, ann, bob] {
            let (entry, done) = entry(user);
            all.insert(entry.command.command_id, entry);
            running.push(done);
        }
        assert_eq!((count_of(&all, ann), count_of(&all, bob)), (2, 1));
        // A command that has ended counts no longer, but its result is kept.
        running.remove(0);
        forget_old(&mut all, ann);
        assert_eq!((count_of(&all, ann), all.len()), (1, 3));
        for _ in 0..2 * MAX_RESULTS {
            forget_old(&mut all, ann);
            let (entry, _) = entry(ann);
            all.insert(entry.command.command_id, entry);
        }
        let of = |user| all.values().filter(|entry| entry.user == user).count();
        assert_eq!((of(ann), of(bob)), (MAX_RESULTS, 1), "one user evicts no results of another");
        assert_eq!(count_of(&all, bob), 1);
    }
}
