//! Errors of the use-cases.

use mc_domain::{
    Classified, CommandId, ErrorKind, NavigationId, Role, Scope, WorkspaceId, WorkspaceState,
};
use mc_files::CopyError;

use crate::Error;

/// A failed use-case.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// No workspace has this id, or the caller may not see it.
    #[error(
        "there is no workspace {0}, or it is not yours; list yours with `memory-copilot \
         workspaces list` (GET /workspaces), or fetch the repository again"
    )]
    UnknownWorkspace(WorkspaceId),
    /// No navigation has this handle, it belongs to another user, or it was idle too long.
    #[error(
        "there is no navigation {0}: its handle is wrong, or it was not used for \
         workspaces.max_idle_minutes; call navigator with `workspaceId` (POST \
         /workspaces/{{id}}/navigations) for another one"
    )]
    UnknownNavigation(NavigationId),
    /// The files of a workspace belong to its owner.
    #[error(
        "the workspace belongs to another user; its files are read and changed by its owner only. \
         Fetch the repository into a workspace of your own"
    )]
    OtherOwner,
    /// Another call changes the workspace.
    #[error("{}", busy(.0.as_ref()))]
    Busy(Option<(NavigationId, CommandId)>),
    /// Another call has changed the navigation meanwhile.
    #[error(
        "another call has changed the current directory or the phase meanwhile; call navigator \
         with pwd, then try again"
    )]
    ChangedNavigation,
    /// The configuration allows no commands.
    #[error(
        "the service runs no commands, since its configuration has sandbox.runner: none; ask the \
         operator to change it"
    )]
    NoCommands,
    /// As many commands run on the node as may.
    #[error("{0} commands run on this node, as many as may; wait until one of them has ended")]
    TooManyCommands(usize),
    /// As many commands of the caller run on the node as may.
    #[error("{0} commands of yours run on this node, as many as may; wait until one has ended")]
    TooManyCommandsOfUser(usize),
    /// The navigation has no such command, or its result is no longer kept.
    #[error(
        "this navigation has no command {0}: the id is wrong, the service was restarted, or its \
         result was forgotten half an hour after its end; run it again"
    )]
    UnknownCommand(CommandId),
    /// A command could not run.
    #[error("the command could not run: {reason}")]
    CommandFailed {
        /// Kind of the error.
        kind: ErrorKind,
        /// The error.
        reason: String,
    },
    /// A directory of the machine is for those who may register one.
    #[error(
        "a registered directory requires a service administrator and a token with the scope \
         `{}`; fetch the repository into a workspace of your own",
        Scope::IngestLocal
    )]
    FolderAccess,
    /// The files are not there yet.
    #[error("{}", not_ready(*.0, .1.as_deref()))]
    NotReady(WorkspaceState, Option<String>),
    /// A call ended by a fault of the service.
    #[error("the service failed while it ran git; its log has the cause; try again")]
    Panicked,
    /// The files are on another node, which can't be reached.
    #[error("{0}")]
    OtherNode(String),
    /// The role may not list the workspaces of others.
    #[error("listing the workspaces of others requires the role {0}; leave out `all`")]
    WorkspacesOfOthers(Role),
    /// The user has as many workspaces as allowed.
    #[error(
        "you have {0} workspaces in this project, as many as the service allows \
         (workspaces.max_per_user); delete one with `memory-copilot workspaces delete`, or DELETE \
         /workspaces/{{id}}"
    )]
    TooManyWorkspaces(u32),
    /// The workspaces of the project take all the space they may.
    #[error(
        "the workspaces of this project take the {megabytes} MiB that the service allows \
         (workspaces.max_project_megabytes); delete some with `memory-copilot workspaces delete`, \
         or DELETE /workspaces/{{id}}"
    )]
    NoSpace {
        /// The limit.
        megabytes: u64,
    },
    /// The directory to register is refused.
    #[error(transparent)]
    Folder(Box<Self>),
    /// The path of a directory is not UTF-8.
    #[error("the path of the directory is not UTF-8; rename it, or register another")]
    NameOfFolder,
    /// The directory of a clone can't be created or deleted.
    #[error("the directory {path} can't be used: {error}; see that the service may write there")]
    Directory {
        /// Path of the directory.
        path: String,
        /// Why.
        error: std::io::Error,
    },
    /// The tree can't be copied.
    #[error("the workspace {0}")]
    NotCopied(CopyError),
    /// A file, path or edit is refused.
    #[error(transparent)]
    Tree(#[from] Error),
    /// A directory can't be opened.
    #[error(transparent)]
    Files(#[from] mc_files::Error),
    /// Git failed, or the location is not allowed.
    #[error(transparent)]
    Git(#[from] mc_git::Error),
    /// The location or the name of the repository is not allowed.
    #[error(transparent)]
    Repository(#[from] mc_integrations::Error),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] mc_store::Error),
}

fn busy(command: Option<&(NavigationId, CommandId)>) -> String {
    match command {
        Some((navigation, command)) => format!(
            "the command {command} of the navigation {navigation} works in the workspace; wait \
             until it has ended, or cancel it, then try again"
        ),
        None => "another edit or git call works in the workspace; try again".to_owned(),
    }
}

fn not_ready(state: WorkspaceState, reason: Option<&str>) -> String {
    match state {
        WorkspaceState::Failed => format!(
            "the repository could not be fetched ({}); correct the cause and fetch it again",
            reason.unwrap_or("for a reason that is not known")
        ),
        _ => "the repository is not fetched yet; try again in some seconds, or wait until `state` \
              of GET /workspaces/{id} is ready"
            .to_owned(),
    }
}

fn of_copy(error: &CopyError) -> ErrorKind {
    match error {
        CopyError::Entries(_) | CopyError::Bytes(_) | CopyError::Time(_) | CopyError::Depth => {
            ErrorKind::TooLarge
        }
        CopyError::Cancelled => ErrorKind::Conflict,
        CopyError::File { cause, .. } => cause.kind(),
    }
}

impl Classified for ServiceError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::UnknownWorkspace(_) | Self::UnknownNavigation(_) | Self::UnknownCommand(_) => {
                ErrorKind::NotFound
            }
            Self::CommandFailed { kind, .. } => *kind,
            Self::TooManyCommands(_) | Self::TooManyCommandsOfUser(_) => ErrorKind::RateLimited,
            Self::NoCommands
            | Self::FolderAccess
            | Self::OtherOwner
            | Self::WorkspacesOfOthers(_) => ErrorKind::Forbidden,
            Self::Busy(_)
            | Self::ChangedNavigation
            | Self::NotReady(..)
            | Self::TooManyWorkspaces(_)
            | Self::NoSpace { .. } => ErrorKind::Conflict,
            Self::OtherNode(_) => ErrorKind::Unavailable,
            Self::NameOfFolder => ErrorKind::Invalid,
            Self::Directory { .. } | Self::Panicked => ErrorKind::Internal,
            Self::NotCopied(error) => of_copy(error),
            Self::Folder(error) => error.kind(),
            Self::Tree(error) => error.kind(),
            Self::Files(error) => error.kind(),
            Self::Git(error) => error.kind(),
            Self::Repository(error) => error.kind(),
            Self::Store(error) => error.kind(),
        }
    }

    fn field(&self) -> Option<String> {
        match self {
            Self::UnknownWorkspace(_) => Some("workspaceId".into()),
            Self::UnknownNavigation(_) => Some("handle".into()),
            Self::UnknownCommand(_) => Some("command_id".into()),
            Self::WorkspacesOfOthers(_) => Some("all".into()),
            Self::NameOfFolder => Some("directory".into()),
            Self::Folder(error) => match error.field().as_deref() {
                Some("location" | "ref") => Some("directory".into()),
                _ => error.field(),
            },
            Self::Tree(error) => error.field(),
            Self::Git(error) => error.field(),
            Self::Repository(error) => error.field(),
            Self::Store(error) => error.field(),
            _ => None,
        }
    }
}
