//! The result of a tool.

use mc_domain::{NavigationId, NavigationPhase};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

/// The result of a tool. Secrets and personal data are masked in all texts.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "handle": "0b5cbb3e-6a0c-4f0e-9a53-0c8b4ad1c6f7", "output": "CWD is now /workspace/src",
    "error": "", "error_code": 0, "cwd": "/workspace/src",
    "phase": "discovery", "is_truncated": false, "notes": []
}))]
pub struct ToolResponse {
    /// Handle of the navigation, to be sent with the next call.
    pub handle: Option<NavigationId>,
    /// Result as text; of a command, its standard output.
    pub output: String,
    /// Standard error of a command, and a line about the signal or limit that ended it. Empty for
    /// other tools, whose failures are errors of the request.
    pub error: String,
    /// Exit code of a command; 0 for success. A signal has 128 and its number, a limit 124, and a
    /// cancellation 130.
    pub error_code: i32,
    /// Current directory, such as `/workspace/src`.
    pub cwd: String,
    /// Phase after the call.
    pub phase: NavigationPhase,
    /// Whether a part of the result was left out. The output or a note says how to read on.
    pub is_truncated: bool,
    /// What the service adds about the result: how to continue, and what is masked. Unlike the
    /// output, the notes have no text of the workspace.
    pub notes: Vec<String>,
}
