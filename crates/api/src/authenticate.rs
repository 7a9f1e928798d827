//! Who calls: the bearer token, and the principal that it stands for.

use std::sync::Arc;

use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use futures::future::BoxFuture;
use http::request::Parts;
use http::{HeaderMap, header};
use mc_domain::{Scope, Scopes, TokenId, UserId};
use mc_store::accounts::{CredentialKind, TokenOwner};

use crate::denials::DenialCounter;
use crate::middleware::drain_unauthenticated;
use crate::problem::Problem;

/// The one on whose behalf a request runs. Handlers that act for someone take it as an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// Who it is.
    pub user: UserId,
    /// Whether the user administers the service itself.
    pub is_admin: bool,
    by: CredentialKind,
    credential: TokenId,
    login: Arc<str>,
    scopes: Scopes,
}

impl Principal {
    /// The name under which actions are recorded.
    pub fn name(&self) -> &str {
        &self.login
    }

    /// What they came in by: a personal access token, with all that it is exchanged for, or a session, with
    /// all tokens that are issued for it.
    pub fn credential(&self) -> TokenId {
        self.credential
    }

    /// What the token may be used for.
    pub fn scopes(&self) -> Scopes {
        self.scopes
    }

    /// Refuses what the token is not for.
    pub fn require(&self, scope: Scope) -> Result<(), Problem> {
        if self.scopes.contains(scope) {
            return Ok(());
        }
        let detail = format!("this takes a token with the scope `{scope}`");
        let has = self.scopes;
        let hint =
            format!("the one that was sent has: {has}; use another, or make one with that scope");
        Err(Problem::forbidden(detail).hint(hint))
    }

    /// Refuses programs that come in by a personal access token: with it they could go on when it has
    /// ended or was revoked.
    pub fn require_presence(&self) -> Result<(), Problem> {
        if self.by != CredentialKind::Token {
            return Ok(());
        }
        Err(Problem::forbidden("a personal access token can't decide about tokens and logins")
            .hint(
                "sign in with `memory-copilot login`, or use the local token of the service's host",
            ))
    }

    /// Whether the caller administers the service, with a token that is for that.
    pub fn administers(&self) -> bool {
        self.is_admin && self.scopes.contains(Scope::Admin)
    }

    /// Refuses who does not administer the service itself.
    pub fn require_administrator(&self) -> Result<(), Problem> {
        self.require(Scope::Admin)?;
        if self.is_admin {
            return Ok(());
        }
        Err(Problem::forbidden("only an administrator of the service may do this")
            .hint("the local token, made at its first start, is that of one"))
    }
}

impl From<TokenOwner> for Principal {
    fn from(holder: TokenOwner) -> Self {
        Self {
            user: holder.user,
            is_admin: holder.is_admin,
            by: holder.by,
            credential: holder.token,
            login: holder.login.into(),
            scopes: holder.scopes,
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Principal {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        parts.extensions.get::<Self>().cloned().ok_or_else(Problem::unauthenticated)
    }
}

/// Tells whom a token stands for.
pub trait Authenticate: Send + Sync {
    /// The principal of a valid token; `None` for any other.
    fn principal<'a>(&'a self, token: &'a str)
    -> BoxFuture<'a, Result<Option<Principal>, Problem>>;

    /// What was refused, to be noted.
    fn refusals(&self) -> &DenialCounter;
}

/// How callers are told apart.
pub type Authenticator = Arc<dyn Authenticate>;

/// The layer in front of every protected route: no valid token, no further.
pub async fn require_bearer(
    State(authenticator): State<Authenticator>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let principal = match bearer(request.headers()) {
        Some(token) => authenticator.principal(token).await?,
        None => None,
    };
    let Some(principal) = principal else {
        drain_unauthenticated(request.into_body()).await;
        return Err(Problem::unauthenticated());
    };
    request.extensions_mut().insert(principal);
    Ok(next.run(request).await)
}

/// The layer behind [`require_bearer`] that counts what callers are refused.
pub async fn count_refusals(
    State(authenticator): State<Authenticator>,
    request: Request,
    next: Next,
) -> Response {
    let caller = request.extensions().get::<Principal>().map(|principal| principal.user);
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let response = next.run(request).await;
    if let (Some(caller), Some(route)) = (caller, route) {
        authenticator.refusals().answered(caller, &method, route.as_str(), response.status());
    }
    response
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, credential) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| credential.trim())
}
