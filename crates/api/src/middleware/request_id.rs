//! The id of a request: in the response's header, in every log line and in every problem.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use uuid::Uuid;

use crate::problem::Problem;

/// The header with the id, of requests and responses.
pub const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The id of a request, in its extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestId(pub Uuid);

/// Takes the caller's id if it is a UUID, else generates one.
pub async fn assign(mut request: Request, next: Next) -> Response {
    let id = sent_by_caller(request.headers()).unwrap_or_else(Uuid::now_v7);
    request.extensions_mut().insert(RequestId(id));

    let response = next.run(request).await;
    let mut response = add_to_problem(response, id);
    if let Ok(value) = HeaderValue::try_from(id.to_string()) {
        response.headers_mut().insert(X_REQUEST_ID, value);
    }
    response
}

/// Returns the caller's id. A malformed one is replaced, not rejected: it often is a proxy's.
fn sent_by_caller(headers: &HeaderMap) -> Option<Uuid> {
    headers.get(X_REQUEST_ID)?.to_str().ok()?.parse().ok()
}

/// Renders a problem again with the id, which is not known where problems are created.
fn add_to_problem(response: Response, id: Uuid) -> Response {
    let (mut parts, body) = response.into_parts();
    match parts.extensions.remove::<Problem>() {
        None => Response::from_parts(parts, body),
        Some(problem) => {
            let mut response = problem.respond(Some(id));
            parts.headers.remove(header::CONTENT_LENGTH);
            for (name, value) in &parts.headers {
                response.headers_mut().entry(name).or_insert_with(|| value.clone());
            }
            response
        }
    }
}
