//! What came back, in bounds.

use bytes::Bytes;
use reqwest::header::{HeaderMap, HeaderName};
use reqwest::{Response, StatusCode};
use serde::de::DeserializeOwned;

use super::Http;
use crate::client::Error;

/// The largest answer that is read.
const MOST_BYTES: usize = 32 * 1024 * 1024;

/// An answer.
#[derive(Debug, Clone)]
pub(in crate::client) struct Answer {
    pub(in crate::client) status: StatusCode,
    pub(in crate::client) headers: HeaderMap,
    pub(in crate::client) body: Bytes,
}

impl Answer {
    /// A header as text.
    pub(super) fn header(&self, name: impl Into<HeaderName>) -> Option<&str> {
        self.headers.get(name.into()).and_then(|value| value.to_str().ok())
    }
}

pub(super) async fn read(
    http: &Http,
    action: &str,
    mut response: Response,
) -> Result<Answer, Error> {
    let (status, headers) = (response.status(), response.headers().clone());
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| http.lost(&error))? {
        if body.len() + chunk.len() > MOST_BYTES {
            return Err(http.odd(action, "more than 32 MiB".to_owned()));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Answer { status, headers, body: body.into() })
}

/// The body as far as `T` knows it. What is wrong is said with its place and without its text.
pub(in crate::client) fn parsed<T: DeserializeOwned>(
    http: &Http,
    action: &str,
    body: &[u8],
) -> Result<T, Error> {
    let mut json = serde_json::Deserializer::from_slice(body);
    serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let field = error.path().to_string();
        let error = error.into_inner();
        let place = format!("line {}, column {}", error.line(), error.column());
        let reason = match body {
            [] => "nothing".to_owned(),
            _ if error.is_data() => format!("another type than expected in {field} ({place})"),
            _ if error.is_eof() => format!("JSON that breaks off ({place})"),
            _ => format!("what is no JSON ({place})"),
        };
        http.odd(action, reason)
    })
}
