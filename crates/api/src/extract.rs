//! Extractors whose errors name the invalid field.

use axum::RequestExt as _;
use axum::extract::path::ErrorKind as PathErrorKind;
use axum::extract::rejection::{BytesRejection, FailedToBufferBody, PathRejection};
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, header};
use mc_contract::{Request as Requested, read};
use serde::de::DeserializeOwned;
use url::form_urlencoded;

use crate::json_limits;
use crate::limits::MAX_BODY_BYTES;
use crate::problem::Problem;

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

/// A JSON body as request `T`.
#[derive(Debug)]
pub struct JsonBody<T: Requested>(pub T);

/// The query string as request `T`.
#[derive(Debug)]
pub struct QueryString<T: Requested>(pub T);

/// The path's parameters as request `T`, which must have named fields.
#[derive(Debug)]
pub struct PathParams<T: Requested>(pub T);

impl<S: Send + Sync, T: Requested> FromRequest<S> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Problem> {
        if !declares_json(request.headers()) {
            return Err(Problem::unsupported_media_type());
        }
        let bytes = read_body(request, MAX_BODY_BYTES).await?;
        checked(from_json::<T>(&bytes)?).map(Self)
    }
}

impl<S: Send + Sync, T: Requested> FromRequestParts<S> for QueryString<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        checked(from_query::<T>(parts.uri.query().unwrap_or_default())?).map(Self)
    }
}

impl<S: Send + Sync, T: Requested + Send> FromRequestParts<S> for PathParams<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let given = Path::<Vec<(String, String)>>::from_request_parts(parts, state).await;
        let Path(given) = given.map_err(|rejection| unmatched(&rejection))?;
        // As a query string, in which numbers and ids are parsed and errors name their parameter.
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, value) in given {
            query.append_pair(&name, &value);
        }
        checked(from_query::<T>(&query.finish())?).map(Self)
    }
}

/// Checks the rules between the fields of a request.
fn checked<T: Requested>(request: T) -> Result<T, Problem> {
    request.check()?;
    Ok(request)
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
    json_limits::check(bytes)?;
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
            Problem::invalid(read::rule_of(message)).field(key)
        }
        PathErrorKind::InvalidUtf8InPathParam { key } => {
            Problem::invalid("must be UTF-8 once it is percent-decoded").field(key)
        }
        other => Problem::invalid(other.to_string()).field("path"),
    }
}

/// A value that is JSON, but breaks a rule of its field.
fn invalid_value(path: &str, message: &str) -> Problem {
    read::explain(path, message).into()
}
