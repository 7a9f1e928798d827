//! Replies: texts, and the ways in which servers fail.

use std::io;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures::stream::{self, StreamExt as _};

use super::ModelProtocol;
use super::protocols::End;

/// Characters of a part of a streamed text.
const PART: usize = 16;

/// A reply to a request.
#[derive(Debug, Clone)]
pub struct Reply {
    content: Content,
    delay: Duration,
}

#[derive(Debug, Clone)]
enum Content {
    Text {
        text: String,
        end: End,
        /// Tokens of the prompt and of the completion.
        usage: Option<(u32, u32)>,
        /// Number of parts after which the connection breaks.
        parts: Option<usize>,
        /// Wait before each part.
        pace: Duration,
    },
    Status {
        status: u16,
        retry_after: Option<u64>,
        message: String,
    },
    Raw(String),
}

impl Reply {
    /// Answers with a text, in parts.
    pub fn text(text: impl Into<String>) -> Self {
        let (text, end, pace) = (text.into(), End::Complete, Duration::ZERO);
        Self::of(Content::Text { text, end, usage: None, parts: None, pace })
    }

    /// Fails with a status and a message, in the protocol's form.
    pub fn status(status: u16, message: impl Into<String>) -> Self {
        Self::of(Content::Status { status, retry_after: None, message: message.into() })
    }

    /// Answers 200 with any body.
    pub fn raw(body: impl Into<String>) -> Self {
        Self::of(Content::Raw(body.into()))
    }

    fn of(content: Content) -> Self {
        Self { content, delay: Duration::ZERO }
    }

    /// Reports these tokens of the prompt and the completion.
    #[must_use]
    pub fn with_usage(mut self, prompt: u32, completion: u32) -> Self {
        if let Content::Text { usage, .. } = &mut self.content {
            *usage = Some((prompt, completion));
        }
        self
    }

    /// Ends the text because of the limit of tokens.
    #[must_use]
    pub fn cut_by_token_limit(self) -> Self {
        self.ending(End::TokenLimit)
    }

    /// Ends the text as a refusal of the model or its filter.
    #[must_use]
    pub fn declined(self) -> Self {
        self.ending(End::Declined)
    }

    fn ending(mut self, new: End) -> Self {
        if let Content::Text { end, .. } = &mut self.content {
            *end = new;
        }
        self
    }

    /// Breaks the connection after this number of parts.
    #[must_use]
    pub fn broken_off_after(mut self, count: usize) -> Self {
        if let Content::Text { parts, .. } = &mut self.content {
            *parts = Some(count);
        }
        self
    }

    /// Waits before each part of the text.
    #[must_use]
    pub fn slowly(mut self, wait: Duration) -> Self {
        if let Content::Text { pace, .. } = &mut self.content {
            *pace = wait;
        }
        self
    }

    /// Requests a wait, in seconds.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        if let Content::Status { retry_after, .. } = &mut self.content {
            *retry_after = Some(seconds);
        }
        self
    }

    /// Waits before the response.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    pub(super) async fn into_response(self, protocol: ModelProtocol) -> Response {
        tokio::time::sleep(self.delay).await;
        match self.content {
            Content::Text { text, end, usage, parts, pace } => {
                let events = events(protocol, &text, end, usage);
                stream_of(protocol, events, parts, pace)
            }
            Content::Status { status, retry_after, message } => {
                let status = StatusCode::from_u16(status).expect("a status");
                let body = axum::Json(protocol.error(&message));
                let mut response = (status, body).into_response();
                if let Some(seconds) = retry_after {
                    response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
                }
                response
            }
            Content::Raw(body) => {
                ([(header::CONTENT_TYPE, protocol.content_type())], body).into_response()
            }
        }
    }
}

/// Returns the events of a text: its beginning, its parts and its end.
fn events(protocol: ModelProtocol, text: &str, end: End, usage: Option<(u32, u32)>) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let parts = characters.chunks(PART).map(|part| protocol.part(&part.iter().collect::<String>()));
    std::iter::once(protocol.beginning(usage))
        .chain(parts)
        .chain([protocol.end(end, usage)])
        .collect()
}

/// Returns a response that streams events; with `parts`, it breaks off after so many.
fn stream_of(
    protocol: ModelProtocol,
    events: Vec<String>,
    parts: Option<usize>,
    pace: Duration,
) -> Response {
    let broken = parts.map(|_| Err(io::Error::other("scripted")));
    let sent = parts.map_or(events.len(), |parts| parts + 1);
    let good = events.into_iter().take(sent).map(|event| Ok(Bytes::from(event)));
    let all = stream::iter(good.chain(broken)).then(move |event| async move {
        tokio::time::sleep(pace).await;
        event
    });
    let content_type = [(header::CONTENT_TYPE, protocol.content_type())];
    (content_type, Body::from_stream(all)).into_response()
}
