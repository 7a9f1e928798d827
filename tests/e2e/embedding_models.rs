//! Models of the hub and of servers, and a change of the model, by the real program.

use std::path::PathBuf;

use rustix::process::geteuid;
use serde_json::{Value, json};

use crate::cache::cache;
use crate::embedding_server::EmbeddingServer;
use crate::harness::Service;
use crate::hub::Hub;
use crate::tiny_model;

/// Returns the configuration that README.md advises for a team that writes another language than
/// English.
fn advice() -> &'static str {
    let blocks = include_str!("../../README.md").split("```").skip(1).step_by(2);
    let mut advice = blocks.filter(|block| block.trim_start().starts_with("embedding:"));
    advice.next().expect("a block with the configuration")
}

fn write_embedding(service: &mut Service, embedding: &Value) {
    service.write_config(&json!({ "embedding": embedding }).to_string());
}

async fn write(service: &Service, name: &str, text: &str) {
    let document = json!({"doc_id": name, "title": name, "content": text});
    let body = json!({"project_key": "shop", "source": "notes", "documents": [document]});
    service.post("/ingest/docs", &body).await;
}

/// Searches by a synonym, which only vectors find. Returns `degraded`.
async fn assert_whole(service: &Service) -> Value {
    let found = service
        .post("/search", &json!({"project_key": "shop", "query": "kestrel", "explain": true}))
        .await;
    let first = &found["results"][0];
    assert_eq!(first["title"], "birds", "{found}");
    assert_eq!(first["explain"]["retrievers"][0]["retriever"], "vector", "{found}");
    found["degraded"].clone()
}

/// Returns the error of a start that fails.
fn failed_start(service: &Service) -> String {
    let output = service.command(&["serve"]).output().unwrap();
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Gives the service a cache without downloads.
fn empty_cache(service: &mut Service) {
    let cache = cache();
    service.set("MEMORY_COPILOT__CACHE_DIR", service.data_dir.with_file_name("cache"));
    service.set("MEMORY_COPILOT__DATABASE__INSTALL_DIR", cache.join("postgresql"));
    let library = cache.join("onnxruntime/libonnxruntime.so");
    service.set("MEMORY_COPILOT__EMBEDDING__ONNXRUNTIME_LIBRARY", library);
}

/// Returns the directory of downloads. A service of root works as a user of its own, which uses the
/// data directory.
fn downloads(service: &Service) -> PathBuf {
    let cache = service.setting("MEMORY_COPILOT__CACHE_DIR").to_owned();
    if geteuid().is_root() { service.data_dir.join("hub") } else { cache.join("hub") }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hub_model_of_the_readme_is_downloaded_and_searched() {
    let files = tiny_model::files().into_iter().map(|(name, content)| {
        (if name == "model.onnx" { "onnx/model.onnx" } else { name }, content)
    });
    let hub = Hub::start("intfloat/multilingual-e5-small", files.collect()).await;
    let mut service = Service::prepared();
    service.set("HF_ENDPOINT", hub.endpoint().into());
    empty_cache(&mut service);
    service.write_config(&advice().replace("e5-small", "e5-smal"));
    let said = failed_start(&service);
    assert!(said.contains("embedding.model is \"multilingual-e5-smal\""), "{said}");
    assert!(said.contains("intfloat/multilingual-e5-small"), "{said}");

    service.write_config(advice());
    let check = service.doctor("model").unwrap();
    assert!(check["ok"] == false && check["fix"].to_string().contains("start"), "{check}");
    service.launch().await;
    assert!(hub.requested().contains(&"intfloat/multilingual-e5-small/onnx/model.onnx".to_owned()));
    service.project("shop").await;
    write(&service, "birds", "the falcon dives").await;
    let status = service.until("/status", |status| status["pending_vectors"] == 0).await;
    assert_eq!(status["model"]["name"], "intfloat/multilingual-e5-small (MultilingualE5Small)");
    assert_eq!(assert_whole(&service).await, json!([]));
    let check = service.doctor("model").unwrap();
    assert!(
        check["ok"] == true && check["message"].to_string().contains("8 dimensions"),
        "{check}"
    );

    // The next start needs no hub.
    drop(hub);
    service.stop();
    service.launch().await;
    assert_eq!(assert_whole(&service).await, json!([]));
    service.stop();

    let repository = downloads(&service).join("models--intfloat--multilingual-e5-small");
    let commit = std::fs::read_to_string(repository.join("refs/main")).unwrap();
    let graph = repository.join("snapshots").join(commit).join("onnx/model.onnx");
    let whole = std::fs::read(&graph).unwrap();
    std::fs::write(&graph, &whole[..whole.len() / 2]).unwrap();
    for said in [service.doctor("model").unwrap().to_string(), failed_start(&service)] {
        assert!(said.contains(graph.to_str().unwrap()), "{said}");
        assert!(said.contains("damaged or incomplete: delete "), "{said}");
    }
    std::fs::remove_dir_all(repository).unwrap();
    let said = failed_start(&service);
    assert!(said.contains("from the hub") && said.contains("HF_ENDPOINT"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn local_model_answers_until_the_server_has_made_all_vectors() {
    let mut service = Service::prepared();
    let dir = service.data_dir.with_file_name("tiny");
    tiny_model::write(&dir);
    write_embedding(&mut service, &json!({"name": "tiny", "dir": dir}));
    service.launch().await;
    service.project("shop").await;
    write(&service, "birds", "the falcon dives").await;
    service.until("/status", |status| status["pending_vectors"] == 0).await;
    assert_eq!(assert_whole(&service).await, json!([]));
    service.stop();

    // The server makes no vector of the document yet.
    let server = EmbeddingServer::start("text-embedding-3-large", 3072, Some("sesame")).await;
    server.refuse(Some("falcon"));
    let model = json!({
        "provider": "openai", "base_url": server.base_url(), "model": "text-embedding-3-large",
        "api_key_env": "E2E_EMBEDDING_KEY"
    });
    write_embedding(&mut service, &model);
    service.set("E2E_EMBEDDING_KEY", "sesame".into());
    service.launch().await;
    assert_eq!(assert_whole(&service).await, json!([]));
    let status = service.get("/status").await;
    assert_eq!(status["model"], json!({"name": "text-embedding-3-large", "dimensions": 3072}));
    assert_eq!(status["previous_model"], json!({"name": "tiny"}));
    assert_eq!(service.doctor("previous model").unwrap()["ok"], true);
    assert!(server.requests().iter().all(|request| request.model == "text-embedding-3-large"));

    server.refuse(None);
    service.until("/status", |status| status["previous_model"].is_null()).await;
    assert_eq!(assert_whole(&service).await, json!([]));
    assert_eq!(service.doctor("previous model"), None);

    // Back to a local model whose previous server is gone.
    service.stop();
    drop(server);
    std::fs::rename(&dir, dir.with_file_name("other")).unwrap();
    write_embedding(&mut service, &json!({"name": "other", "dir": dir.with_file_name("other")}));
    service.launch().await;
    service.until("/status", |status| status["pending_vectors"] == 0).await;
    service.until("/status", |status| status["previous_model"].is_null()).await;
    assert_eq!(assert_whole(&service).await, json!([]));
}
