//! RFC 9457 problem documents: the only shape in which this API says no.

use std::fmt::Display;
use std::time::Duration;

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use mc_domain::{Classified, ErrorKind};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

/// Media type of a problem document.
pub const PROBLEM_JSON: &str = "application/problem+json";

/// After how long a transient refusal is worth another try, where nothing more is known.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// An answer other than success. It travels in the response's extensions too, so that the outermost
/// layer can add the request id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    class: &'static Class,
    detail: String,
    field: Option<String>,
    hint: Option<String>,
    /// Seconds.
    retry_after: u64,
}

/// What all problems of one type share. The slug and the title never change once published.
#[derive(Debug, PartialEq, Eq)]
struct Class {
    slug: &'static str,
    title: &'static str,
    status: StatusCode,
}

macro_rules! classes {
    ($($name:ident = $status:ident $slug:literal $title:literal;)+) => {
        $(static $name: Class =
            Class { slug: $slug, title: $title, status: StatusCode::$status };)+
    };
}

classes! {
    INVALID = BAD_REQUEST "invalid-request" "The request is not valid";
    UNAUTHENTICATED = UNAUTHORIZED "unauthenticated" "A bearer token is needed";
    FORBIDDEN = FORBIDDEN "forbidden" "Not allowed";
    NOT_FOUND = NOT_FOUND "not-found" "Not found";
    METHOD_NOT_ALLOWED = METHOD_NOT_ALLOWED "method-not-allowed" "Method not allowed";
    CONFLICT = CONFLICT "conflict" "The current state forbids it";
    PRECONDITION_FAILED =
        PRECONDITION_FAILED "precondition-failed" "It was changed meanwhile";
    PRECONDITION_REQUIRED =
        PRECONDITION_REQUIRED "precondition-required" "The version to change must be named";
    TOO_LARGE = PAYLOAD_TOO_LARGE "too-large" "The request is too large";
    TARGET_TOO_LONG = URI_TOO_LONG "uri-too-long" "The URL is too long";
    MISDIRECTED = MISDIRECTED_REQUEST "misdirected" "Not the service asked for";
    UNSUPPORTED_MEDIA_TYPE =
        UNSUPPORTED_MEDIA_TYPE "unsupported-media-type" "Unsupported media type";
    RATE_LIMITED = TOO_MANY_REQUESTS "rate-limited" "Too many requests";
    INTERNAL = INTERNAL_SERVER_ERROR "internal" "The service failed";
    UNAVAILABLE = SERVICE_UNAVAILABLE "unavailable" "Unavailable for now";
    TIMEOUT = GATEWAY_TIMEOUT "timeout" "The request took too long";
}

/// The one mapping from kinds of error to HTTP.
fn class_of(kind: ErrorKind) -> &'static Class {
    match kind {
        ErrorKind::Invalid => &INVALID,
        ErrorKind::Unauthenticated => &UNAUTHENTICATED,
        ErrorKind::Forbidden => &FORBIDDEN,
        ErrorKind::NotFound => &NOT_FOUND,
        ErrorKind::Conflict => &CONFLICT,
        ErrorKind::TooLarge => &TOO_LARGE,
        ErrorKind::RateLimited => &RATE_LIMITED,
        ErrorKind::Unavailable => &UNAVAILABLE,
        ErrorKind::Internal => &INTERNAL,
    }
}

impl Problem {
    /// A request that breaks a rule in a part that is no single field.
    pub fn invalid(detail: impl Into<String>) -> Self {
        Self::of(&INVALID, detail)
    }

    /// No valid credential came with the request.
    pub fn unauthenticated() -> Self {
        Self::of(&UNAUTHENTICATED, "send the header `Authorization: Bearer <token>`")
            .hint("the token is in the file that `memory-copilot config show` names")
    }

    /// The caller may not do this.
    pub fn forbidden(detail: impl Into<String>) -> Self {
        Self::of(&FORBIDDEN, detail)
    }

