//! A service on a disk that fills up, and then has space again.

use std::process::Command;

use mc_testkit::TestDatabase;
use rustix::process::geteuid;
use serde_json::{Value, json};

use crate::harness::Service;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn full_disk_keeps_saves_searchable_and_the_index_recovers() {
    if geteuid().is_root() && !can_mount() {
        mc_testkit::skip("MC_TEST_MOUNTS", "root can't mount here", "with CAP_SYS_ADMIN");
        return;
    }
    let database = TestDatabase::create().await;
    let mut service = Service::prepared();
    service.set("MEMORY_COPILOT__DATABASE__URL", database.url().into());
    service.launch_on_a_small_disk().await;
    service.project("shop").await;
    let before = save(&service, "Payments are retried three times after E1001.").await;
    assert_eq!(found(&service, "E1001").await["results"][0]["record_id"], before);

    service.fill_the_disk();
    let meanwhile = save(&service, "The stock count runs at night because of E1002.").await;
    service.until("/status", |status| status["index"]["phase"] == "read_only").await;
    assert_eq!(service.get(&format!("/records/{meanwhile}")).await["id"], meanwhile);
    // The keyword index has none of it, so search finds it by its vector.
    service.until("/status", |status| status["pending_vectors"] == 0).await;
    let answer = found(&service, "why does the stock count run at night?").await;
    assert_eq!(answer["results"][0]["record_id"], meanwhile, "{answer}");
    let degraded = answer["degraded"].to_string();
    assert!(degraded.contains("keyword index can't be written"), "{answer}");
    let amiss = doctor(&service);
    assert_eq!(amiss["ok"], false, "{amiss}");
    assert!(amiss["fix"].as_str().unwrap().contains("free space"), "{amiss}");

    service.clear_the_disk();
    service.until("/status", |status| status["index"]["phase"] == "live").await;
    for (word, id) in [("E1001", &before), ("E1002", &meanwhile)] {
        let answer = found(&service, word).await;
        assert_eq!(answer["results"][0]["record_id"], *id, "{answer}");
        assert_eq!(answer["degraded"], json!([]), "{answer}");
    }
    assert_eq!(doctor(&service)["ok"], true);
    assert!(service.stop().success(), "{}", service.log());
}

fn can_mount() -> bool {
    Command::new("unshare").args(["--mount", "true"]).status().is_ok_and(|status| status.success())
}

async fn save(service: &Service, content: &str) -> String {
    let body = json!({ "project_key": "shop", "kind": "fact", "content": content });
    service.post("/save", &body).await["id"].as_str().expect("an id").to_owned()
}

async fn found(service: &Service, query: &str) -> Value {
    let body = json!({ "project_key": "shop", "query": query, "time_budget_ms": 5000 });
    service.post("/search", &body).await
}

/// Returns `doctor`'s report on the keyword index.
fn doctor(service: &Service) -> Value {
    let output = service.command(&["--json", "doctor"]).output().unwrap();
    let findings: Value = serde_json::from_slice(&output.stdout).expect("findings");
    let findings = findings.as_array().unwrap();
    findings.iter().find(|finding| finding["check"] == "index").expect("the index").clone()
}
