//! Tools that ask the client in the middle of a call, as revisions before 2026-07-28 do.

use rmcp::model::{
    CallToolResult, ContentBlock, CreateMessageRequestParams, ElicitRequestParams, JsonObject,
    SamplingMessage,
};
use rmcp::service::{Peer, RoleServer, ServiceError};
use serde_json::{Value, json};

/// Answers the call if `name` is one of these tools.
pub async fn call(
    name: &str,
    arguments: &JsonObject,
    peer: &Peer<RoleServer>,
) -> Option<CallToolResult> {
    let argument = |name| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let said = match name {
        "test_sampling" => sample(peer, argument("prompt")).await,
        "test_elicitation" => {
            let said = elicit(peer, argument("message"), &user()).await;
            said.map(|said| format!("User response: {said}"))
        }
        "test_elicitation_sep1034_defaults" => completed(peer, &defaults()).await,
        "test_elicitation_sep1330_enums" => completed(peer, &choices()).await,
        _ => return None,
    };
    Some(match said {
        Ok(said) => CallToolResult::success(vec![ContentBlock::text(said)]),
        Err(error) => CallToolResult::error(vec![ContentBlock::text(error.to_string())]),
    })
}

async fn sample(peer: &Peer<RoleServer>, prompt: &str) -> Result<String, ServiceError> {
    let messages = vec![SamplingMessage::user_text(prompt)];
    let answer = peer.create_message(CreateMessageRequestParams::new(messages, 100)).await?;
    let text = answer.message.content.first().and_then(|content| content.as_text());
    Ok(format!("LLM response: {}", text.map_or("no text", |text| text.text.as_str())))
}

async fn completed(peer: &Peer<RoleServer>, schema: &Value) -> Result<String, ServiceError> {
    let said = elicit(peer, "Please fill in the form", schema).await?;
    Ok(format!("Elicitation completed: {said}"))
}

async fn elicit(
    peer: &Peer<RoleServer>,
    message: &str,
    schema: &Value,
) -> Result<String, ServiceError> {
    let request = json!({"mode": "form", "message": message, "requestedSchema": schema});
    let request: ElicitRequestParams = serde_json::from_value(request).expect("a form");
    let result = peer.create_elicitation(request).await?;
    let (action, content) = (json!(result.action), result.content.unwrap_or_default());
    Ok(format!("action={}, content={content}", action.as_str().unwrap_or_default()))
}

fn user() -> Value {
    json!({
        "type": "object",
        "properties": {
            "username": {"type": "string", "description": "User's response"},
            "email": {"type": "string", "description": "User's email address"},
        },
        "required": ["username", "email"],
    })
}

fn defaults() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {"type": "string", "enum": ["active", "inactive", "pending"],
            "default": "active"},
            "verified": {"type": "boolean", "default": true},
        },
    })
}

fn choices() -> Value {
    let options = ["option1", "option2", "option3"];
    let titled = json!([
        {"const": "value1", "title": "First"},
        {"const": "value2", "title": "Second"},
        {"const": "value3", "title": "Third"},
    ]);
    json!({
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": options},
            "titledSingle": {"type": "string", "oneOf": titled},
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
            "titledMulti": {"type": "array", "items": {"anyOf": titled}},
        },
    })
}
