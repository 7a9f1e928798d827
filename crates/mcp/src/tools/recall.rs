//! `recall`: what the team knows about a task or place, as a bundle.

use http::Method;
use mc_contract::operations::recall::{RecallRequest, RecallResponse};
use rmcp::model::{CallToolResult, JsonObject};
use serde_json::Value;

use super::own::Nothing;
use super::responses::{complete, object};
use super::spec::{Argument, Definition, Effect, Handles, Route, Spec};
use crate::core::CoreError;
use crate::render;
use crate::settings::Toolset;

/// The tool `recall`.
pub struct Recall;

impl Definition for Recall {
    const SPEC: Spec = Spec {
        name: "recall",
        title: "Recall team memory",
        description: "Call FIRST, before answering about or changing existing code: facts, \
                      gotchas, rules, worked examples and links the team knows about this task, \
                      path or symbol. Each has a handle (m1).",
        toolsets: &[Toolset::Memory],
        effect: Effect::Reads,
        route: Route::Call(Method::POST, "/recall"),
        names_project: true,
        handles: Handles::Ids,
        arguments: &[
            Argument::new("query", "What you are about to do"),
            Argument::new("task_external_id", "Issue, e.g. CS-214"),
            Argument::new("repo_path", "File or folder"),
            Argument::new("symbols", "Qualified names"),
            Argument::new("signals", "Error words or lines"),
            Argument::new("limit_tokens", "Default 2000"),
            Argument::new("include", "changes: similar past commits"),
        ],
        fixed: None,
        output: &["facts", "few_shots", "links", "confidence", "bundle_id"],
    };
    type Request = RecallRequest;
    type Own = Nothing;
    type Response = RecallResponse;

    fn result(_arguments: &JsonObject, response: Value) -> Result<CallToolResult, CoreError> {
        let response = object(response)?;
        Ok(complete(vec![render::bundle(&response)], render::slim_bundle(&response)))
    }
}
