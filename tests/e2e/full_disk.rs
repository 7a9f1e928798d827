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
    let (status, ready) = service.try_get("/readyz").await;
    assert!(status == 503 && ready.contains("keyword index can't be written"), "{status} {ready}");
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
    // Without root, a limit of the size of files stands in for a full disk. It has another error.
    if geteuid().is_root() {
        assert!(ready.contains("its disk is full"), "{ready}");
        assert!(amiss["message"].as_str().unwrap().contains("its disk is full"), "{amiss}");
        let output = service
            .command(&["save", "-p", "shop", "--kind", "fact", "The till opens at E1003."])
            .output();
        let said = String::from_utf8(output.unwrap().stdout).unwrap();
        assert!(said.contains("the disk of the keyword index is full"), "{said}");
    }

    service.clear_the_disk();
    service.until("/status", |status| status["index"]["phase"] == "live").await;
    for (word, id) in [("E1001", &before), ("E1002", &meanwhile)] {
        let answer = found(&service, word).await;
        assert_eq!(answer["results"][0]["record_id"], *id, "{answer}");
        assert_eq!(answer["degraded"], json!([]), "{answer}");
    }
    assert_eq!(doctor(&service)["ok"], true);
    assert_eq!(service.try_get("/readyz").await.0, 200);
    assert!(service.stop().success(), "{}", service.log());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn full_disk_of_the_database_is_named_everywhere() {
    if !geteuid().is_root() || !can_mount() {
        mc_testkit::skip("MC_TEST_MOUNTS", "no disk can be mounted here", "as root");
        return;
    }
    let mut service = Service::prepared();
    service.launch_with_a_small_data_disk().await;
    service.copy_token();
    service.project("shop").await;
    save(&service, "Payments are retried three times after E1001.").await;

    service.fill_the_disk();
    let (status, ready) = service.try_get("/readyz").await;
    assert!(status == 503 && ready.contains("disk") && ready.contains("full"), "{status} {ready}");
    let said = said_when_full(&service);
    assert!(said.contains("the disk of the database is full") && said.contains("free space"));
    assert!(said.contains("Request id: "), "{said}");
    let output = service.command(&["doctor"]).output().unwrap();
    let report = String::from_utf8(output.stdout).unwrap();
    assert!(!output.status.success() && report.contains("FAIL  readiness"), "{report}");
    let line = report.lines().find(|line| line.starts_with("FAIL  readiness")).unwrap();
    assert!(line.contains("full"), "{report}");

    service.clear_the_disk();
    service.until_ready().await;
    save(&service, "The stock count runs at night because of E1002.").await;
    assert!(service.stop().success(), "{}", service.log());
}

/// Saves until the database has no space for another save, and returns what the command says.
fn said_when_full(service: &Service) -> String {
    // Less than what a large save needs may be left in files that the server has already.
    for n in 0..200 {
        let words: String = (0..600).map(|word| format!("{word:x}{n:x}q ")).collect();
        let text = format!("The stock count {n} runs at night: {words}");
        let output =
            service.command(&["save", "-p", "shop", "--kind", "fact", &text]).output().unwrap();
        if !output.status.success() {
            return String::from_utf8(output.stderr).unwrap();
        }
    }
    panic!("every save was stored:\n{}", service.log());
}

pub fn can_mount() -> bool {
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
