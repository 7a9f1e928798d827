//! `search_code`: searches code alone.

use http::Method;
use mc_contract::operations::search::{SearchRequest, SearchResponse};
use rmcp::model::{CallToolResult, JsonObject};
use serde_json::Value;

use super::own::OfResults;
use super::search::Search;
use super::spec::{Argument, Definition, Effect, Handles, Route, Spec};
use crate::core::CoreError;
use crate::settings::Toolset;

/// The tool `search_code`.
pub struct SearchCode;

impl Definition for SearchCode {
    const SPEC: Spec = Spec {
        name: "search_code",
        title: "Search code",
        description: "Find where something is in the indexed repositories, by exact symbol, path \
                      or a description of what it does, instead of guessing or grepping file by \
                      file.",
        toolsets: &[Toolset::Repo],
        effect: Effect::Reads,
        route: Route::Call(Method::POST, "/search"),
        names_project: true,
        handles: Handles::Ids,
        arguments: &[
            Argument::new("query", "Symbol, path or description").required(),
            Argument::new("path", "File, folder or glob"),
            Argument::new("language", ""),
            Argument::new("limit", ""),
            Argument::own("limit_tokens", "Default 1200"),
        ],
        fixed: Some(("sources", &["code"])),
        output: &["results"],
    };
    type Request = SearchRequest;
    type Own = OfResults;
    type Response = SearchResponse;

    fn result(arguments: &JsonObject, response: Value) -> Result<CallToolResult, CoreError> {
        Search::result(arguments, response)
    }
}
