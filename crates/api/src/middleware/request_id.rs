//! One id per request: in the answer's header, in every log line, in every problem.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use uuid::Uuid;

use crate::problem::Problem;

/// The header that carries the id both ways.
pub const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The id of the request at hand, among the request's extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestId(pub Uuid);

/// Takes the caller's id where it is a UUID, else makes one.
pub async fn assign(mut request: Request, next: Next) -> Response {
    let id = sent_by_caller(request.headers()).unwrap_or_else(Uuid::now_v7);
    request.extensions_mut().insert(RequestId(id));

    let response = next.run(request).await;
    let mut response = name_in_problem(response, id);
    if let Ok(value) = HeaderValue::try_from(id.to_string()) {
        response.headers_mut().insert(X_REQUEST_ID, value);
    }
    response
}

/// A malformed id is replaced, not refused: it often comes from a proxy, and the request is good.
fn sent_by_caller(headers: &HeaderMap) -> Option<Uuid> {
    headers.get(X_REQUEST_ID)?.to_str().ok()?.parse().ok()
}

/// Problems are made where the id is not known, so their body is written again with it.
fn name_in_problem(response: Response, id: Uuid) -> Response {
    let (mut parts, body) = response.into_parts();
    match parts.extensions.remove::<Problem>() {
        None => Response::from_parts(parts, body),
        Some(problem) => {
            let mut answer = problem.respond(Some(id));
            parts.headers.remove(header::CONTENT_LENGTH);
            for (name, value) in &parts.headers {
                answer.headers_mut().entry(name).or_insert_with(|| value.clone());
            }
            answer
        }
    }
}
