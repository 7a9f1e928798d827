//! Checks of real models and of a server.

use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::embedding_server::EmbeddingServer;
use crate::{cache, tiny_model};

fn local(dir: &TempDir) -> Config {
    let mut config = Config::defaults();
    config.cache_dir = dir.path().to_owned();
    config.data_dir = dir.path().to_owned();
    config.embedding.dir = dir.path().to_owned();
    config.embedding.onnxruntime_library = cache::cache().join("onnxruntime/libonnxruntime.so");
    config
}

#[tokio::test]
async fn local_model_is_loaded_and_embeds_a_word() {
    let dir = TempDir::new().expect("a directory");
    let config = local(&dir);
    let missing = configured(&config).await;
    assert!(!missing.ok && missing.fix.contains("make setup"), "{}", missing.message);
    tiny_model::write(dir.path());
    let found = configured(&config).await;
    assert!(found.ok, "{}", found.message);
    assert!(found.message.contains("8 dimensions"), "{}", found.message);
    let file = dir.path().join("model.onnx");
    let whole = std::fs::read(&file).expect("a file");
    std::fs::write(&file, &whole[..whole.len() / 2]).expect("a file");
    let damaged = configured(&config).await;
    assert!(!damaged.ok);
    assert!(damaged.message.contains(&file.display().to_string()), "{}", damaged.message);
}

#[tokio::test]
async fn missing_and_unknown_hub_models_are_reported() {
    let dir = TempDir::new().expect("a directory");
    let mut config = local(&dir);
    config.embedding.provider = EmbeddingProvider::Huggingface;
    for (model, words) in [("bge-m3", "bge-m3 is not completely in"), ("bge-m33", "BAAI/bge-m3")] {
        config.embedding.model = model.to_owned();
        let found = configured(&config).await;
        assert!(!found.ok && found.message.contains(words), "{}", found.message);
    }
}

#[tokio::test]
async fn server_embeds_a_word_or_its_failure_is_reported() {
    let dir = TempDir::new().expect("a directory");
    let server = EmbeddingServer::start("embed-large", 16, None).await;
    let mut config = local(&dir);
    config.embedding.provider = EmbeddingProvider::Openai;
    config.embedding.base_url = server.base_url();
    config.embedding.model = "embed-large".to_owned();
    let found = configured(&config).await;
    assert!(found.ok && found.message.contains("16 dimensions"), "{}", found.message);
    config.embedding.model = "another".to_owned();
    let wrong = configured(&config).await;
    assert!(!wrong.ok && wrong.message.contains("no such model"), "{}", wrong.message);
    drop(server);
    let gone = configured(&config).await;
    assert!(!gone.ok && gone.message.contains("can't connect"), "{}", gone.message);
}

#[test]
fn previous_model_is_reported_with_its_problem() {
    assert!(previous(&json!({"pending_vectors": 0})).is_none());
    let status = json!({"pending_vectors": 7, "previous_model": {"name": "tiny"}});
    let found = previous(&status).expect("a check");
    assert!(found.ok && found.message.contains("until 7 vectors"), "{}", found.message);
    let status = json!({
        "pending_vectors": 7, "previous_model": {"name": "tiny", "problem": "it is gone"}
    });
    let found = previous(&status).expect("a check");
    assert!(!found.ok && found.message.contains("tiny can't be used: it is gone"));
}
