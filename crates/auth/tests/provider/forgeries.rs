//! Forged responses of a real provider: ID tokens, most of them signed with its own key, and
//! metadata with other URLs.

use mc_auth::login::{Error, LoginProvider, ProviderKind};

use crate::server::Server;
use crate::support::{config, login, oidc};

/// Kinds of forgery, each with a word of the reason for its rejection.
const FORGERIES: [(&str, &str); 18] = [
    ("unsigned", "signature"),
    ("signed with the client secret", "signature"),
    ("signed with a key of its own", "signature"),
    ("with an unknown extension", "critical"),
    ("of another type", "JWT type"),
    ("another issuer", "issuer"),
    ("another audience", "audience"),
    ("a second audience", "audience"),
    ("another party", "another client"),
    ("expired", "expired"),
    ("issued long ago", "issued"),
    ("issued ahead", "issued"),
    ("another nonce", "nonce"),
    ("no nonce", "nonce"),
    ("another access token", "access token"),
    ("an empty subject", "subject"),
    ("without an ID token", "no ID token"),
    ("no subject", ""),
];

#[tokio::test]
async fn forged_id_tokens_are_rejected() {
    let server = Server::oidc().await;
    let provider = oidc(&server, "RS256").await;
    for (kind, word) in FORGERIES {
        server.forge(kind).await;
        let reason = match login(&provider, "1815").await {
            Err(Error::Identity(_, reason)) => reason,
            // Without the form of an ID token.
            Err(Error::BadAnswer(_, reason)) if kind == "no subject" => reason,
            other => panic!("{kind}: {other:?}"),
        };
        assert!(reason.to_lowercase().contains(&word.to_lowercase()), "{kind}: {reason}");
    }
    // The forger's signatures are valid: an unchanged ID token is accepted.
    server.forge("nothing at all").await;
    assert_eq!(login(&provider, "1815").await.expect("a person").subject, "1815");
}

#[tokio::test]
async fn metadata_urls_need_tls() {
    let server = Server::oidc().await;
    for kind in ["a page without TLS", "a page that is a script", "keys without TLS"] {
        server.forge(kind).await;
        let error = discovery(&server).await.expect_err(kind);
        assert!(
            matches!(&error, Error::Settings(_, reason) if reason.contains("https")),
            "{error:?}"
        );
    }
    server.forge("a token endpoint without TLS").await;
    let provider = discovery(&server).await.expect("nothing is sent there yet");
    let error = login(&provider, "1815").await.expect_err("the code would go there");
    assert!(matches!(&error, Error::Settings(_, reason) if reason.contains("https")), "{error:?}");
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let server = Server::oidc().await;
    server.forge("keys that have moved").await;
    let error = discovery(&server).await.expect_err("redirected");
    assert!(matches!(&error, Error::Unavailable(_, reason) if reason.contains("302")), "{error:?}");
}

#[tokio::test]
async fn responses_are_limited_in_size() {
    let server = Server::oidc().await;
    server.forge("more than anybody reads").await;
    let error = discovery(&server).await.expect_err("too large");
    assert!(matches!(&error, Error::BadAnswer(_, reason) if reason.contains("512")), "{error:?}");
}

async fn discovery(server: &Server) -> Result<LoginProvider, Error> {
    let kind = ProviderKind::Oidc { issuer: server.issuer().to_owned() };
    LoginProvider::discover(&config("web-RS256", kind)).await
}
