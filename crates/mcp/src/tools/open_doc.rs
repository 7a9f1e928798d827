//! `open_doc`: reads a record, document or passage in full.

use mc_contract::Request;
use mc_contract::text::{SourceReference, Title};
use rmcp::model::{CallToolResult, JsonObject};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::own::OfText;
use super::spec::{Argument, Definition, Effect, Handles, Route, Spec};
use crate::core::CoreError;
use crate::settings::Toolset;

/// The tool `open_doc`.
pub struct OpenDoc;

/// Text to read: exactly one of the three arguments.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "the types are the rules")]
pub struct OpenArguments {
    id: Option<String>,
    title: Option<Title>,
    url: Option<SourceReference>,
}

impl Request for OpenArguments {}

/// Text, or the part of it that is shown.
#[derive(Debug, Serialize, ToSchema)]
pub struct Opened {
    /// Title; may be empty.
    title: String,
    /// Part that is shown.
    content: String,
    /// Offset in characters at which to continue; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
}

impl Definition for OpenDoc {
    const SPEC: Spec = Spec {
        name: "open_doc",
        title: "Read in full",
        description: "Read whole what recall or search showed in part: by handle (m1, d1) or id, a \
                      document by title, path or url too. A long document comes as an outline; \
                      then name a section.",
        toolsets: &[Toolset::Memory, Toolset::Repo],
        effect: Effect::Reads,
        route: Route::Lookup,
        names_project: false,
        handles: Handles::Read,
        arguments: &[
            Argument::new("id", "Handle or id"),
            Argument::new("title", "Title or path"),
            Argument::new("url", ""),
            Argument::own("section", "Heading"),
            Argument::own("offset", "Continue from"),
            Argument::own("limit_tokens", "Default 1200"),
            Argument::own("bundle_id", "Bundle of the handle"),
        ],
        fixed: None,
        output: &["title", "content", "next_offset"],
    };
    type Request = OpenArguments;
    type Own = OfText;
    type Response = Opened;

    /// Not used: `server::opening` renders the result of its lookups.
    fn result(_arguments: &JsonObject, response: Value) -> Result<CallToolResult, CoreError> {
        Ok(super::responses::complete(Vec::new(), response))
    }
}
