//! Who calls: the local bearer token, and the principal that it stands for.

use std::fmt;
use std::sync::Arc;

use axum::extract::{FromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::request::Parts;
use http::{HeaderMap, header};
use subtle::ConstantTimeEq as _;

use crate::middleware::drain_stranger;
use crate::problem::Problem;

/// The local bearer token. Its `Debug` output hides it.
#[derive(Clone)]
pub struct Token(Arc<str>);

impl Token {
    /// Wraps the secret as read from its file.
    pub fn new(secret: impl Into<Arc<str>>) -> Self {
        Self(secret.into())
    }

    /// Compares in a time that depends on the lengths only.
    fn matches(&self, candidate: &str) -> bool {
        self.0.as_bytes().ct_eq(candidate.as_bytes()).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// The one on whose behalf a request runs. Handlers that act for someone take it as an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    name: Arc<str>,
}

impl Principal {
    /// The holder of the local token, until accounts exist.
    fn local() -> Self {
        Self { name: "local".into() }
    }

    /// The name under which actions are recorded.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl<S: Sync> FromRequestParts<S> for Principal {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        parts.extensions.get::<Self>().cloned().ok_or_else(Problem::unauthenticated)
    }
}

/// The layer in front of every protected route: no valid token, no further.
pub async fn require_bearer(
    State(token): State<Token>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let is_valid = bearer(request.headers()).is_some_and(|candidate| token.matches(candidate));
    if !is_valid {
        drain_stranger(request.into_body()).await;
        return Err(Problem::unauthenticated());
    }
    request.extensions_mut().insert(Principal::local());
    Ok(next.run(request).await)
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, credential) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| credential.trim())
}
