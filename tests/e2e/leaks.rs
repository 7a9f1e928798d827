//! Secrets and personal data that are sent in every way are found nowhere afterwards: the test sends them,
//! takes everything that the service and its clients wrote, answered or asked a model for, and greps the
//! bytes.
//!
//! The database is the embedded one, so that its files are looked through as well, the write-ahead log and
//! what a deleted row leaves behind included. What PostgreSQL compresses there, and the terms of the keyword
//! index, a grep can't read: the tables, from which the index is made, are dumped for that.
//!
//! Notices to webhooks say nothing of what was held. There are no metrics or chat models yet; whoever adds
//! them adds them here.

mod canaries;
mod clients;
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
async fn what_was_sent_in_secret_is_found_nowhere() {
    let mut world = World::new().await;
    requests::save(&mut world).await;
    requests::write(&mut world).await;
    requests::hold(&mut world).await;
    clients::repositories(&mut world).await;
    let signing = webhooks::deliver(&mut world).await;
    world.service.until("/projects/shop", |project| project["pending_vectors"] == 0).await;
    requests::ask(&mut world).await;
    requests::err(&mut world).await;
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

    // Whatever is looked for has been there to be found, and was masked.
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
        assert!(!world.witness.holds("", &secret), "the secret of a hook rests somewhere");
    }
    let finds = world.witness.finds(&world.sower.sown);
    let list = finds.iter().map(|find| format!("- {find}\n")).collect::<String>();
    assert!(finds.is_empty(), "{} of {} needles:\n{list}", finds.len(), world.sower.sown.len());
}

/// All tables of all databases as text, bytes in hexadecimal digits; with roles and settings.
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
