//! Signing in with an account that a person has elsewhere: GitHub, Google, or any OpenID Connect
//! provider.
//!
//! Authorization code with PKCE (RFC 7636, S256) and a one-time `state`, for OpenID Connect with a
//! `nonce` as well; see RFC 9700 for why each. A login has two ends:
//!
//! 1. [`Provider::start`]. The browser is sent to [`Started::url`] with [`Started::state`] in a cookie
//!    (`HttpOnly`, `Secure`, `SameSite=Lax`); [`Started::pending`] is stored sealed under the state's
//!    hash.
//! 2. The browser comes back. The route compares the cookie with the `state` of the address, takes the
//!    stored row *and deletes it* in one statement, and calls [`Provider::finish`].
//!
//! Each provider has a redirect address of its own, and is named in what is stored, so that one can't
//! pass off its answer as another's; where a provider names itself in its answer (RFC 9207), that is
//! compared too.

mod callback;
mod config;
mod error;
mod github;
pub(crate) mod http;
mod id_token;
mod identity;
mod oidc;
mod pending;
pub(crate) mod provider_error;

use chrono::{DateTime, Utc};
use openidconnect::Nonce;
use url::Url;

use crate::secret::LoginState;

pub use callback::Callback;
pub use config::{InvalidProviderName, ProviderConfig, ProviderKind, ProviderName};
pub use error::Error;
pub use identity::ExternalIdentity;
pub use pending::{LIFETIME, Pending};

use github::Github;
use oidc::Oidc;

/// A provider that can be asked.
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

/// A login that was begun.
#[derive(Debug)]
pub struct AuthorizationRequest {
    /// Where to send the browser.
    pub url: Url,
    /// What binds the login to this browser, and finds [`Self::pending`] again.
    pub state: LoginState,
    /// What [`Provider::finish`] needs.
    pub pending: Pending,
}

/// What is sent to begin a login, and what stays here.
struct Request {
    url: Url,
    pkce_verifier: oauth2::PkceCodeVerifier,
    nonce: Option<Nonce>,
}

impl LoginProvider {
    /// Makes a provider ready: reads its secret and, for OpenID Connect, its metadata. GitHub is not
    /// asked anything yet.
    pub async fn discover(config: &ProviderConfig) -> Result<Self, Error> {
        let name = config.name.clone();
        let credentials = config.credentials()?;
        let protocol = match &config.kind {
            ProviderKind::Github { web, api } => {
                Protocol::Github(Box::new(Github::new(&name, web, api, &credentials)?))
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

    /// Its name in the configuration.
    pub fn name(&self) -> &ProviderName {
        &self.name
    }

    /// Begins a login at `now` that comes back to `redirect_uri`, which is registered with the
    /// provider and belongs to it alone.
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

    /// Ends a login at `now`: checks that `callback` answers it, redeems the code, and asks who it
    /// was. A `pending` login is used up, whatever comes of it.
    pub async fn finish(
        &self,
        callback: &Callback,
        pending: Pending,
        now: DateTime<Utc>,
    ) -> Result<ExternalIdentity, Error> {
        pending.check(&self.name, callback, now)?;
        match &self.protocol {
            Protocol::Github(github) => {
                github.check_issuer(callback)?;
                github.identify(callback, pending).await
            }
            Protocol::Oidc(oidc) => {
                oidc.check_issuer(callback)?;
                oidc.identify(callback, pending, now).await
            }
        }
    }
}
