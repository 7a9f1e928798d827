//! Authentication: the bearer token of a request, and its principal.

use std::ops::Deref;
use std::sync::Arc;

use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use futures::future::BoxFuture;
use http::request::Parts;
use http::{HeaderMap, StatusCode, header};
use mc_accounts::SignIn;
use mc_accounts::denials::DenialCounter;
use mc_domain::ClientSessionId;

use crate::client_sessions::named_session;
use crate::middleware::drain_unauthenticated;
use crate::problem::Problem;

/// Extractor of the request's [`mc_accounts::Principal`].
#[derive(Debug, Clone)]
pub struct Principal {
    principal: mc_accounts::Principal,
    named_session: Option<ClientSessionId>,
}

impl Principal {
    /// Returns the session of the client, if the request names one.
    pub(crate) fn named_session(&self) -> Option<ClientSessionId> {
        self.named_session
    }
}

impl Deref for Principal {
    type Target = mc_accounts::Principal;

    fn deref(&self) -> &Self::Target {
        &self.principal
    }
}

impl<S: Sync> FromRequestParts<S> for Principal {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        parts.extensions.get::<Self>().cloned().ok_or_else(Problem::unauthenticated)
    }
}

/// Finds the principal of a token.
pub trait Authenticate: Send + Sync {
    /// Returns the principal of a valid token; `None` for any other.
    fn principal<'a>(
        &'a self,
        token: &'a str,
    ) -> BoxFuture<'a, Result<Option<mc_accounts::Principal>, Problem>>;

    /// Returns the counter of denied requests.
    fn denials(&self) -> &DenialCounter;
}

impl Authenticate for SignIn {
    fn principal<'a>(
        &'a self,
        token: &'a str,
    ) -> BoxFuture<'a, Result<Option<mc_accounts::Principal>, Problem>> {
        Box::pin(async move { Ok(self.authenticate(token).await?) })
    }

    fn denials(&self) -> &DenialCounter {
        SignIn::denials(self)
    }
}

/// The authenticator of a service.
pub type Authenticator = Arc<dyn Authenticate>;

/// Layer around every protected route that rejects requests without a valid token.
pub async fn require_bearer(
    State(authenticator): State<Authenticator>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let principal = match bearer(request.headers()) {
        Some(token) => authenticator.principal(token).await?.ok_or_else(Problem::invalid_token),
        None => Err(Problem::unauthenticated()),
    };
    let principal = match principal {
        Ok(principal) => principal,
        Err(problem) => {
            drain_unauthenticated(request.into_body()).await;
            return Err(problem);
        }
    };
    let named_session = named_session(request.headers())?;
    // `/mcp` knows callers, and no principals.
    request.extensions_mut().insert(principal.caller());
    request.extensions_mut().insert(Principal { principal, named_session });
    Ok(next.run(request).await)
}

/// Layer inside of [`require_bearer`] that counts denied operations of authenticated callers. A
/// response with 404 counts as well: it also stands for resources that the caller may not see.
pub async fn count_denials(
    State(authenticator): State<Authenticator>,
    request: Request,
    next: Next,
) -> Response {
    let caller = request.extensions().get::<Principal>().map(|principal| principal.user);
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let response = next.run(request).await;
    let status = response.status();
    if let (Some(caller), Some(route)) = (caller, route)
        && matches!(status, StatusCode::FORBIDDEN | StatusCode::NOT_FOUND)
    {
        // The route is the pattern of the path: it has no ids.
        let operation = format!("{method} {} {}", route.as_str(), status.as_u16());
        authenticator.denials().operation(caller, operation);
    }
    response
}

/// Returns the bearer token of a request, valid or not.
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, credential) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| credential.trim())
}
