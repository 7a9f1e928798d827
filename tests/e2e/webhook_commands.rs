//! The commands for webhooks.

use crate::commands::{output, printed};
use crate::harness::Service;

#[tokio::test]
async fn webhook_is_created_listed_rotated_and_deleted() {
    let service = Service::embedded().await;
    service.project("shop").await;
    let added = printed(service.command(&["--json", "webhooks", "create", "-p", "shop", "github"]));
    let (id, address) = (added["id"].as_str().unwrap(), added["address"].as_str().unwrap());
    assert!(
        address.starts_with("http://")
            && address.ends_with(&format!("/ingest/git?webhook_id={id}"))
    );
    assert!(added["secret"].as_str().unwrap().starts_with("mcw_"));

    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("secret");
    std::fs::write(&file, "of-at-least-16-characters\n").unwrap();
    let rotate =
        ["webhooks", "rotate-secret", "-p", "shop", id, "--secret-file", file.to_str().unwrap()];
    let said = output(service.command(&rotate));
    assert!(said.contains("24 more hours") && !said.contains("of-at-least"), "{said}");

    let listed = printed(service.command(&["--json", "webhooks", "list", "-p", "shop"]));
    assert_eq!(listed["items"][0]["address"], address);
    assert!(listed["items"][0]["previous_secret_expires_at"].is_string(), "{listed}");
    let deliveries = service.command(&["webhooks", "deliveries", "-p", "shop"]);
    assert!(output(deliveries).contains("There are none"));
    output(service.command(&["webhooks", "delete", "-p", "shop", id]));
    assert!(
        output(service.command(&["webhooks", "list", "-p", "shop"])).contains("There are none")
    );
    let wrong =
        service.command(&["webhooks", "create", "-p", "shop", "bitbucket"]).output().unwrap();
    assert!(!wrong.status.success() && String::from_utf8_lossy(&wrong.stderr).contains("gitlab"));
}