    /// The request asks for a host that this service is not.
    pub fn misdirected(detail: impl Into<String>) -> Self {
        Self::of(&MISDIRECTED, detail)
    }

    /// The request is well formed, and what it is about does not allow it.
    pub fn conflict(detail: impl Into<String>) -> Self {
        Self::of(&CONFLICT, detail)
    }

    /// What the request names is not there.
    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::of(&NOT_FOUND, detail)
    }

    /// No route has this path.
    pub fn unknown_path() -> Self {
        Self::not_found("no such path").hint("GET /openapi.json lists the paths")
    }

    /// The path exists, but not with this method.
    pub fn method_not_allowed() -> Self {
        Self::of(&METHOD_NOT_ALLOWED, "this path does not answer to that method")
            .hint("GET /openapi.json lists the methods of every path")
    }

    /// The body is larger than `limit` bytes.
    pub fn too_large(limit: usize) -> Self {
        Self::of(&TOO_LARGE, format!("the body is larger than {limit} bytes"))
    }

    /// The path with its query is longer than `limit` bytes.
    pub fn target_too_long(limit: usize) -> Self {
        Self::of(&TARGET_TOO_LONG, format!("path and query are longer than {limit} bytes"))
    }

    /// The body is not declared as JSON.
    pub fn unsupported_media_type() -> Self {
        Self::unsupported_media_type_but("send the header `Content-Type: application/json`")
    }

    /// The body is not declared as what the detail says.
    pub fn unsupported_media_type_but(detail: &str) -> Self {
        Self::of(&UNSUPPORTED_MEDIA_TYPE, detail)
    }

    /// What is to be changed is not what the caller read.
    pub fn precondition_failed(detail: impl Into<String>) -> Self {
        Self::of(&PRECONDITION_FAILED, detail)
    }

    /// The request does not say what the caller read.
    pub fn precondition_required(detail: impl Into<String>) -> Self {
        Self::of(&PRECONDITION_REQUIRED, detail)
    }

    /// Something the service needs is away.
    pub fn unavailable(detail: impl Into<String>) -> Self {
        Self::of(&UNAVAILABLE, detail)
    }

    /// The caller asked too often, and may again after `wait`.
    pub fn rate_limited(detail: impl Display, wait: Duration) -> Self {
        Self::not_now(&RATE_LIMITED, detail, wait)
    }

    /// The service has as much to do as it takes on.
    pub fn overloaded(detail: impl Display) -> Self {
        Self::not_now(&UNAVAILABLE, detail, RETRY_AFTER)
    }

    /// The request was given up after its time limit; what it had begun was rolled back.
    pub fn timeout() -> Self {
        Self::of(&TIMEOUT, "the request was given up; nothing of it was kept")
    }

    /// A fault of the service. The cause is for the log, never for the answer.
    pub fn internal() -> Self {
        Self::of(&INTERNAL, "a fault of the service; its log names the cause by the request id")
    }

    /// Names the part of the request at fault, as the wire spells it (`scope[2]`).
    pub fn field(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    /// Says what to do about it.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What is wrong and with which part, for answers of another shape.
    pub fn in_words(&self) -> String {
        match &self.field {
            Some(field) => format!("`{field}` {}", self.detail),
            None => self.detail.clone(),
        }
    }

    /// The HTTP status this problem answers with.
    pub fn status(&self) -> StatusCode {
        self.class.status
    }

    /// The answer, with the id of the request it belongs to.
    pub fn respond(self, request_id: Option<Uuid>) -> Response {
        let mut response = (self.status(), Json(self.document(request_id))).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
        if self.class == &UNAUTHENTICATED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if self.class == &UNAVAILABLE || self.class == &RATE_LIMITED {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(self.retry_after));
        }
        response.extensions_mut().insert(self);
        response
    }

    fn of(class: &'static Class, detail: impl Into<String>) -> Self {
        Self {
            class,
            detail: detail.into(),
            field: None,
            hint: None,
            retry_after: whole_seconds(RETRY_AFTER),
        }
    }

    /// The time to wait is in the words too: who reads them often has no headers to look at.
    fn not_now(class: &'static Class, detail: impl Display, wait: Duration) -> Self {
        let retry_after = whole_seconds(wait);
        let problem = Self::of(class, format!("{detail}; try again in {retry_after} s"));
        Self { retry_after, ..problem }
    }

    fn document(&self, request_id: Option<Uuid>) -> ProblemDocument {
        // What is wrong may be told in the caller's own words.
        let masked = |text: &String| mc_sanitizer::mask(text).text.into_string();
        ProblemDocument {
            r#type: format!("urn:memory-copilot:problem:{}", self.class.slug),
            title: self.class.title.to_owned(),
            status: self.class.status.as_u16(),
            detail: masked(&self.detail),
            field: self.field.as_ref().map(masked),
            hint: self.hint.as_ref().map(masked),
            request_id,
        }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.detail)
    }
}

