//! Authorization code with PKCE and nonce, with OpenID Connect.

use chrono::{TimeDelta, Utc};
use mc_auth::login::{Callback, Error, LoginProvider, Pending, ProviderKind};
use mc_crypto::{EncryptionKey, Encryptor};

use crate::browser::Browser;
use crate::server::Server;
use crate::support::{altered, callback, config, login, oidc, redirect_uri, start, up_to_callback};

#[tokio::test]
async fn person_signs_in_with_openid_connect() {
    let server = Server::oidc().await;
    for algorithm in ["RS256", "PS256", "ES256", "EdDSA"] {
        let provider = oidc(&server, algorithm).await;
        let identity = login(&provider, "1815").await.expect(algorithm);
        assert_eq!(identity.provider.as_str(), "corp");
        assert_eq!(identity.subject, "1815");
        assert_eq!(identity.email.as_deref(), Some("1815@example.com"));
    }
}

#[tokio::test]
async fn unverified_address_is_dropped() {
    let server = Server::oidc().await;
    let identity = login(&oidc(&server, "RS256").await, "unverified-1").await.expect("a person");
    assert_eq!((identity.subject.as_str(), identity.email), ("unverified-1", None));
}

#[tokio::test]
async fn client_secret_is_sent_by_the_providers_method() {
    // This provider accepts it in the body only, and its issuer has a path.
    let server = Server::github().await;
    let issuer = server.url.join("login/oauth").expect("an address").to_string();
    let config = config("web-RS256", ProviderKind::Oidc { issuer });
    let provider = LoginProvider::discover(&config).await.expect("metadata");
    assert_eq!(login(&provider, "1815").await.expect("a person").subject, "1815");
}

#[tokio::test]
async fn login_survives_storage_in_the_database() {
    let server = Server::oidc().await;
    let provider = oidc(&server, "RS256").await;
    let encryptor = Encryptor::new(EncryptionKey::generate(), Vec::new());
    let started = start(&provider);
    let ciphertext = started.pending.encrypt(&encryptor, &started.state);

    let back = callback(&Browser::new().sign_in(&started.url, "1815").await);
    assert_eq!(back.state().hash(), started.state.hash());
    let pending = Pending::decrypt(&encryptor, back.state(), &ciphertext).expect("opens");
    let identity = provider.finish(&back, pending, Utc::now()).await.expect("a person");
    assert_eq!(identity.subject, "1815");
}

#[tokio::test]
async fn code_is_valid_for_one_login() {
    let server = Server::oidc().await;
    let provider = oidc(&server, "RS256").await;
    let (back, pending) = up_to_callback(&provider, "1815").await;
    let again = copy(&pending);
    provider.finish(&back, pending, Utc::now()).await.expect("a person");
    assert_refused(provider.finish(&back, again, Utc::now()).await.err(), "invalid_grant");
}

#[tokio::test]
async fn stolen_code_is_rejected_without_its_verifier() {
    let server = Server::oidc().await;
    let provider = oidc(&server, "RS256").await;
    let (back, pending) = up_to_callback(&provider, "1815").await;
    let other = "another-verifier-of-at-least-43-characters-xxxxx";
    let pending = altered(&pending, "pkce_verifier", other);
    assert_refused(provider.finish(&back, pending, Utc::now()).await.err(), "invalid_grant");
}

#[tokio::test]
async fn code_is_bound_to_its_redirect_url() {
    let server = Server::oidc().await;
    let provider = oidc(&server, "RS256").await;
    let (back, pending) = up_to_callback(&provider, "1815").await;
    let pending = altered(&pending, "redirect_uri", "http://127.0.0.1:9/callback/evil");
    assert_refused(provider.finish(&back, pending, Utc::now()).await.err(), "invalid_grant");
}

#[tokio::test]
async fn id_token_of_another_login_is_rejected() {
    let server = Server::oidc().await;
    let provider = oidc(&server, "RS256").await;
    let (back, pending) = up_to_callback(&provider, "1815").await;
    let pending = altered(&pending, "nonce", "another nonce");
    let error = provider.finish(&back, pending, Utc::now()).await.expect_err("not believed");
    assert!(matches!(&error, Error::Identity(_, reason) if reason.contains("nonce")), "{error:?}");
}

#[tokio::test]
async fn response_finishes_only_its_own_login() {
    let server = Server::oidc().await;
    let provider = oidc(&server, "RS256").await;
    let (attackers_answer, _) = up_to_callback(&provider, "attacker").await;
    let victims = start(&provider).pending;
    let error = provider.finish(&attackers_answer, victims, Utc::now()).await.err();
    assert_eq!(error, Some(Error::WrongState));
}

