//! Extractors whose errors name the invalid field.

use axum::RequestExt as _;
use axum::extract::path::ErrorKind as PathErrorKind;
use axum::extract::rejection::{BytesRejection, FailedToBufferBody, PathRejection};
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, header};
use serde::de::DeserializeOwned;
use url::form_urlencoded;

use crate::json_depth;
use crate::limits::MAX_BODY_BYTES;
use crate::problem::Problem;
use crate::validate::Validate;

/// A validated JSON body of the wire type `T`.
#[derive(Debug)]
pub struct ValidJson<T: Validate>(pub T::Checked);

/// A body of type `application/x-www-form-urlencoded`, as OAuth sends it.
#[derive(Debug)]
pub struct Form<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Form<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Problem> {
        let declared = request.headers().get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok());
        let essence = declared.and_then(|value| value.split(';').next()).unwrap_or_default();
        if !essence.trim().eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            let detail = "send the header `Content-Type: application/x-www-form-urlencoded`";
            return Err(Problem::wrong_media_type(detail));
        }
        let bytes = read_body(request, MAX_BODY_BYTES).await?;
        let text = std::str::from_utf8(&bytes);
        let text = text.map_err(|_| Problem::invalid("the body is not UTF-8").field("body"))?;
        Ok(Self(from_query::<T>(text)?))
    }
}

/// A validated query string of the wire type `T`.
#[derive(Debug)]
pub struct ValidQuery<T: Validate>(pub T::Checked);

/// Validated path parameters of the wire type `T`, which must have named fields.
#[derive(Debug)]
pub struct ValidPath<T: Validate>(pub T::Checked);

impl<S: Send + Sync, T: Validate + DeserializeOwned> FromRequest<S> for ValidJson<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Problem> {
        if !declares_json(request.headers()) {
            return Err(Problem::unsupported_media_type());
        }
        let bytes = read_body(request, MAX_BODY_BYTES).await?;
        Ok(Self(from_json::<T>(&bytes)?.check()?))
    }
}

impl<S: Send + Sync, T: Validate + DeserializeOwned> FromRequestParts<S> for ValidQuery<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        Ok(Self(from_query::<T>(parts.uri.query().unwrap_or_default())?.check()?))
    }
}

impl<S: Send + Sync, T: Validate + DeserializeOwned + Send> FromRequestParts<S> for ValidPath<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match Path::<T>::from_request_parts(parts, state).await {
            Ok(Path(path)) => Ok(Self(path.check()?)),
            Err(rejection) => Err(unmatched(&rejection)),
        }
    }
}

/// Whether the content type is `application/json` or `application/*+json`, with any parameters.
fn declares_json(headers: &HeaderMap) -> bool {
    let declared = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = declared.and_then(|value| value.split(';').next()).unwrap_or_default();
    let essence = essence.trim().to_ascii_lowercase();
    essence == "application/json"
        || (essence.starts_with("application/") && essence.ends_with("+json"))
}

/// Reads a body. `limit` is that of the layer around the route, for the error.
pub async fn read_body(request: Request, limit: usize) -> Result<Bytes, Problem> {
    request.extract().await.map_err(|rejection: BytesRejection| match rejection {
        BytesRejection::FailedToBufferBody(FailedToBufferBody::LengthLimitError(_)) => {
            Problem::too_large(limit)
        }
        _ => Problem::invalid("the body is incomplete"),
    })
}

fn from_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    json_depth::check(bytes)?;
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        let inner = error.into_inner();
        if inner.is_data() {
            invalid_value(&path, &inner.to_string())
        } else {
            Problem::invalid(format!("the body is not valid JSON: {inner}")).field("body")
        }
    })?;
    deserializer.end().map_err(|error| {
        Problem::invalid(format!("the body continues after its JSON value: {error}")).field("body")
    })?;
    Ok(value)
}

fn from_query<T: DeserializeOwned>(query: &str) -> Result<T, Problem> {
    let pairs = form_urlencoded::parse(query.as_bytes());
    let deserializer = serde_urlencoded::Deserializer::new(pairs);
    serde_path_to_error::deserialize(deserializer)
        .map_err(|error| invalid_value(&error.path().to_string(), &error.inner().to_string()))
}

fn unmatched(rejection: &PathRejection) -> Problem {
    let PathRejection::FailedToDeserializePathParams(failure) = rejection else {
        return Problem::unknown_path();
    };
    match failure.kind() {
        PathErrorKind::ParseErrorAtKey { key, expected_type, .. } => {
            Problem::invalid(format!("must be of type {expected_type}")).field(key)
        }
        PathErrorKind::DeserializeError { key, message, .. } => {
            Problem::invalid(rule_of(message)).field(key)
        }
        PathErrorKind::InvalidUtf8InPathParam { key } => {
            Problem::invalid("must be UTF-8 once it is percent-decoded").field(key)
        }
        other => Problem::invalid(other.to_string()).field("path"),
    }
}

/// Returns the error of a value of another type.
fn invalid_value(path: &str, message: &str) -> Problem {
    Problem::invalid(rule_of(message)).field(field_at(path, message))
}

/// Converts serde's message to a rule for the field, without the position in the JSON.
fn rule_of(message: &str) -> String {
    let message = message.rsplit_once(" at line ").map_or(message, |(message, _)| message);
    let names = |list: &str| list.replace("one of ", "").replace('`', "");
    if let Some((_, expected)) = message.split_once("expected ") {
        if message.starts_with("unknown variant ") {
            return format!("must be one of: {}", names(expected));
        }
        if message.starts_with("unknown field ") {
            return format!("is not a known field; use one of: {}", names(expected));
        }
    }
    if message.starts_with("missing field ") {
        return "is required".to_owned();
    }
    if message.starts_with("duplicate field ") {
        return "is given more than once".to_owned();
    }
    if message.starts_with("UUID parsing failed") {
        return "must be a UUID".to_owned();
    }
    match message.strip_prefix("invalid type: ").and_then(|rest| rest.split_once(", expected ")) {
        Some((found, expected)) => format!("must be {expected}, not {found}"),
        None => message.to_owned(),
    }
}

/// Returns the path of a field. serde reports a missing or duplicate field at its parent, so the
/// name is taken from its message.
fn field_at(path: &str, message: &str) -> String {
    let parent = if path == "." { "" } else { path };
    match (named_in(message), parent) {
        (Some(name), "") => name.to_owned(),
        (Some(name), parent) => format!("{parent}.{name}"),
        (None, "") => "body".to_owned(),
        (None, path) => path.to_owned(),
    }
}

fn named_in(message: &str) -> Option<&str> {
    let named = message
        .strip_prefix("missing field `")
        .or_else(|| message.strip_prefix("duplicate field `"))?;
    named.split('`').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serde_messages_become_rules() {
        for (message, expected) in [
            (
                "unknown variant `wiki`, expected one of `memory`, `doc` at line 1 column 16",
                "must be one of: memory, doc",
            ),
            (
                "unknown field `depth`, expected `query` or `limit`",
                "is not a known field; use one of: query or limit",
            ),
            ("missing field `query` at line 1 column 2", "is required"),
            ("duplicate field `query` at line 1 column 20", "is given more than once"),
            (
                "invalid type: string \"yes\", expected a boolean at line 3 column 9",
                "must be a boolean, not string \"yes\"",
            ),
            ("UUID parsing failed: invalid character: found `p` at 1", "must be a UUID"),
            ("number out of range at line 1 column 4", "number out of range"),
        ] {
            assert_eq!(rule_of(message), expected);
        }
    }
}
