//! The state after `kill -9`: acknowledged saves, a resumed ingest, a restarted database.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::harness::Service;
use crate::repository;

const SAVES: usize = 100;
/// Number of acknowledged saves before the service is killed.
const BEFORE_THE_KILL: usize = 60;

#[tokio::test]
async fn kill_during_ingest_and_saves_loses_nothing_acknowledged() {
    let mut service = Service::embedded().await;
    service.project("crash").await;
    let directory = tempfile::tempdir().unwrap();
    let tree = many_files(directory.path());
    let body = json!({ "project_key": "crash", "location": tree });
    let run = service.post("/ingest/git", &body).await;
    let run = format!("/ingest/runs/{}", run["ingest_id"].as_str().unwrap());

    let mut acknowledged = Vec::new();
    for number in 0..SAVES {
        if acknowledged.len() == BEFORE_THE_KILL {
            service.kill();
            break;
        }
        let (status, answer) = service.try_post("/save", &note(number)).await.unwrap();
        assert_eq!(status, 200, "{answer}");
        assert_eq!(answer["outcome"], "created", "{answer}");
        acknowledged.push((number, answer["id"].as_str().unwrap().to_owned()));
    }
    service.launch().await;

    for (number, id) in &acknowledged {
        let record = service.get(&format!("/records/{id}")).await;
        assert!(record["content"].as_str().unwrap().contains(&identifier(*number)), "{record}");
        let body = json!({ "project_key": "crash", "query": identifier(*number), "limit": 1,
            "time_budget_ms": 5000 });
        let found = service.post("/search", &body).await;
        assert_eq!(found["results"][0]["record_id"], id.as_str(), "{found}");
    }
    for number in acknowledged.len()..SAVES {
        service.post("/save", &note(number)).await;
    }
    let done = service.until(&run, |run| run["status"] == "SUCCEEDED").await;
    assert_eq!(done["files_done"], done["files_total"], "{done}");
    let overview = service.get("/projects/crash").await;
    assert_eq!(overview["files"], FILES, "{overview}");
    assert_eq!(overview["records"], SAVES, "{overview}");
}

#[tokio::test]
async fn killed_database_is_restarted() {
    let service = Service::embedded().await;
    service.project("phoenix").await;
    let saved = service
        .post(
            "/save",
            &json!({
        "project_key": "phoenix", "kind": "fact",
        "content": "The importer retries E4711 three times before it gives up." }),
        )
        .await;
    kill_postmaster(&service.data_dir);
    let path = format!("/records/{}", saved["id"].as_str().unwrap());
    // Requests fail while the database is down, with a message; afterwards they succeed again.
    let began = std::time::Instant::now();
    loop {
        let body = json!({ "project_key": "phoenix", "query": "E4711" });
        if let Some((200, found)) = service.try_post("/search", &body).await
            && found["results"][0]["record_id"] == saved["id"]
        {
            break;
        }
        assert!(began.elapsed().as_secs() < 60, "the database stayed away:\n{}", service.log());
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!(service.get(&path).await["id"], saved["id"]);
}

const FILES: usize = 400;

fn many_files(directory: &Path) -> PathBuf {
    let tree = directory.join("many");
    for number in 0..FILES {
        let text = format!(
            "# Computes figure {number} of the yearly report.\ndef figure_{number}(rows):\n    \
             total = sum(row.amount for row in rows)\n    return total * {number}\n"
        );
        repository::write(&tree, &format!("report/part_{}/figure_{number}.py", number % 20), &text);
    }
    tree
}

fn note(number: usize) -> serde_json::Value {
    let content = format!(
        "Decision {}: the importer retries this error with a delay of {number} seconds.",
        identifier(number)
    );
    json!({ "project_key": "crash", "kind": "fact", "content": content })
}

fn identifier(number: usize) -> String {
    format!("E{number:04}")
}

fn kill_postmaster(data_dir: &Path) {
    let pid_file = find(data_dir, "postmaster.pid").expect("a running cluster");
    let text = std::fs::read_to_string(pid_file).unwrap();
    let pid = text.lines().next().unwrap().trim();
    let killed = std::process::Command::new("kill").args(["-9", pid]).status().unwrap();
    assert!(killed.success());
}

fn find(directory: &Path, name: &str) -> Option<PathBuf> {
    for entry in std::fs::read_dir(directory).ok()?.flatten() {
        let path = entry.path();
        if entry.file_name() == name {
            return Some(path);
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir())
            && let Some(found) = find(&path, name)
        {
            return Some(found);
        }
    }
    None
}
