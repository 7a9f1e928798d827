//! The server: credentials, faults, and git over HTTP.

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::api::{self, ApiResponse, Call};
use super::state::GitHubCredential;
use super::{GitHubRequest, Shared};

#[path = "../../../../tests/git_backend.rs"]
mod git_backend;

/// The path of the API.
const API: &str = "/api/v3";
/// Longest body of a request, in bytes.
const BODY_BYTES: usize = 1024 * 1024;

pub(super) async fn respond(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    if !request.uri().path().starts_with(API) {
        return respond_to_git(&shared, request).await;
    }
    let (head, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, BODY_BYTES).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let body = serde_json::from_slice(&body).unwrap_or_default();
    // Git blocks its thread.
    let response = tokio::task::spawn_blocking(move || {
        respond_to_api(&shared, head.method.as_str(), &head.uri, &head.headers, body)
    });
    response.await.unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
}

fn respond_to_api(
    shared: &Shared,
    method: &str,
    uri: &Uri,
    headers: &HeaderMap,
    body: Value,
) -> Response {
    let segments = segments(uri.path().trim_start_matches(API));
    let path = format!("/{}", segments.join("/"));
    let credential = bearer(shared, headers);
    let login = credential.as_ref().map(|credential| credential.login.clone());
    let method = method.to_owned();
    let mut state = shared.state();
    let request =
        GitHubRequest { method: method.clone(), path: path.clone(), login, body: body.clone() };
    state.requests.push(request);
    let is_next = |fault: &(String, String, _)| fault.0 == method && path.ends_with(&fault.1);
    let next = state.faults.iter().position(is_next);
    let fault = next.map(|index| state.faults.remove(index).2);
    if let Some(fault) = fault.clone().filter(|fault| !fault.is_carried_out()) {
        return fault.into_response();
    }
    let Some(credential) = credential else {
        return ApiResponse::refusal(401, "Bad credentials").into_response();
    };
    let Query(query) = Query::<HashMap<String, String>>::try_from_uri(uri).unwrap_or_default();
    let call = Call { method, segments, query, body, credential };
    let response = api::respond(&shared.repository, &mut state, &call);
    fault.map_or_else(|| response.into_response(), super::GitHubFault::into_response)
}

/// Returns the decoded segments of a path. A name may have encoded slashes.
fn segments(path: &str) -> Vec<String> {
    let decode = |segment: &str| percent_decode_str(segment).decode_utf8_lossy().into_owned();
    path.split('/').filter(|segment| !segment.is_empty()).map(decode).collect()
}

async fn respond_to_git(shared: &Shared, request: Request) -> Response {
    let Some(credential) = basic(shared, request.headers()) else {
        let challenge = [(header::WWW_AUTHENTICATE, "Basic realm=\"GitHub\"")];
        return (StatusCode::UNAUTHORIZED, challenge, Body::empty()).into_response();
    };
    let is_push = request.uri().to_string().contains("git-receive-pack");
    if is_push && !credential.can_push {
        return StatusCode::FORBIDDEN.into_response();
    }
    git_backend::respond(shared.repository.root(), request, Some(&credential.login)).await
}

fn bearer(shared: &Shared, headers: &HeaderMap) -> Option<GitHubCredential> {
    let token = authorization(headers, "Bearer ")?;
    shared.state().credential(token).cloned()
}

/// Reads the token from the password. The user may have any name.
fn basic(shared: &Shared, headers: &HeaderMap) -> Option<GitHubCredential> {
    let pair = STANDARD.decode(authorization(headers, "Basic ")?).ok()?;
    let (_, token) = std::str::from_utf8(&pair).ok()?.split_once(':')?;
    shared.state().credential(token).cloned()
}

fn authorization<'a>(headers: &'a HeaderMap, scheme: &str) -> Option<&'a str> {
    headers.get(header::AUTHORIZATION)?.to_str().ok()?.strip_prefix(scheme)
}
