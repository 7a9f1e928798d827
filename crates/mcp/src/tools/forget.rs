//! `forget`: deletes a record, or withdraws the caller's own proposal.

use http::Method;
use mc_contract::Request;
use mc_domain::RecordId;
use rmcp::model::{CallToolResult, JsonObject};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::own::OfBundle;
use super::responses::complete;
use super::spec::{Argument, Definition, Effect, Handles, Route, Spec};
use crate::core::CoreError;
use crate::render;
use crate::settings::Toolset;

/// The tool `forget`.
pub struct Forget;

/// The record to delete.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ForgetArguments {
    #[expect(dead_code, reason = "its type is the rule")]
    id: RecordId,
}

impl Request for ForgetArguments {}

/// The deleted record.
#[derive(Debug, Serialize, ToSchema)]
pub struct Forgotten {
    /// As the caller named it.
    forgotten: String,
}

impl Definition for Forget {
    const SPEC: Spec = Spec {
        name: "forget",
        title: "Forget a record",
        description: "Delete a record or your own proposal that should not exist. To correct one, \
                      save with supersedes.",
        toolsets: &[Toolset::Memory],
        effect: Effect::Replaces,
        route: Route::Call(Method::DELETE, "/records/{id}"),
        names_project: false,
        handles: Handles::Ids,
        arguments: &[
            Argument::new("id", "Handle or id").required(),
            Argument::own("bundle_id", ""),
        ],
        fixed: None,
        output: &["forgotten"],
    };
    type Request = ForgetArguments;
    type Own = OfBundle;
    type Response = Forgotten;

    fn result(arguments: &JsonObject, _response: Value) -> Result<CallToolResult, CoreError> {
        let name = arguments.get("id").and_then(Value::as_str).unwrap_or_default();
        let forgotten = Forgotten { forgotten: name.to_owned() };
        Ok(complete(vec![render::forgotten(name)], json!(forgotten)))
    }
}