#[tokio::test]
async fn pending_login_expires() {
    let server = Server::oidc().await;
    let provider = oidc(&server, "RS256").await;
    let (back, pending) = up_to_callback(&provider, "1815").await;
    let late = Utc::now() + TimeDelta::minutes(10);
    assert_eq!(provider.finish(&back, pending, late).await.err(), Some(Error::Expired));
}

#[tokio::test]
async fn provider_cannot_respond_for_another() {
    let (honest, evil) = tokio::join!(Server::oidc(), Server::oidc());
    let provider = oidc(&honest, "RS256").await;
    let mix_up = Error::MixUp("corp".parse().expect("a name"));

    let started = start(&provider);
    let back = Browser::new().sign_in(&started.url, "1815").await;
    let with_issuer = |issuer: Option<&str>| {
        let mut address = back.clone();
        let others: Vec<(String, String)> =
            back.query_pairs().into_owned().filter(|(name, _)| name != "iss").collect();
        address.query_pairs_mut().clear().extend_pairs(others);
        if let Some(issuer) = issuer {
            address.query_pairs_mut().append_pair("iss", issuer);
        }
        callback(&address)
    };
    // This provider promises an issuer in its responses, so one without it is rejected as well.
    for issuer in [Some(evil.issuer()), Some(""), None] {
        let pending = copy(&started.pending);
        let error = provider.finish(&with_issuer(issuer), pending, Utc::now()).await.err();
        assert_eq!(error, Some(mix_up.clone()), "{issuer:?}");
    }
    let honest = with_issuer(Some(honest.issuer()));
    assert!(provider.finish(&honest, started.pending, Utc::now()).await.is_ok());
}

#[tokio::test]
async fn login_is_finished_only_by_its_own_provider() {
    let (one, other) = tokio::join!(Server::oidc(), Server::oidc());
    let (back, pending) = up_to_callback(&oidc(&one, "RS256").await, "1815").await;
    let mut config = config("web-RS256", ProviderKind::Oidc { issuer: other.issuer().to_owned() });
    config.name = "other".parse().expect("a name");
    let other = LoginProvider::discover(&config).await.expect("metadata");
    let error = other.finish(&back, pending, Utc::now()).await.err();
    assert_eq!(error, Some(Error::MixUp("corp".parse().expect("a name"))));
}

#[tokio::test]
async fn metadata_of_another_issuer_is_rejected() {
    let server = Server::oidc().await;
    let alias = server.issuer().replace("127.0.0.1", "localhost");
    for issuer in [alias, format!("{}/", server.issuer())] {
        let config = config("web-RS256", ProviderKind::Oidc { issuer });
        let error = LoginProvider::discover(&config).await.expect_err("another issuer");
        assert!(matches!(&error, Error::Settings(..)), "{error:?}");
    }
}

#[tokio::test]
async fn person_may_deny_the_login() {
    let server = Server::oidc().await;
    let started = start(&oidc(&server, "RS256").await);
    let back = Browser::new().cancel(&started.url).await;
    let error = Callback::from_query(back.query().expect("a query")).err();
    assert_eq!(error, Some(Error::NotApproved("access_denied".to_owned())));
}

#[tokio::test]
async fn unreachable_provider_is_reported() {
    let server = Server::oidc().await;
    let provider = oidc(&server, "RS256").await;
    let (back, pending) = up_to_callback(&provider, "1815").await;
    drop(server);
    let error = provider.finish(&back, pending, Utc::now()).await.expect_err("nobody is there");
    assert!(matches!(error, Error::Unavailable(..)), "{error:?}");
}

#[tokio::test]
async fn only_registered_redirect_urls_are_used() {
    let server = Server::oidc().await;
    let provider = oidc(&server, "RS256").await;
    let mut elsewhere = redirect_uri();
    elsewhere.set_path("/callback/evil");
    let started = provider.start(&elsewhere, Utc::now());
    let answer = reqwest::get(started.url).await.expect("an answer");
    assert_eq!(answer.status(), 400);
}

fn copy(pending: &Pending) -> Pending {
    serde_json::from_value(serde_json::to_value(pending).expect("JSON")).expect("a login")
}

fn assert_refused(error: Option<Error>, expected: &str) {
    match error {
        Some(Error::Refused(_, code)) => assert_eq!(code, expected),
        other => panic!("{other:?}"),
    }
}
