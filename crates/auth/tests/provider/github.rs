//! Plain OAuth 2.0 with PKCE, and GitHub's REST API, at URLs like GitHub's.

use chrono::Utc;
use mc_auth::login::{Error, LoginProvider, ProviderKind};

use crate::server::Server;
use crate::support::{altered, config, login, up_to_callback};

async fn github(server: &Server) -> LoginProvider {
    let kind = ProviderKind::Github { web: server.url.clone(), api: server.url.clone() };
    LoginProvider::discover(&config("web-RS256", kind)).await.expect("a provider")
}

#[tokio::test]
async fn person_signs_in_with_plain_oauth() {
    let server = Server::github().await;
    let identity = login(&github(&server).await, "1815").await.expect("a person");
    assert_eq!(identity.subject, "1815");
    assert_eq!(identity.email.as_deref(), Some("1815@example.com"));
}

#[tokio::test]
async fn unverified_primary_address_is_dropped() {
    let server = Server::github().await;
    let identity = login(&github(&server).await, "13").await.expect("a person");
    assert_eq!((identity.subject.as_str(), identity.email), ("13", None));
}

#[tokio::test]
async fn stolen_code_is_rejected_without_its_verifier() {
    let server = Server::github().await;
    let provider = github(&server).await;
    let (back, pending) = up_to_callback(&provider, "1815").await;
    let other = "another-verifier-of-at-least-43-characters-xxxxx";
    let pending = altered(&pending, "pkce_verifier", other);
    let error = provider.finish(&back, pending, Utc::now()).await.expect_err("refused");
    assert!(matches!(&error, Error::Refused(_, code) if code == "invalid_grant"), "{error:?}");
}

#[tokio::test]
async fn response_of_another_issuer_is_rejected() {
    let (server, other) = tokio::join!(Server::github(), Server::github());
    let kind = ProviderKind::Github { web: other.url.clone(), api: server.url.clone() };
    let confused = LoginProvider::discover(&config("web-RS256", kind)).await.expect("a provider");
    let (back, pending) = up_to_callback(&github(&server).await, "1815").await;
    let error = confused.finish(&back, pending, Utc::now()).await.err();
    assert_eq!(error, Some(Error::MixUp("corp".parse().expect("a name"))));
}

#[tokio::test]
async fn unknown_api_is_reported() {
    let (server, other) = tokio::join!(Server::github(), Server::github());
    let kind = ProviderKind::Github { web: server.url.clone(), api: other.url.clone() };
    let provider = LoginProvider::discover(&config("web-RS256", kind)).await.expect("a provider");
    let error = login(&provider, "1815").await.expect_err("its tokens are not known there");
    assert!(matches!(&error, Error::Unavailable(_, reason) if reason.contains("401")), "{error:?}");
}
