//! Models of the scripted server.

#![allow(dead_code, reason = "each test uses a part")]

use std::sync::Arc;
use std::time::Duration;

use mc_chat::{
    ChatModel, ChatModelSettings, ChatModels, ChatRequest, ChatSettings, Completion, Failure,
    JsonAnswer, ModelRole,
};
use mc_sanitizer::{Sanitized, mask};
use mc_testkit::{ModelProtocol, ModelServer};
use serde_json::json;

pub fn sanitized(text: &str) -> Sanitized {
    mask(text).text
}

pub fn question() -> ChatRequest {
    ChatRequest::new(sanitized("Answer briefly."), sanitized("Why does the cart lose items?"))
}

pub fn score() -> Arc<JsonAnswer> {
    let schema = json!({
        "type": "object", "additionalProperties": false, "required": ["score"],
        "properties": {"score": {"type": "number", "minimum": 0, "maximum": 1}},
    });
    Arc::new(JsonAnswer::new("score", schema).expect("a schema"))
}

/// Returns settings for a model of the server.
pub fn settings(server: &ModelServer, protocol: ModelProtocol) -> ChatModelSettings {
    let provider = match protocol {
        ModelProtocol::OpenAi => "openai_compatible",
        ModelProtocol::Anthropic => "anthropic",
        ModelProtocol::Ollama => "ollama",
    };
    let key = std::env::temp_dir().join(format!("chat-key-{}", std::process::id()));
    std::fs::write(&key, "sesame").expect("a file");
    let settings = json!({
        "provider": provider, "model": "small-model-max", "roles": ["judge"],
        "base_url": server.base_url(protocol), "api_key_file": key, "max_concurrent": 1,
    });
    serde_json::from_value(settings).expect("settings")
}

pub fn model(server: &ModelServer, protocol: ModelProtocol) -> Arc<ChatModel> {
    model_with(server, protocol, |_| {})
}

pub fn model_with(
    server: &ModelServer,
    protocol: ModelProtocol,
    change: impl FnOnce(&mut ChatModelSettings),
) -> Arc<ChatModel> {
    let mut settings = settings(server, protocol);
    change(&mut settings);
    let settings = ChatSettings { models: [("small".to_owned(), settings)].into() };
    let models = ChatModels::open(&settings).expect("models");
    Arc::clone(models.with_role(ModelRole::Judge).expect("a judge"))
}

pub async fn answer(model: &ChatModel, request: &ChatRequest) -> Result<Completion, Failure> {
    model.complete(request).await
}

/// Waits until a condition holds.
pub async fn until(holds: impl Fn() -> bool) {
    while !holds() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
