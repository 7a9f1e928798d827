//! Fixtures of the flows.

use chrono::Utc;
use mc_auth::login::{
    AuthorizationRequest, Callback, Error, ExternalIdentity, LoginProvider, Pending,
    ProviderConfig, ProviderKind,
};
use url::Url;

use crate::browser::Browser;
use crate::server::{REDIRECT_URI, SECRET_VARIABLE, Server};

/// Where the provider sends the browser back to; registered with it.
pub fn redirect_uri() -> Url {
    REDIRECT_URI.parse().expect("an address")
}

pub fn config(client_id: &str, kind: ProviderKind) -> ProviderConfig {
    ProviderConfig {
        name: "corp".parse().expect("a name"),
        kind,
        client_id: client_id.to_owned(),
        client_secret_env: Some(SECRET_VARIABLE.to_owned()),
    }
}

/// The server as an OpenID Connect provider, for the client whose ID tokens are signed with
/// `algorithm`.
pub async fn oidc(server: &Server, algorithm: &str) -> LoginProvider {
    let kind = ProviderKind::Oidc { issuer: server.issuer().to_owned() };
    let config = config(&format!("web-{algorithm}"), kind);
    LoginProvider::discover(&config).await.expect("metadata and keys")
}

pub fn start(provider: &LoginProvider) -> AuthorizationRequest {
    provider.start(&redirect_uri(), Utc::now())
}

/// Runs a login up to the callback.
pub async fn up_to_callback(provider: &LoginProvider, login: &str) -> (Callback, Pending) {
    let started = start(provider);
    let back = Browser::new().sign_in(&started.url, login).await;
    (callback(&back), started.pending)
}

/// A whole login.
pub async fn login(provider: &LoginProvider, login: &str) -> Result<ExternalIdentity, Error> {
    let (callback, pending) = up_to_callback(provider, login).await;
    provider.finish(&callback, pending, Utc::now()).await
}

pub fn callback(back: &Url) -> Callback {
    assert_eq!(back.path(), redirect_uri().path());
    Callback::from_query(back.query().expect("a query")).expect("an answer")
}

/// The same login with something about it changed.
pub fn altered(pending: &Pending, name: &str, value: &str) -> Pending {
    let mut json = serde_json::to_value(pending).expect("JSON");
    assert!(json[name].is_string(), "there is no {name}");
    json[name] = value.into();
    serde_json::from_value(json).expect("a login")
}
