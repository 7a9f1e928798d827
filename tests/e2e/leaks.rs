//! Secrets and personal data are sent through every interface and must be found nowhere afterwards.
//! The test collects all bytes that the service and its clients wrote, responded or sent to a
//! model, and searches them.
//!
//! The database is the embedded one, so its files are searched too, including the write-ahead log
//! and the remains of deleted rows. Text that PostgreSQL compresses and the terms of the keyword
//! index cannot be searched; for them, the tables are dumped.
//!
//! Notifications contain no text of the quarantined item. Metrics and chat models do not exist yet
//! and must be added here.

mod canaries;
mod clients;
mod invalid_requests;
mod requests;
mod webhooks;
mod witness;
mod world;

#[path = "../../crates/embed/tests/support/mod.rs"]
#[allow(dead_code, reason = "that crate's tests need more of it")]
mod model;

use std::path::Path;
use std::process::Command;

use world::World;

use crate::cache::cache;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn canaries_are_found_nowhere() {
    let mut world = World::new().await;
    requests::save(&mut world).await;
    requests::write(&mut world).await;
    requests::hold(&mut world).await;
    clients::repositories(&mut world).await;
    let signing = webhooks::deliver(&mut world).await;
    world.service.until("/projects/shop", |project| project["pending_vectors"] == 0).await;
    requests::ask(&mut world).await;
    invalid_requests::send_all(&mut world).await;
    clients::commands(&mut world);
    clients::tools(&mut world).await;
    world.service.until("/projects/shop", |project| project["pending_vectors"] == 0).await;
    requests::read(&mut world).await;
    webhooks::read(&mut world).await;

    for asked in world.model.seen() {
        world.witness.note("request to the model", asked.body.to_string());
    }
    world.witness.note("dump of the database", dumped(&world.service.data_dir));
    assert!(world.service.stop().success());
    world.witness.note("log", world.service.log());
    world.witness.note_files(&world.service.data_dir);

    // The searched places contain the masked text, so they were searched.
    for place in [
        "request to the model",
        "dump of the database",
        "output of export",
        "answer 200",
        "answer 200 of /quarantine",
        "answer 200 of /projects/shop/webhook-d",
    ] {
        for mask in ["[secret:github-token]", "[personal:email]"] {
            assert!(world.witness.holds(place, mask), "{place} has no {mask}");
        }
    }
    for secret in signing {
        assert!(!world.witness.holds("", &secret), "the secret of a webhook was stored");
    }
    let findings = world.witness.find(&world.generator.generated);
    let list = findings.iter().map(|finding| format!("- {finding}\n")).collect::<String>();
    assert!(
        findings.is_empty(),
        "{} of {} canaries:\n{list}",
        findings.len(),
        world.generator.generated.len()
    );
}

/// Dumps all tables of all databases as text, with bytes in hexadecimal, roles and settings.
fn dumped(data_dir: &Path) -> Vec<u8> {
    let cluster = data_dir.join("postgresql");
    let installation = cache().join("postgresql");
    let output = Command::new(installation.join("bin/pg_dumpall"))
        .args(["--username=memory_copilot", "--database=memory_copilot", "--host"])
        .arg(cluster.join("socket"))
        .env("PGPASSWORD", std::fs::read_to_string(cluster.join("password")).unwrap().trim())
        .env("LD_LIBRARY_PATH", installation.join("lib"))
        .output()
        .expect("pg_dumpall runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}
