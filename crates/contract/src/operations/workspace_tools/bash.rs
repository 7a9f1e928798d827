//! `bash`: runs a command in a sandbox.

use chrono::{DateTime, Utc};
use mc_domain::{CommandId, CommandState};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

use super::ToolResponse;
use crate::Request;
use crate::number::{CommandSeconds, WaitSeconds};
use crate::text::ShellCommand;

/// A call of `bash`, in the edit phase. Each call is a new process in the locked directory, without
/// a network; only files below the locked directory can be changed.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"command": "python3 -m unittest", "timeout_seconds": 300}))]
pub struct BashRequest {
    /// The command, at most 16,384 characters.
    pub command: ShellCommand,
    /// Time after which it is ended; 120 seconds by default.
    pub timeout_seconds: Option<CommandSeconds>,
}

impl Request for BashRequest {}

/// How long a request for a command waits.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct CommandQuery {
    /// Seconds to wait for the end of the command, 0 to 18; 18 by default.
    #[param(inline)]
    pub wait_seconds: Option<WaitSeconds>,
}

impl Request for CommandQuery {}

/// A command that runs, or has ended not long ago.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "command_id": "5c1c1c5e-3d0e-4a47-8b53-0d0ab9f3b7a1", "state": "running",
    "started_at": "2026-11-20T10:00:00Z", "stdout_bytes": 512, "stderr_bytes": 0
}))]
pub struct Command {
    /// The command's id.
    pub command_id: CommandId,
    /// Whether it still runs.
    pub state: CommandState,
    /// When it was started.
    pub started_at: DateTime<Utc>,
    /// Bytes of standard output so far.
    pub stdout_bytes: u64,
    /// Bytes of standard error so far.
    pub stderr_bytes: u64,
    /// The result; absent while it runs.
    pub result: Option<ToolResponse>,
}
