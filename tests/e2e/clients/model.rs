//! A stand-in for the model that Claude Code calls: it writes a file, and saves when asked to.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// The stand-in and the requests of a conversation.
pub struct Model {
    pub url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Model {
    /// Starts the stand-in. It writes `file`, and saves `lesson`.
    pub async fn start(file: PathBuf, lesson: &'static str) -> Self {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let received = Arc::clone(&requests);
        let answer = move |body: Bytes| {
            let received = Arc::clone(&received);
            let file = file.clone();
            async move {
                let body: Value = serde_json::from_slice(&body).unwrap_or_default();
                let request = body["messages"].to_string();
                // Requests without tools are no part of the conversation, such as for a title.
                let is_conversation = body["tools"]
                    .as_array()
                    .is_some_and(|tools| tools.iter().any(|tool| tool["name"] == "Write"));
                let content = if is_conversation {
                    received.lock().unwrap().push(request.clone());
                    next(&request, &file.to_string_lossy(), lesson)
                } else {
                    json!({"type": "text", "text": "ok"})
                };
                respond(&content, body["stream"] == true)
            }
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(answer);
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, requests }
    }

    /// Returns the messages of each request of the conversation.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// Returns the next block of the assistant.
fn next(request: &str, file: &str, lesson: &str) -> Value {
    let call = |id: &str, name: &str, input: Value| {
        let mut call = json!({"type": "tool_use", "id": id, "name": name});
        call["input"] = input;
        call
    };
    if request.contains("toolu_save") {
        json!({"type": "text", "text": "saved"})
    } else if request.contains("nothing was saved") {
        let input = json!({"kind": "gotcha", "content": lesson});
        call("toolu_save", "mcp__memory-copilot__save", input)
    } else if request.contains("toolu_write") {
        json!({"type": "text", "text": "written"})
    } else {
        call("toolu_write", "Write", json!({"file_path": file, "content": "x"}))
    }
}

fn respond(content: &Value, is_stream: bool) -> Response {
    let stop_reason = if content["type"] == "tool_use" { "tool_use" } else { "end_turn" };
    let message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "stand-in",
        "content": [], "stop_reason": null, "stop_sequence": null,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    });
    if !is_stream {
        let mut message = message;
        message["content"] = json!([content]);
        message["stop_reason"] = stop_reason.into();
        return axum::Json(message).into_response();
    }
    let (start, delta) = if stop_reason == "tool_use" {
        let mut start = content.clone();
        start["input"] = json!({});
        let input = content["input"].to_string();
        (start, json!({"type": "input_json_delta", "partial_json": input}))
    } else {
        let text = &content["text"];
        (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": text}))
    };
    let events = [
        json!({"type": "message_start", "message": message}),
        json!({"type": "content_block_start", "index": 0, "content_block": start}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "usage": {"output_tokens": 1},
               "delta": {"stop_reason": stop_reason, "stop_sequence": null}}),
        json!({"type": "message_stop"}),
    ];
    let event =
        |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    let body: String = events.iter().map(event).collect();
    ([(CONTENT_TYPE, "text/event-stream")], body).into_response()
}