/// Not one too few, and at least one: 0 would be an invitation to try at once.
fn whole_seconds(wait: Duration) -> u64 {
    let started = u64::from(wait.subsec_nanos() > 0);
    (wait.as_secs() + started).max(1)
}

impl<E: Classified> From<E> for Problem {
    fn from(error: E) -> Self {
        let kind = error.kind();
        if kind == ErrorKind::Internal {
            tracing::error!(error.cause = %with_sources(&error), "request failed");
            return Self::internal();
        }
        if kind == ErrorKind::Unavailable {
            tracing::warn!(error.cause = %with_sources(&error), "a dependency is unavailable");
        }
        let mut problem = Self::of(class_of(kind), error.to_string());
        problem.field = error.field();
        problem.hint = error.hint();
        problem
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        self.respond(None)
    }
}

/// The message with those of its causes, for the log.
fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

/// An error as RFC 9457 has it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub struct ProblemDocument {
    /// A stable name of the kind of problem.
    #[schema(example = "urn:memory-copilot:problem:invalid-request")]
    r#type: String,
    /// The kind of problem in words.
    #[schema(example = "The request is not valid")]
    title: String,
    /// The HTTP status.
    #[schema(example = 400)]
    status: u16,
    /// What is wrong with this request.
    #[schema(example = "must not be empty")]
    detail: String,
    /// The part of the request at fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "scope[2]")]
    field: Option<String>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// The id of this request, as in the header `x-request-id` and in the service's log.
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<Uuid>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("password of postgres://secret is wrong")]
    struct Fault(ErrorKind);

    impl Classified for Fault {
        fn kind(&self) -> ErrorKind {
            self.0
        }
        fn field(&self) -> Option<String> {
            Some("owner".into())
        }
    }

    #[test]
    fn an_internal_error_shows_nothing_of_its_cause() {
        let problem = Problem::from(Fault(ErrorKind::Internal));
        assert_eq!(problem, Problem::internal());
    }

    #[test]
    fn the_time_to_wait_is_told_in_whole_seconds() {
        for (millis, expected) in [(0, "1"), (1, "1"), (1_000, "1"), (1_001, "2"), (59_999, "60")] {
            let problem = Problem::rate_limited("too many", Duration::from_millis(millis));
            assert_eq!(problem.detail, format!("too many; try again in {expected} s"));
            assert_eq!(problem.respond(None).headers()[header::RETRY_AFTER], expected);
        }
    }

    #[test]
    fn every_other_kind_keeps_its_message_and_field() {
        for kind in [
            ErrorKind::Invalid,
            ErrorKind::Unauthenticated,
            ErrorKind::Forbidden,
            ErrorKind::NotFound,
            ErrorKind::Conflict,
            ErrorKind::TooLarge,
            ErrorKind::RateLimited,
            ErrorKind::Unavailable,
        ] {
            let problem = Problem::from(Fault(kind));
            assert_eq!(problem.detail, Fault(kind).to_string());
            assert_eq!(problem.field.as_deref(), Some("owner"));
            assert!(!problem.status().is_success());
        }
    }
}
