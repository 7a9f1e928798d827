//! `save`: stores what the team should know.

use http::Method;
use mc_contract::operations::save::{SaveRequest, SaveResponse};
use rmcp::model::{CallToolResult, JsonObject};
use serde_json::{Map, Value, json};

use super::own::OfBundle;
use super::responses::{complete, object};
use super::spec::{Argument, Definition, Effect, Handles, Route, Spec};
use crate::core::CoreError;
use crate::render;
use crate::settings::Toolset;

/// The tool `save`.
pub struct Save;

impl Definition for Save {
    const SPEC: Spec = Spec {
        name: "save",
        title: "Save to team memory",
        description: "Call after a fix, a decision or a surprise, with what the next person must \
                      know and can't see in the code. One thing per call, with citations. The \
                      outcome says whether it was stored, merged, proposed or rejected, and why.",
        toolsets: &[Toolset::Memory],
        // A contradicting record supersedes the existing one.
        effect: Effect::Replaces,
        route: Route::Call(Method::POST, "/save"),
        names_project: true,
        handles: Handles::Ids,
        arguments: &[
            Argument::new("kind", "gotcha: pitfall; rule: agreed; fewshot: worked example")
                .required(),
            Argument::new("content", "The cause and the rule, self-contained").required(),
            Argument::new("title", ""),
            Argument::new("scope", "Modules or paths it applies to"),
            Argument::new("tags", ""),
            Argument::new("task_external_id", ""),
            Argument::new("citations", ""),
            Argument::new("steps", "fewshot: what was done"),
            Argument::new("patch_ref", ""),
            Argument::new("url", ""),
            Argument::new("ttl", "Expiry: YYYY-MM-DD or 30d"),
            Argument::new("contradicts", "The old record is wrong"),
            Argument::new("supersedes", "Handle or id it replaces"),
            Argument::new("dialog_id", ""),
            Argument::new("visibility", ""),
            Argument::new("source", "What it was taken from"),
            Argument::new("quality", "usefulness, 0 to 1"),
            Argument::new("meta", "Kept as given, e.g. patch_sha"),
            Argument::own("bundle_id", ""),
        ],
        fixed: None,
        output: &["outcome", "id"],
    };
    type Request = SaveRequest;
    type Own = OfBundle;
    type Response = SaveResponse;

    fn result(_arguments: &JsonObject, response: Value) -> Result<CallToolResult, CoreError> {
        let response = object(response)?;
        Ok(complete(vec![render::saved(&response)], slim(&response)))
    }
}

/// Returns the response without the record, which the caller has sent itself, and without the wait
/// for a judgment, which only this server reads.
fn slim(response: &Value) -> Value {
    let fields = response.as_object().into_iter().flatten();
    let shown = fields.filter(|(name, value)| {
        let is_empty = value.is_null() || **value == json!([]);
        !["record", "judgment_wait_ms"].contains(&name.as_str()) && !is_empty
    });
    Value::Object(shown.map(|(name, value)| (name.clone(), value.clone())).collect::<Map<_, _>>())
}
