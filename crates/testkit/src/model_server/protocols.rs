//! The events of each protocol.

use serde_json::{Value, json};

/// A protocol of chats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelProtocol {
    /// `/v1/chat/completions`, with server-sent events.
    OpenAi,
    /// `/v1/messages`, with named server-sent events.
    Anthropic,
    /// `/api/chat`, with a JSON object a line.
    Ollama,
}

/// Why an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Complete,
    TokenLimit,
    Declined,
}

impl ModelProtocol {
    /// All protocols.
    pub const ALL: [Self; 3] = [Self::OpenAi, Self::Anthropic, Self::Ollama];

    pub(super) fn path(self) -> &'static str {
        match self {
            Self::OpenAi => "/v1/chat/completions",
            Self::Anthropic => "/v1/messages",
            Self::Ollama => "/api/chat",
        }
    }

    pub(super) fn base(self) -> &'static str {
        match self {
            Self::OpenAi | Self::Anthropic => "/v1",
            Self::Ollama => "",
        }
    }

    pub(super) fn of_path(path: &str) -> Self {
        let found = Self::ALL.into_iter().find(|protocol| protocol.path() == path);
        found.expect("a routed path")
    }

    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::OpenAi | Self::Anthropic => "text/event-stream",
            Self::Ollama => "application/x-ndjson",
        }
    }

    /// Returns what precedes the text.
    pub(super) fn beginning(self, usage: Option<(u32, u32)>) -> String {
        match self {
            Self::OpenAi => data(&json!({"choices": [{"index": 0, "delta": {"role": "assistant",
                    "content": ""}, "finish_reason": null}]})),
            Self::Anthropic => {
                let usage = usage.map(|(prompt, _)| {
                    json!({"input_tokens": prompt,
                    "output_tokens": 1})
                });
                let message = json!({"id": "msg_1", "type": "message", "role": "assistant",
                    "content": [], "model": "scripted", "usage": usage});
                event("message_start", &json!({"type": "message_start", "message": message}))
                    + &event(
                        "content_block_start",
                        &json!({"type": "content_block_start",
                        "index": 0, "content_block": {"type": "text", "text": ""}}),
                    )
            }
            Self::Ollama => String::new(),
        }
    }

    /// Returns a part of the text.
    pub(super) fn part(self, text: &str) -> String {
        match self {
            Self::OpenAi => data(&json!({"choices": [{"index": 0, "delta": {"content": text},
                "finish_reason": null}]})),
            Self::Anthropic => event(
                "content_block_delta",
                &json!({
                "type": "content_block_delta", "index": 0,
                "delta": {"type": "text_delta", "text": text}}),
            ),
            Self::Ollama => line(&json!({"model": "scripted", "done": false,
                "message": {"role": "assistant", "content": text}})),
        }
    }

    /// Returns what follows the text.
    pub(super) fn end(self, end: End, usage: Option<(u32, u32)>) -> String {
        match self {
            Self::OpenAi => {
                let reason = match end {
                    End::Complete => "stop",
                    End::TokenLimit => "length",
                    End::Declined => "content_filter",
                };
                let last = data(&json!({"choices": [{"index": 0, "delta": {},
                    "finish_reason": reason}]}));
                let usage = usage.map(|(prompt, completion)| {
                    data(&json!({"choices": [],
                    "usage": {"prompt_tokens": prompt, "completion_tokens": completion,
                    "total_tokens": prompt + completion}}))
                });
                last + &usage.unwrap_or_default() + "data: [DONE]\n\n"
            }
            Self::Anthropic => {
                let reason = match end {
                    End::Complete => "end_turn",
                    End::TokenLimit => "max_tokens",
                    End::Declined => "refusal",
                };
                let usage = usage.map(|(_, completion)| json!({"output_tokens": completion}));
                event("content_block_stop", &json!({"type": "content_block_stop", "index": 0}))
                    + &event(
                        "message_delta",
                        &json!({"type": "message_delta",
                        "delta": {"stop_reason": reason}, "usage": usage}),
                    )
                    + &event("message_stop", &json!({"type": "message_stop"}))
            }
            Self::Ollama => {
                // Ollama has no filter.
                let reason = if end == End::TokenLimit { "length" } else { "stop" };
                let mut last = json!({"model": "scripted", "done": true, "done_reason": reason,
                    "message": {"role": "assistant", "content": ""}});
                if let Some((prompt, completion)) = usage {
                    last["prompt_eval_count"] = json!(prompt);
                    last["eval_count"] = json!(completion);
                }
                line(&last)
            }
        }
    }

    /// Returns the body of an error.
    pub(super) fn error(self, message: &str) -> Value {
        match self {
            Self::OpenAi => json!({"error": {"message": message, "type": "scripted"}}),
            Self::Anthropic => {
                json!({"type": "error", "error": {"type": "scripted", "message": message}})
            }
            Self::Ollama => json!({"error": message}),
        }
    }
}

fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

fn event(name: &str, value: &Value) -> String {
    format!("event: {name}\ndata: {value}\n\n")
}

fn line(value: &Value) -> String {
    format!("{value}\n")
}
