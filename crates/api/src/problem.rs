//! RFC 9457 problem documents, the only form of this API's errors.

use std::fmt::Display;
use std::time::Duration;

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use mc_domain::{Classified, ErrorKind, UntrustedText};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

/// Media type of a problem document.
pub const PROBLEM_JSON: &str = "application/problem+json";

/// The default `Retry-After` of transient errors.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// An error response. It is in the response's extensions as well, so that the outermost layer can
/// add the request id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    class: &'static Class,
    // Detail, field and hint may quote the request.
    detail: UntrustedText,
    field: Option<UntrustedText>,
    hint: Option<UntrustedText>,
    near: Vec<UntrustedText>,
    /// Seconds.
    retry_after: u64,
    /// Whether the log has its cause, with the request id.
    is_logged: bool,
}

/// A type of problem. Slug and title must not change once they are released.
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
    INVALID = BAD_REQUEST "bad-request" "The request is not valid";
    UNAUTHENTICATED = UNAUTHORIZED "unauthorized" "A bearer token is needed";
    FORBIDDEN = FORBIDDEN "forbidden" "Not allowed";
    NOT_FOUND = NOT_FOUND "not-found" "Not found";
    METHOD_NOT_ALLOWED = METHOD_NOT_ALLOWED "method-not-allowed" "Method not allowed";
    CONFLICT = CONFLICT "conflict" "The current state forbids it";
    PRECONDITION_FAILED =
        PRECONDITION_FAILED "precondition-failed" "Precondition failed";
    PRECONDITION_REQUIRED =
        PRECONDITION_REQUIRED "precondition-required" "Precondition required";
    TOO_LARGE = PAYLOAD_TOO_LARGE "content-too-large" "The request is too large";
    TARGET_TOO_LONG = URI_TOO_LONG "uri-too-long" "The URL is too long";
    MISDIRECTED = MISDIRECTED_REQUEST "misdirected-request" "Misdirected request";
    UNSUPPORTED_MEDIA_TYPE =
        UNSUPPORTED_MEDIA_TYPE "unsupported-media-type" "Unsupported media type";
    RATE_LIMITED = TOO_MANY_REQUESTS "too-many-requests" "Too many requests";
    INTERNAL = INTERNAL_SERVER_ERROR "internal-server-error" "The service failed";
    UNAVAILABLE = SERVICE_UNAVAILABLE "service-unavailable" "Service unavailable";
    TIMEOUT = GATEWAY_TIMEOUT "gateway-timeout" "The request took too long";
}

