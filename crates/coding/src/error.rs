//! Errors of the use-cases.

use mc_domain::{Classified, ErrorKind, PatchId, PatchRunId, PatchState, Role};
use mc_memory::chat;
use mc_workspaces::ServiceError;

use crate::masking::masked;
use crate::{CheckError, CommandProblem, WriteError};

/// Most problems that an error lists.
const SHOWN_PROBLEMS: usize = 10;

/// A failed use-case.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No patch has this id, or the caller may not see it.
    #[error(
        "there is no patch {0}: the id is wrong, the patch is another user's, or it was deleted \
         after coding.ttl_hours; list yours with coding_list_patches (GET /patches)"
    )]
    UnknownPatch(PatchId),
    /// The patch is not one that could still be applied.
    #[error("the patch is {0} already; propose another one")]
    Ended(PatchState),
    /// No run has this id, or its result is no longer kept.
    #[error(
        "there is no patch run {0}: the id is wrong, the service was restarted, or its result was \
         forgotten half an hour after its end; list the patches with coding_list_patches (GET \
         /patches), or run it again"
    )]
    UnknownRun(PatchRunId),
    /// As many patch runs are active on the node as may be.
    #[error("{0} patch runs are active on this node, as many as may be; wait until one has ended")]
    TooManyRuns(usize),
    /// As many patch runs of the caller are active on the node as may be.
    #[error("{0} patch runs of yours are active, as many as may be; wait until one has ended")]
    TooManyRunsOfUser(usize),
    /// The caller cancelled the run.
    #[error("the run was cancelled, and nothing was stored; start it again")]
    Cancelled,
    /// Another commit was checked out while a patch was made.
    #[error("another commit was checked out meanwhile, so nothing was stored; run it again")]
    OtherCommit,
    /// A run failed in the background.
    #[error("{reason}")]
    RunFailed {
        /// Kind of the error.
        kind: ErrorKind,
        /// The error.
        reason: String,
    },
    /// The role may not list the patches of others.
    #[error("listing the patches of others requires the role {0}; leave out `all`")]
    PatchesOfOthers(Role),
    /// The text is no patch, or exceeds a limit.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// Some files can't be changed as proposed.
    #[error("the patch does not apply, so nothing was stored: {}", listed(.0))]
    DoesNotApply(Vec<String>),
    /// The patch changes nothing.
    #[error("the patch changes nothing; propose a change")]
    Empty,
    /// The diff would have text that must not be stored.
    #[error(
        "the patch has a secret or personal data, which is never stored: `{0}`; remove it from the \
         patch, and have the program read it from its configuration"
    )]
    Unmasked(String),
    /// A rule for paths has text that must not be stored.
    #[error(
        "the path {path} has a secret or personal data, which is never stored; name a directory \
         above it"
    )]
    UnmaskedPath {
        /// Field of the request.
        field: &'static str,
        /// The path, masked.
        path: String,
    },
    /// A command of a dry run is refused.
    #[error(
        "the command `{}` is refused: {}",
        masked(.command),
        masked(&.problem.to_string())
    )]
    Command {
        /// The command as it was sent.
        command: String,
        /// Why.
        problem: CommandProblem,
    },
    /// A preview would change the workspace.
    #[error(
        "a preview changes no file of the workspace; leave out dryRun, or have a person apply the \
         diff with `memory-copilot patch check --apply` in a checkout"
    )]
    OnlyDryRuns,
    /// A patch that fits could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The chat model wrote no patch.
    #[error("the model proposed no change{}", said(.0))]
    NoPatch(Vec<String>),
    /// The chat model failed, or the project may not ask it.
    #[error(
        "no patch was proposed: {0}. A patch of your own can be sent as `diff`, which needs no \
         model of the service"
    )]
    Chat(#[from] chat::Error),
    /// The workspace can't be used.
    #[error(transparent)]
    Workspace(#[from] ServiceError),
    /// A path is refused.
    #[error(transparent)]
    Path(#[from] mc_workspaces::Error),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] mc_store::Error),
}

impl From<mc_git::Error> for Error {
    fn from(error: mc_git::Error) -> Self {
        Self::Workspace(error.into())
    }
}

fn listed(problems: &[String]) -> String {
    let mut listed = problems.iter().take(SHOWN_PROBLEMS).cloned().collect::<Vec<_>>().join("; ");
    if let more @ 1.. = problems.len().saturating_sub(SHOWN_PROBLEMS) {
        listed.push_str(&format!("; and {more} more"));
    }
    listed
}

fn said(summary: &[String]) -> String {
    if summary.is_empty() {
        return "; give more details in the instructions, or name the files".to_owned();
    }
    format!(", and said: {}", summary.join("; "))
}

impl Classified for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::UnknownPatch(_) | Self::UnknownRun(_) => ErrorKind::NotFound,
            Self::Ended(_)
            | Self::DoesNotApply(_)
            | Self::NoPatch(_)
            | Self::Cancelled
            | Self::OtherCommit => ErrorKind::Conflict,
            Self::TooManyRuns(_) | Self::TooManyRunsOfUser(_) => ErrorKind::RateLimited,
            Self::RunFailed { kind, .. } => *kind,
            Self::PatchesOfOthers(_)
            | Self::OnlyDryRuns
            | Self::Command { problem: CommandProblem::Policy(_), .. } => ErrorKind::Forbidden,
            Self::Check(CheckError::Parse(_))
            | Self::Empty
            | Self::Unmasked(_)
            | Self::Command { .. }
            | Self::UnmaskedPath { .. } => ErrorKind::Invalid,
            Self::Check(_) => ErrorKind::TooLarge,
            // An answer that can't be used is no fault of the service, and has its reason.
            Self::Chat(error) if error.kind() == ErrorKind::Internal => ErrorKind::Conflict,
            Self::Chat(error) => error.kind(),
            Self::Write(error) => error.kind(),
            Self::Workspace(error) => error.kind(),
            Self::Path(error) => error.kind(),
            Self::Store(error) => error.kind(),
        }
    }

    fn field(&self) -> Option<String> {
        match self {
            Self::PatchesOfOthers(_) => Some("all".to_owned()),
            Self::UnmaskedPath { field, .. } => Some((*field).to_owned()),
            Self::Command { .. } => Some("commands".to_owned()),
            Self::OnlyDryRuns => Some("dryRun".to_owned()),
            Self::Workspace(error) => error.field(),
            _ => None,
        }
    }
}
