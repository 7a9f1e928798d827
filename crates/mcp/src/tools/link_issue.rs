//! `link_issue`: links a dialog and records to a tracker's issue.

use http::Method;
use mc_contract::operations::task::{LinkTask, LinkTaskResponse};
use rmcp::model::{CallToolResult, JsonObject};
use serde_json::Value;

use super::own::OfBundle;
use super::responses::tool_response;
use super::spec::{Argument, Definition, Effect, Handles, Route, Spec};
use crate::core::CoreError;
use crate::render;
use crate::settings::Toolset;

/// The tool `link_issue`.
pub struct LinkIssue;

impl Definition for LinkIssue {
    const SPEC: Spec = Spec {
        name: "link_issue",
        title: "Link to issue",
        description: "Call once the tracker issue being worked on is known (e.g. CS-214), to tie \
                      saved records or dialogs to it.",
        toolsets: &[Toolset::Memory],
        effect: Effect::Adds,
        route: Route::Call(Method::POST, "/tasks/link"),
        names_project: true,
        handles: Handles::Ids,
        arguments: &[
            Argument::new("task_external_id", "").with_name("issue_id").required(),
            Argument::new("dialog_id", ""),
            Argument::new("record_ids", ""),
            Argument::own("bundle_id", ""),
        ],
        fixed: None,
        output: &["task"],
    };
    type Request = LinkTask;
    type Own = OfBundle;
    type Response = LinkTaskResponse;

    fn result(_arguments: &JsonObject, response: Value) -> Result<CallToolResult, CoreError> {
        tool_response(response, render::linked)
    }
}
