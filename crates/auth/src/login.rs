//! Login with an account of a provider: GitHub, Google, or any OpenID Connect provider.
//!
//! The flow is authorization code with PKCE (RFC 7636, S256) and a one-time `state`, and for OpenID
//! Connect a `nonce`; RFC 9700 has the reasons. A login has two steps:
//!
//! 1. [`LoginProvider::start`]. The browser is redirected to [`AuthorizationRequest::url`] with
//!    [`AuthorizationRequest::state`] in a cookie (`HttpOnly`, `Secure`, `SameSite=Lax`).
//!    [`AuthorizationRequest::pending`] is stored, encrypted, under the hash of the state.
//! 2. The browser returns. The route compares the cookie with the `state` parameter, reads *and
//!    deletes* the stored row in one statement, and calls [`LoginProvider::finish`].
//!
//! Each provider has its own redirect URL, and the stored row names the provider, so that one
//! provider cannot answer for another. The issuer in a provider's response (RFC 9207) is compared
//! as well.

mod callback;
mod config;
pub(crate) mod error;
mod github;
pub(crate) mod http;
mod id_token;
mod identity;
mod oidc;
mod pending;

use chrono::{DateTime, Utc};
use openidconnect::Nonce;
use url::Url;

use crate::secret::LoginState;

pub use callback::Callback;
pub use config::{InvalidProviderName, ProviderConfig, ProviderKind, ProviderName};
pub use error::Error;
pub use identity::{ExternalIdentity, HostAccount};
pub use pending::{LIFETIME, Pending};

use github::Github;
use oidc::Oidc;

/// A login provider that is ready for use.
#[derive(Debug)]
pub struct LoginProvider {
    name: ProviderName,
    protocol: Protocol,
}

#[derive(Debug)]
enum Protocol {
    Github(Box<Github>),
    Oidc(Box<Oidc>),
}

/// A started login.
#[derive(Debug)]
pub struct AuthorizationRequest {
    /// The URL to redirect the browser to.
    pub url: Url,
    /// The state, which binds the login to this browser; [`Self::pending`] has its hash.
    pub state: LoginState,
    /// The data for [`LoginProvider::finish`].
    pub pending: Pending,
}

/// The URL of an authorization request, with the secrets that stay here.
struct Request {
    url: Url,
    pkce_verifier: oauth2::PkceCodeVerifier,
    nonce: Option<Nonce>,
}

impl LoginProvider {
    /// Prepares a provider: reads its secret and, for OpenID Connect, fetches its metadata.
    pub async fn discover(config: &ProviderConfig) -> Result<Self, Error> {
        let name = config.name.clone();
        let credentials = config.credentials()?;
        let protocol = match &config.kind {
            ProviderKind::Github { web, api } => {
                Protocol::Github(Box::new(Github::new(&name, web, api, credentials)?))
            }
            ProviderKind::Google => {
                Protocol::Oidc(Box::new(Oidc::discover(&name, config::GOOGLE, credentials).await?))
            }
            ProviderKind::Oidc { issuer } => {
                Protocol::Oidc(Box::new(Oidc::discover(&name, issuer, credentials).await?))
            }
        };
        Ok(Self { name, protocol })
    }

    /// Starts a login at `now` that returns to `redirect_uri`, which is registered with the
    /// provider and not used for another one.
    pub fn start(&self, redirect_uri: &Url, now: DateTime<Utc>) -> AuthorizationRequest {
        let state = LoginState::generate();
        let Request { url, pkce_verifier, nonce } = match &self.protocol {
            Protocol::Github(github) => github.authorize(&state, redirect_uri),
            Protocol::Oidc(oidc) => oidc.authorize(&state, redirect_uri),
        };
        let pending = Pending {
            provider: self.name.clone(),
            state_hash: hex::encode(state.hash().as_bytes()),
            redirect_uri: redirect_uri.clone(),
            pkce_verifier,
            nonce,
            expires_at: now + LIFETIME,
        };
        AuthorizationRequest { url, state, pending }
    }

    /// Finishes a login at `now`: checks that `callback` belongs to it, redeems the code, and
    /// fetches the identity. The `pending` login is used up even if this fails.
    pub async fn finish(
        &self,
        callback: &Callback,
        pending: Pending,
        now: DateTime<Utc>,
    ) -> Result<ExternalIdentity, Error> {
        pending.check(&self.name, callback, now)?;
        match &self.protocol {
            Protocol::Github(github) => github.identify(callback, pending).await,
            Protocol::Oidc(oidc) => oidc.identify(callback, pending, now).await,
        }
    }
}
