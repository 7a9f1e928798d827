//! The subcommands of `memory-copilot webhooks`.

use hmac::{Hmac, Mac as _};
use sha2::Sha256;

use crate::commands::{output, printed};
use crate::harness::{Service, direct_client};

const SECRET: &str = "of-at-least-16-characters";

#[tokio::test]
async fn webhook_is_created_listed_rotated_and_deleted() {
    let service = Service::embedded().await;
    service.project("shop").await;
    let created =
        printed(service.command(&["--json", "webhooks", "create", "-p", "shop", "github"]));
    let (id, address) = (created["id"].as_str().unwrap(), created["address"].as_str().unwrap());
    assert!(
        address.starts_with("http://")
            && address.ends_with(&format!("/ingest/git?webhook_id={id}"))
    );
    assert!(created["secret"].as_str().unwrap().starts_with("mcw_"));

    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("secret");
    std::fs::write(&file, format!("{SECRET}\n")).unwrap();
    let rotate =
        ["webhooks", "rotate-secret", "-p", "shop", id, "--secret-file", file.to_str().unwrap()];
    let rotated = output(service.command(&rotate));
    assert!(rotated.contains("24 more hours") && !rotated.contains(SECRET), "{rotated}");

    let listed = printed(service.command(&["--json", "webhooks", "list", "-p", "shop"]));
    assert_eq!(listed["items"][0]["address"], address);
    assert!(listed["items"][0]["previous_secret_expires_at"].is_string(), "{listed}");
    let deliveries = service.command(&["webhooks", "deliveries", "-p", "shop"]);
    assert!(output(deliveries).contains("There are none"));

    assert_eq!(send_ping(address).await, 202, "the new secret is accepted");
    let deliveries = printed(service.command(&["--json", "webhooks", "deliveries", "-p", "shop"]));
    let delivery = deliveries["items"][0]["id"].as_str().unwrap();
    let replayed = output(service.command(&["webhooks", "replay", "-p", "shop", delivery]));
    assert!(replayed.contains(&format!("queued: ping {delivery}")), "{replayed}");

    output(service.command(&["webhooks", "delete", "-p", "shop", id]));
    assert!(
        output(service.command(&["webhooks", "list", "-p", "shop"])).contains("There are none")
    );
    // The error lists the valid providers.
    let wrong =
        service.command(&["webhooks", "create", "-p", "shop", "bitbucket"]).output().unwrap();
    assert!(!wrong.status.success() && String::from_utf8_lossy(&wrong.stderr).contains("gitlab"));
}

/// Sends a ping as GitHub does, signed with [`SECRET`]. Returns the status.
async fn send_ping(address: &str) -> u16 {
    let body = r#"{"zen": "Keep it logically awesome."}"#;
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(body.as_bytes());
    let signature = format!("sha256={}", hex::encode(mac.finalize().into_bytes()));
    let delivery = direct_client()
        .post(address)
        .header("content-type", "application/json")
        .header("x-github-event", "ping")
        .header("x-github-delivery", "d-1")
        .header("x-hub-signature-256", signature);
    delivery.body(body).send().await.unwrap().status().as_u16()
}
