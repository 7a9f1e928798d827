//! TLS end to end: a service with a certificate, and commands that trust it.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::harness::Service;

#[tokio::test]
async fn commands_connect_by_tls_to_a_trusted_certificate() {
    let service = Service::encrypted().await;
    service.project("shop").await;
    let save = ["--json", "save", "Money is kept in cents, never in floats.", "-p", "shop"];
    let output = service.command(&save).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let saved: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(saved["outcome"], "created", "{saved}");

    let distrusting =
        service.command(&save).env("MEMORY_COPILOT__CLIENT__CA_CERTIFICATE", "").output().unwrap();
    assert!(!distrusting.status.success());
}

#[tokio::test]
async fn tls_key_readable_by_others_is_rejected_at_start() {
    let mut service = Service::encrypted().await;
    service.stop();
    let key = service.setting("MEMORY_COPILOT__SERVER__TLS__KEY");
    std::fs::set_permissions(key, Permissions::from_mode(0o644)).unwrap();
    let output = service.command(&["serve"]).output().unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("can be read by others; chmod 600"), "{said}");
}

#[tokio::test]
async fn service_without_tls_on_a_network_warns() {
    let mut service = Service::embedded().await;
    assert!(!service.log().contains("unencrypted"), "{}", service.log());
    service.stop();
    let listen = service.setting("MEMORY_COPILOT__SERVER__LISTEN");
    let listen = listen.to_str().unwrap().replace("127.0.0.1", "0.0.0.0");
    service.set("MEMORY_COPILOT__SERVER__LISTEN", listen.into());
    service.launch().await;
    assert!(service.log().contains("go over the network unencrypted"), "{}", service.log());
}
