//! `search`: searches memory, documents, code and dialogs.

use http::Method;
use mc_contract::operations::search::{SearchRequest, SearchResponse};
use rmcp::model::{CallToolResult, JsonObject};
use serde_json::Value;

use super::own::OfResults;
use super::responses::{budget, complete, object};
use super::spec::{Argument, Definition, Effect, Handles, Route, Spec};
use crate::core::CoreError;
use crate::render;
use crate::settings::Toolset;

/// The tool `search`.
pub struct Search;

impl Definition for Search {
    const SPEC: Spec = Spec {
        name: "search",
        title: "Search everything",
        description: "Search memory, docs, code and dialogs by words and meaning, when recall was \
                      not enough or you need a decision, an ADR or past work.",
        toolsets: &[Toolset::Memory, Toolset::Repo],
        effect: Effect::Reads,
        route: Route::Call(Method::POST, "/search"),
        names_project: true,
        handles: Handles::Ids,
        arguments: &[
            Argument::new("query", ""),
            Argument::new("task_external_id", ""),
            Argument::new("sources", ""),
            Argument::new("kinds", ""),
            Argument::new("scope", ""),
            Argument::new("tags", ""),
            Argument::new("path", "File, folder or glob"),
            Argument::new("language", ""),
            Argument::new("limit", ""),
            Argument::own("limit_tokens", "Default 1200"),
            Argument::new("explain", ""),
        ],
        fixed: None,
        output: &["results"],
    };
    type Request = SearchRequest;
    type Own = OfResults;
    type Response = SearchResponse;

    fn result(arguments: &JsonObject, response: Value) -> Result<CallToolResult, CoreError> {
        let shown = render::results(&object(response)?, budget(arguments));
        Ok(complete(vec![shown.text], shown.structured))
    }
}
