//! Tools with fixed answers.

use rmcp::ErrorData;
use rmcp::model::{
    CallToolResult, ContentBlock, JsonObject, LoggingLevel, LoggingMessageNotificationParam,
    ProgressNotificationParam, ResourceContents, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};

use crate::changes::{Changes, Versions};
use crate::dialogs;
use crate::jobs;
use crate::legacy;
use crate::samples::{PNG, WAV};

const WITHOUT_ARGUMENTS: &[&str] = &[
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_error_handling",
    "test_tool_with_progress",
    "test_tool_with_logging",
    "test_logging_tool",
    "test_trigger_tool_change",
    "test_trigger_prompt_change",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
];

pub fn listed(versions: Versions) -> Vec<Tool> {
    let dialogs = dialogs::TOOLS.iter().map(|dialog| dialog.name);
    let plain = WITHOUT_ARGUMENTS.iter().copied().chain(dialogs);
    let mut tools: Vec<Tool> = plain.map(|name| tool(name, &json!({"type": "object"}))).collect();
    tools.extend([
        tool("greet", &one_string("name")),
        tool("test_sampling", &one_string("prompt")),
        tool("test_elicitation", &one_string("message")),
        tool("test_mirrored_header", &mirrored()),
        tool("json_schema_2020_12_tool", &vocabulary()),
    ]);
    tools.extend(jobs::TOOLS.iter().map(|name| tool(name, &jobs::schema(name))));
    if versions.tools % 2 == 1 {
        tools.push(tool("test_changing_tool", &json!({"type": "object"})));
    }
    tools
}

fn tool(name: &'static str, schema: &Value) -> Tool {
    let schema: JsonObject = schema.as_object().expect("an object").clone();
    Tool::new(name, "A fixture of the conformance suite", schema)
}

fn one_string(name: &str) -> Value {
    json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]})
}

/// An argument that a client repeats in the header `Mcp-Param-Region` (SEP-2243).
fn mirrored() -> Value {
    json!({"type": "object", "required": ["region"], "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"}}})
}

/// Keywords of JSON Schema 2020-12 that must reach the client as they are.
fn vocabulary() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }},
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    })
}

pub async fn call(
    name: &str,
    arguments: &JsonObject,
    context: &RequestContext<RoleServer>,
    changes: &Changes,
) -> Result<CallToolResult, ErrorData> {
    if let Some(result) = legacy::call(name, arguments, &context.peer).await {
        return Ok(result);
    }
    match name {
        "greet" => {
            let name = arguments.get("name").and_then(Value::as_str).unwrap_or_default();
            return Ok(CallToolResult::success(vec![text(&format!("Hello, {name}!"))]));
        }
        "test_error_handling" => {
            let text = "This tool intentionally returns an error for testing";
            return Ok(CallToolResult::error(vec![ContentBlock::text(text)]));
        }
        "test_tool_with_progress" => report(context).await,
        "test_tool_with_logging" => log(context).await,
        // If a request names a log level, the default is to log nothing.
        "test_logging_tool" if context.meta.log_level().is_some() => log(context).await,
        "test_trigger_tool_change" => changes.change(|versions| versions.tools += 1),
        "test_trigger_prompt_change" => changes.change(|versions| versions.prompts += 1),
        _ => {}
    }
    let known = listed(changes.versions()).iter().any(|tool| tool.name == name);
    let unknown = || ErrorData::invalid_params(format!("unknown tool {name}"), None);
    known.then(|| CallToolResult::success(content(name))).ok_or_else(unknown)
}

fn content(name: &str) -> Vec<ContentBlock> {
    match name {
        "test_simple_text" => vec![text("This is a simple text response for testing.")],
        "test_image_content" => vec![image()],
        "test_audio_content" => vec![ContentBlock::audio(WAV, "audio/wav")],
        "test_embedded_resource" => vec![resource(
            "test://embedded-resource",
            "text/plain",
            "This is an embedded resource content.",
        )],
        "test_multiple_content_types" => vec![
            text("Multiple content types test:"),
            image(),
            resource(
                "test://mixed-content-resource",
                "application/json",
                r#"{"test":"data","value":123}"#,
            ),
        ],
        _ => vec![text("Done.")],
    }
}

fn text(text: &str) -> ContentBlock {
    ContentBlock::text(text)
}

fn image() -> ContentBlock {
    ContentBlock::image(PNG, "image/png")
}

fn resource(uri: &str, mime_type: &str, text: &str) -> ContentBlock {
    ContentBlock::resource(ResourceContents::text(text, uri).with_mime_type(mime_type))
}

async fn report(context: &RequestContext<RoleServer>) {
    let Some(token) = context.meta.get_progress_token() else { return };
    for progress in [0.0, 50.0, 100.0] {
        let progress = ProgressNotificationParam::new(token.clone(), progress).with_total(100.0);
        // The client may have disconnected.
        let _ = context.peer.notify_progress(progress).await;
    }
}

async fn log(context: &RequestContext<RoleServer>) {
    for step in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        let message = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(step));
        let _ = context.peer.notify_logging_message(message).await;
    }
}
