//! `feedback`: records which items of a bundle were used.

use http::Method;
use mc_contract::operations::feedback::{FeedbackRequest, FeedbackResponse};
use rmcp::model::{CallToolResult, JsonObject};
use serde_json::Value;

use super::own::Nothing;
use super::responses::tool_response;
use super::spec::{Argument, Definition, Effect, Handles, Route, Spec};
use crate::core::CoreError;
use crate::render;
use crate::settings::Toolset;

/// The tool `feedback`.
pub struct Feedback;

impl Definition for Feedback {
    const SPEC: Spec = Spec {
        name: "feedback",
        title: "Send feedback",
        description: "Call after using a recall: pass the handles of the items you used (an empty \
                      list if none).",
        toolsets: &[Toolset::Memory],
        effect: Effect::Adds,
        route: Route::Call(Method::POST, "/feedback"),
        names_project: false,
        handles: Handles::Items,
        arguments: &[
            Argument::new("bundle_id", ""),
            Argument::new("used", "Handles or ids").required(),
        ],
        fixed: None,
        output: &["recorded"],
    };
    type Request = FeedbackRequest;
    type Own = Nothing;
    type Response = FeedbackResponse;

    fn result(_arguments: &JsonObject, response: Value) -> Result<CallToolResult, CoreError> {
        tool_response(response, render::recorded)
    }
}
