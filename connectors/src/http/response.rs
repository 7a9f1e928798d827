//! Responses, limited in size.

use bytes::Bytes;
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, HeaderName};
use serde::de::DeserializeOwned;

use super::Http;
use crate::error::Error;

/// Bytes of a body.
const MAX_BYTES: usize = 32 * 1024 * 1024;

/// A complete response.
#[derive(Debug, Clone)]
pub(crate) struct Response {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Response {
    /// Returns a header as text.
    pub(super) fn header(&self, name: impl Into<HeaderName>) -> Option<&str> {
        self.headers.get(name.into()).and_then(|value| value.to_str().ok())
    }
}

pub(super) async fn read(
    http: &Http,
    action: &str,
    mut response: reqwest::Response,
) -> Result<Response, Error> {
    let (status, headers) = (response.status(), response.headers().clone());
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| http.connection_error(&error))? {
        if body.len() + chunk.len() > MAX_BYTES {
            return Err(http.unexpected_response(action, "more than 32 MiB".to_owned()));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Response { status, headers, body: body.into() })
}

/// Parses the fields of `T` from a body. The error has the position and quotes nothing.
pub(super) fn parse<T: DeserializeOwned>(
    http: &Http,
    action: &str,
    body: &[u8],
) -> Result<T, Error> {
    let mut json = serde_json::Deserializer::from_slice(body);
    serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let field = error.path().to_string();
        let error = error.into_inner();
        let position = format!("line {}, column {}", error.line(), error.column());
        let reason = match body {
            [] => "an empty body".to_owned(),
            _ if error.is_data() => format!("an unexpected type in {field} ({position})"),
            _ if error.is_eof() => format!("incomplete JSON ({position})"),
            _ => format!("invalid JSON ({position})"),
        };
        http.unexpected_response(action, reason)
    })
}
