//! The client side of the device flow.

use std::sync::atomic::{AtomicUsize, Ordering};

use mc_auth::client::ClientId;
use mc_auth::device_client::{DeviceFlowClient, Error};
use mc_domain::Scopes;
use secrecy::ExposeSecret as _;

use crate::browser::Browser;
use crate::server::Server;

fn terminal(server: &Server, client: &str) -> DeviceFlowClient {
    let endpoint = |path| server.url.join(path).expect("an address");
    let client = ClientId::parse(client).expect("an id");
    DeviceFlowClient::new(endpoint("device/auth"), endpoint("token"), &client, None)
        .expect("an address")
}

fn scopes() -> Scopes {
    Scopes::parse("memory:read memory:write").expect("scopes")
}

#[tokio::test]
async fn terminal_signs_in_when_approved_in_a_browser() {
    let server = Server::oidc().await;
    let terminal = terminal(&server, "memory-copilot-cli");
    let invitation = terminal.begin(scopes()).await.expect("a code");
    assert_eq!(invitation.address, server.url.join("device").expect("an address"));
    let page = invitation.complete_address.clone().expect("an address with the code");
    assert!(page.query().is_some_and(|query| query.contains(&invitation.user_code)));

    // The first poll is pending; the person decides while the terminal waits.
    let waits = AtomicUsize::new(0);
    let tokens = terminal.wait(invitation, |_| async {
        waits.fetch_add(1, Ordering::Relaxed);
        let last = Browser::new().agree(&page, "1815").await;
        assert!(last.contains("Sign-in Success"), "{last}");
    });
    let tokens = tokens.await.expect("tokens");
    assert_eq!(waits.into_inner(), 1);
    assert!(!tokens.access.expose_secret().is_empty());
    assert!(tokens.expires_in.is_some());
}

#[tokio::test]
async fn terminal_reports_a_denied_login() {
    let server = Server::oidc().await;
    let terminal = terminal(&server, "memory-copilot-cli");
    let invitation = terminal.begin(scopes()).await.expect("a code");
    let page = invitation.complete_address.clone().expect("an address with the code");
    let tokens = terminal.wait(invitation, |_| async {
        let last = Browser::new().abort(&page).await;
        assert!(last.contains("interrupted"), "{last}");
    });
    assert_eq!(tokens.await.err(), Some(Error::Denied));
}

#[tokio::test]
async fn unknown_client_gets_no_code() {
    let server = Server::oidc().await;
    let error = terminal(&server, "somebody-else").begin(scopes()).await.err();
    assert_eq!(error, Some(Error::Rejected("invalid_client".to_owned())));
}

#[tokio::test]
async fn address_without_a_service_is_reported() {
    let server = Server::oidc().await;
    let endpoint = |path| server.url.join(path).expect("an address");
    let client = ClientId::parse("memory-copilot-cli").expect("an id");
    let terminal = DeviceFlowClient::new(endpoint("nowhere"), endpoint("token"), &client, None);
    let error = terminal.expect("an address").begin(scopes()).await.err();
    assert!(matches!(error, Some(Error::Rejected(_) | Error::InvalidResponse)), "{error:?}");
}
