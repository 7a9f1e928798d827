//! Commit history in the real service: recall finds the files of similar earlier commits, and none
//! of later ones.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::Service;
use crate::repository;

/// A message that names neither the file of its commit nor a word of it.
const PAST: &str = "Keep umlauts in the nightly export";

/// Creates a repository whose second commit touches `lib/writer.rb` and whose third is newer than
/// the index. Returns the second commit.
fn shop(directory: &Path) -> String {
    repository::write(
        directory,
        "lib/writer.rb",
        "class Writer\n  def open(path)\n    File.new(path)\n  end\nend\n",
    );
    for part in ["catalog", "coupon", "parcel", "tariff", "window"] {
        let text = format!("class {part}\n  def {part}_total\n    {part}s.sum\n  end\nend\n");
        repository::write(directory, &format!("app/models/{part}.rb"), &text);
    }
    git(directory, &["init", "-q", "-b", "main"]);
    repository::commit(directory, "Begin");
    repository::write(
        directory,
        "lib/writer.rb",
        "class Writer\n  def open(path)\n    File.new(path, encoding: \"UTF-8\")\n  end\nend\n",
    );
    repository::commit(directory, PAST);
    let indexed = git(directory, &["rev-parse", "HEAD"]);
    repository::write(directory, "app/models/coupon.rb", "class Coupon\nend\n");
    repository::commit(directory, "Umlauts in the nightly export once more");
    indexed
}

#[tokio::test]
async fn recall_finds_files_of_similar_earlier_commits_only() {
    let service = Service::embedded().await;
    let directory = tempfile::tempdir().unwrap();
    let indexed = shop(directory.path());
    service.project("shop").await;
    let body = json!({"project_key": "shop", "location": directory.path(), "ref": indexed});
    let run = service.post("/ingest/git", &body).await;
    let path = format!("/ingest/runs/{}", run["ingest_id"].as_str().unwrap());
    service.until(&path, |run| run["status"] == "SUCCEEDED").await;
    service.until("/projects/shop", |project| project["pending_vectors"] == 0).await;

    let query = "umlauts are lost in the nightly export";
    let found = search(&service, query, &json!({"sources": ["code"]})).await;
    assert_eq!(found[0]["location"], "lib/writer.rb", "{found:#?}");
    let retrievers = |hit: &Value| hit["explain"]["retrievers"].as_array().unwrap().clone();
    let history = retrievers(&found[0])
        .into_iter()
        .find(|retriever| retriever["retriever"] == "history")
        .unwrap();
    assert_eq!((&history["rank"], &history["score"]), (&json!(1), &json!(1.0)));
    let shares: f64 = retrievers(&found[0])
        .iter()
        .map(|retriever| retriever["contribution"].as_f64().unwrap())
        .sum();
    assert!((shares - found[0]["explain"]["fused_score"].as_f64().unwrap()).abs() < 1e-3);

    let without = json!({"sources": ["code"], "disabled_steps": ["history"]});
    let found = search(&service, query, &without).await;
    assert!(
        found.iter().flat_map(retrievers).all(|retriever| retriever["retriever"] != "history"),
        "{found:#?}"
    );

    let changes = search(&service, query, &json!({"sources": ["change"]})).await;
    assert_eq!(changes[0]["title"], PAST);
    assert_eq!(changes[0]["location"], indexed.as_str());
    assert!(
        changes.iter().all(|change| change["title"] != "Umlauts in the nightly export once more")
    );

    let recall = json!({"project_key": "shop", "query": query, "include": ["changes"],
        "time_budget_ms": 10_000});
    let bundle = service.post("/recall", &recall).await;
    assert_eq!(bundle["changes"][0]["subject"], PAST, "{bundle:#}");
    assert_eq!(bundle["changes"][0]["commit"], indexed[..10]);
    assert_eq!(bundle["changes"][0]["files"], json!(["lib/writer.rb"]));
    let greeting = json!({"project_key": "shop", "query": "hi", "include": ["changes"],
        "time_budget_ms": 10_000});
    assert_eq!(service.post("/recall", &greeting).await["changes"], json!([]));
    let recall = json!({"project_key": "shop", "query": query});
    assert!(service.post("/recall", &recall).await.get("changes").is_none());

    let all = search(&service, query, &json!({})).await;
    assert!(all.iter().all(|hit| hit["source"] != "change"), "{all:#?}");
    assert!(
        all.iter().flat_map(retrievers).all(|retriever| retriever["retriever"] != "history"),
        "{all:#?}"
    );
}

async fn search(service: &Service, query: &str, with: &Value) -> Vec<Value> {
    let mut body =
        json!({"project_key": "shop", "query": query, "explain": true, "time_budget_ms": 10_000});
    body.as_object_mut().unwrap().extend(with.as_object().unwrap().clone());
    service.post("/search", &body).await["results"].as_array().unwrap().clone()
}

fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git").arg("-C").arg(directory).args(arguments).output().unwrap();
    assert!(output.status.success(), "git {arguments:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