/// Returns the type of a kind of error; the only mapping from errors to HTTP.
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
    /// The request breaks a rule.
    pub fn invalid(detail: impl Into<String>) -> Self {
        Self::of(&INVALID, detail)
    }

    /// The request has no credential.
    pub fn unauthenticated() -> Self {
        Self::of(&UNAUTHENTICATED, "send the header `Authorization: Bearer <token>`")
            .hint("the local token is in the file that `memory-copilot config show` prints")
    }

    /// The request has a bearer token that is not valid, or not any more.
    pub fn invalid_token() -> Self {
        let detail = "the token in the header `Authorization` is unknown, expired or revoked";
        Self { detail: UntrustedText::new(detail), ..Self::unauthenticated() }
    }

    /// The caller may not do this.
    pub fn forbidden(detail: impl Into<String>) -> Self {
        Self::of(&FORBIDDEN, detail)
    }

    /// The request is for another host.
    pub fn misdirected(detail: impl Into<String>) -> Self {
        Self::of(&MISDIRECTED, detail)
    }

    /// The state of the resource does not allow the request.
    pub fn conflict(detail: impl Into<String>) -> Self {
        Self::of(&CONFLICT, detail)
    }

    /// The resource does not exist, or the caller may not see it.
    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::of(&NOT_FOUND, detail)
    }

    /// No route has this path.
    pub fn unknown_path() -> Self {
        Self::not_found("no such path").hint("GET /openapi.json lists the paths")
    }

    /// The path does not have this method.
    pub fn method_not_allowed() -> Self {
        Self::of(&METHOD_NOT_ALLOWED, "this path does not have that method")
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

    /// The content type is not JSON.
    pub fn unsupported_media_type() -> Self {
        Self::wrong_media_type("send the header `Content-Type: application/json`")
    }

    /// The content type is not the one that the detail names.
    pub fn wrong_media_type(detail: &str) -> Self {
        Self::of(&UNSUPPORTED_MEDIA_TYPE, detail)
    }

    /// The resource has changed since the caller read it.
    pub fn precondition_failed(detail: impl Into<String>) -> Self {
        Self::of(&PRECONDITION_FAILED, detail)
    }

    /// The request does not name the version that the caller read.
    pub fn precondition_required(detail: impl Into<String>) -> Self {
        Self::of(&PRECONDITION_REQUIRED, detail)
    }

    /// A dependency of the service is unavailable.
    pub fn unavailable(detail: impl Into<String>) -> Self {
        Self::of(&UNAVAILABLE, detail)
    }

    /// The caller sent too many requests, and may retry after `wait`.
    pub fn rate_limited(detail: impl Display, wait: Duration) -> Self {
        Self::retry_later(&RATE_LIMITED, detail, wait)
    }

    /// The service has too many requests.
    pub fn overloaded(detail: impl Display) -> Self {
        Self::overloaded_for(detail, RETRY_AFTER)
    }

    /// The service has too many requests for some time.
    pub fn overloaded_for(detail: impl Display, wait: Duration) -> Self {
        Self::retry_later(&UNAVAILABLE, detail, wait)
    }

    /// The request was aborted at its time limit, and its transaction rolled back.
    pub fn timeout() -> Self {
        Self::of(&TIMEOUT, "the request was aborted; none of its changes were kept")
    }

    /// A fault of the service. The cause is in the log, never in the response.
    pub fn internal() -> Self {
        Self::of(&INTERNAL, "a fault of the service; its log names the cause by the request id")
    }

    /// Adds the field of the request at fault, as in the request (`scope[2]`).
    pub fn field(mut self, field: impl Into<String>) -> Self {
        self.field = Some(UntrustedText::new(field));
        self
    }

    /// Adds the way out.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(UntrustedText::new(hint));
        self
    }

    /// Adds names of stored items that are similar to the requested one. They are no part of detail
    /// or hint, whose readers take every word for the service's own.
    pub fn near(mut self, names: Vec<UntrustedText>) -> Self {
        self.near = names;
        self
    }

    /// Returns detail and field as one masked text, for JSON of another form.
    pub fn message(&self) -> String {
        let detail = masked(&self.detail);
        match &self.field {
            Some(field) => format!("`{}` {detail}", masked(field)),
            None => detail,
        }
    }

    /// Marks the problem: the log has its cause.
    pub fn logged(self) -> Self {
        Self { is_logged: true, ..self }
    }

    /// Returns whether the log has its cause.
    pub fn is_logged(&self) -> bool {
        self.is_logged
    }

    /// Returns the HTTP status.
    pub fn status(&self) -> StatusCode {
        self.class.status
    }

    /// Renders the response, with the id of the request.
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
            detail: UntrustedText::new(detail),
            field: None,
            hint: None,
            near: Vec::new(),
            retry_after: whole_seconds(RETRY_AFTER),
            is_logged: false,
        }
    }

    /// The detail has the time to wait as well: its readers often do not see the headers.
    fn retry_later(class: &'static Class, detail: impl Display, wait: Duration) -> Self {
        let retry_after = whole_seconds(wait);
        let problem = Self::of(class, format!("{detail}; try again in {retry_after} s"));
        Self { retry_after, ..problem }
    }

    fn document(&self, request_id: Option<Uuid>) -> ProblemDocument {
        ProblemDocument {
            r#type: format!("urn:memory-copilot:problem:{}", self.class.slug),
            title: self.class.title.to_owned(),
            status: self.class.status.as_u16(),
            detail: masked(&self.detail),
            field: self.field.as_ref().map(masked),
            hint: self.hint.as_ref().map(masked),
            near: self.near.iter().map(masked).collect(),
            request_id,
        }
    }
}

/// Returns a text for JSON.
fn masked(text: &UntrustedText) -> String {
    mc_sanitizer::mask(text.unrendered()).text.into_string()
}

/// Rounds up to seconds, at least one: 0 would invite an immediate retry.
fn whole_seconds(wait: Duration) -> u64 {
    let partial = u64::from(wait.subsec_nanos() > 0);
    (wait.as_secs() + partial).max(1)
}

impl<E: Classified> From<E> for Problem {
    fn from(error: E) -> Self {
        let kind = error.kind();
        if kind == ErrorKind::Internal {
            tracing::error!(error.cause = %with_sources(&error), "request failed");
            return Self::internal().logged();
        }
        let mut problem = Self::of(class_of(kind), error.to_string());
        if kind == ErrorKind::Unavailable {
            tracing::warn!(error.cause = %with_sources(&error), "dependency unavailable");
            problem.is_logged = true;
        }
        problem.field = error.field().map(UntrustedText::new);
        problem.hint = error.hint().map(UntrustedText::new);
        problem
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        self.respond(None)
    }
}

/// Returns the message of an error with those of its sources, for the log.
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

/// A problem document (RFC 9457).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub struct ProblemDocument {
    /// The type of the problem, a stable name.
    #[schema(example = "urn:memory-copilot:problem:bad-request")]
    r#type: String,
    /// The type of the problem as text.
    #[schema(example = "The request is not valid")]
    title: String,
    /// The HTTP status.
    #[schema(example = 400)]
    status: u16,
    /// What happened.
    #[schema(example = "must not be empty")]
    detail: String,
    /// The field of the request at fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "scope[2]")]
    field: Option<String>,
    /// The way out.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// Names of stored items that are similar to the requested one: untrusted text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    near: Vec<String>,
    /// The id of the request, as in the header `x-request-id` and in the service's log.
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
        assert_eq!(problem, Problem::internal().logged());
    }

    #[test]
    fn the_time_to_wait_is_in_whole_seconds() {
        for (millis, expected) in [(0, "1"), (1, "1"), (1_000, "1"), (1_001, "2"), (59_999, "60")] {
            let problem = Problem::rate_limited("too many", Duration::from_millis(millis));
            assert_eq!(problem.message(), format!("too many; try again in {expected} s"));
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
            assert_eq!(problem.message(), format!("`owner` {}", Fault(kind)));
            assert!(!problem.status().is_success());
        }
    }
}
