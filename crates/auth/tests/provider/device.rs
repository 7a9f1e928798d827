//! The device flow, from the terminal's side.

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
async fn a_terminal_signs_in_when_somebody_approves_in_a_browser() {
    let server = Server::oidc().await;
    let terminal = terminal(&server, "memory-copilot-cli");
    let invitation = terminal.begin(scopes()).await.expect("a code");
    assert_eq!(invitation.address, server.url.join("device").expect("an address"));
    let page = invitation.complete_address.clone().expect("an address with the code");
    assert!(page.query().is_some_and(|query| query.contains(&invitation.user_code)));

    // The first poll finds nothing decided; the person does it while the terminal waits.
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
async fn a_terminal_is_told_when_somebody_refuses() {
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
async fn an_unknown_program_gets_no_code() {
    let server = Server::oidc().await;
    let error = terminal(&server, "somebody-else").begin(scopes()).await.err();
    assert_eq!(error, Some(Error::Refused("invalid_client".to_owned())));
}

#[tokio::test]
async fn an_address_that_is_no_service_is_said_to_be_none() {
    let server = Server::oidc().await;
    let endpoint = |path| server.url.join(path).expect("an address");
    let client = ClientId::parse("memory-copilot-cli").expect("an id");
    let terminal = DeviceFlowClient::new(endpoint("nowhere"), endpoint("token"), &client, None);
    let error = terminal.expect("an address").begin(scopes()).await.err();
    assert!(matches!(error, Some(Error::Refused(_) | Error::BadAnswer)), "{error:?}");
}
