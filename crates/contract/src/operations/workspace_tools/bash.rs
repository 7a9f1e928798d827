//! `bash`: runs a command in a sandbox.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use crate::Request;
use crate::number::CommandSeconds;
use crate::text::ShellCommand;

/// A call of `bash`, in the edit phase. Each call is a new process in the locked directory, without
/// a network; only files below the locked directory can be changed.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"command": "cargo test --offline", "timeout_seconds": 300}))]
pub struct BashRequest {
    /// The command, at most 16,384 characters.
    pub command: ShellCommand,
    /// Time after which it is ended; 120 seconds by default.
    pub timeout_seconds: Option<CommandSeconds>,
}

impl Request for BashRequest {}
