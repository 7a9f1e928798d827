//! Files of local models: in the cache of the hub's clients, and damaged ones.

#[path = "../../../tests/cache.rs"]
mod cache;
#[path = "../../../tests/tiny_model.rs"]
mod tiny_model;

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mc_embed::{Embedder, Error, ProviderSettings, Purpose, RuntimeSettings, is_downloaded, open};
use mc_sanitizer::mask;
use tempfile::TempDir;
use tiny_model::Message;

async fn opened(settings: &ProviderSettings) -> Result<Arc<dyn Embedder>, Error> {
    let library = format!("onnxruntime/{DLL_PREFIX}onnxruntime{DLL_SUFFIX}");
    let onnx_library = Some(cache::cache().join(library));
    open(settings, &RuntimeSettings { onnx_library, ..RuntimeSettings::default() }).await
}

/// Writes a repository as the hub's clients do: a file per content, and links with the names.
fn write_repository(cache: &Path, repository: &str, files: &[(&str, Vec<u8>)]) -> PathBuf {
    let dir = cache.join(format!("models--{}", repository.replace('/', "--")));
    let blobs = dir.join("blobs");
    for dir in [&blobs, &dir.join("refs")] {
        fs::create_dir_all(dir).expect("a directory");
    }
    fs::write(dir.join("refs/main"), "0123abcd").expect("a file");
    for (number, (name, content)) in files.iter().enumerate() {
        let blob = blobs.join(number.to_string());
        fs::write(&blob, content).expect("a file");
        let link = dir.join("snapshots/0123abcd").join(name);
        fs::create_dir_all(link.parent().expect("a directory")).expect("a directory");
        let up = "../".repeat(2 + name.matches('/').count());
        symlink(format!("{up}blobs/{number}"), link).expect("a link");
    }
    dir
}

/// Returns the files with the weights in `model.onnx_data`, as those of large models are.
fn files_with_separate_weights() -> Vec<(&'static str, Vec<u8>)> {
    let entry = |key: &str, value: &str| {
        Message::default().bytes(1, key.as_bytes()).bytes(2, value.as_bytes())
    };
    let length = tiny_model::weights().len().to_string();
    let reference = Message::default()
        .message(13, &entry("location", "model.onnx_data"))
        .message(13, &entry("offset", "0"))
        .message(13, &entry("length", &length))
        .number(14, 1);
    let mut files = tiny_model::tokenizer();
    files.push(("model.onnx", tiny_model::graph(reference)));
    files.push(("model.onnx_data", tiny_model::weights()));
    files
}

fn hub(cache: &TempDir, model: &str) -> ProviderSettings {
    ProviderSettings::Hub { model: model.to_owned(), cache_dir: cache.path().to_owned() }
}

/// `bge-m3` has its weights in files of their own, and the ONNX runtime follows no link out of the
/// graph's directory without a check.
#[tokio::test]
async fn weights_behind_a_link_of_the_cache_are_loaded() {
    let cache = TempDir::new().expect("a directory");
    let settings = hub(&cache, "bge-m3");
    assert!(!is_downloaded(&settings).expect("a known model"));
    let files: Vec<_> = files_with_separate_weights()
        .into_iter()
        .chain([("Constant_7_attr__value", vec![0])])
        .map(|(name, content)| match name {
            "model.onnx" => ("onnx/model.onnx", content),
            "model.onnx_data" => ("onnx/model.onnx_data", content),
            "Constant_7_attr__value" => ("onnx/Constant_7_attr__value", content),
            name => (name, content),
        })
        .collect();
    write_repository(cache.path(), "BAAI/bge-m3", &files);
    assert!(is_downloaded(&settings).expect("a known model"));
    let embedder = opened(&settings).await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(embedder.model().name, "BAAI/bge-m3 (BGEM3)");
    let texts = ["kestrel", "falcon", "bill"].map(|text| mask(text).text).into();
    let vectors = embedder.embed(texts, Purpose::Passage).await.expect("vectors");
    assert_eq!(vectors[0], vectors[1]);
    assert_ne!(vectors[0], vectors[2]);
}

#[tokio::test]
async fn damaged_file_of_the_hub_is_named_with_the_remedy() {
    for (damaged, content) in [
        ("onnx/model.onnx", tiny_model::files().pop().expect("a graph").1),
        ("tokenizer.json", b"{\"version\":".to_vec()),
    ] {
        let cache = TempDir::new().expect("a directory");
        let files: Vec<_> = tiny_model::files()
            .into_iter()
            .map(|(name, whole)| {
                let name = if name == "model.onnx" { "onnx/model.onnx" } else { name };
                let half = content[..content.len() / 2].to_vec();
                (name, if name == damaged { half } else { whole })
            })
            .collect();
        let dir = write_repository(cache.path(), "intfloat/multilingual-e5-small", &files);
        let error = opened(&hub(&cache, "multilingual-e5-small")).await.err().expect(damaged);
        assert!(matches!(error, Error::DamagedModel { .. }), "{error:?}");
        let said = error.to_string();
        let file = dir.join("snapshots/0123abcd").join(damaged);
        assert!(said.contains(&file.display().to_string()), "{said}");
        assert!(said.contains(&format!("delete {}", dir.display())), "{said}");
    }
}

#[tokio::test]
async fn damaged_file_of_a_directory_is_named_with_the_remedy() {
    for damaged in ["model.onnx", "tokenizer.json", "tokenizer_config.json"] {
        let dir = TempDir::new().expect("a directory");
        tiny_model::write(dir.path());
        let settings = ProviderSettings::Folder { dir: dir.path().to_owned(), name: None };
        opened(&settings).await.unwrap_or_else(|error| panic!("{error}"));
        let file = dir.path().join(damaged);
        let whole = fs::read(&file).expect("a file");
        fs::write(&file, &whole[..whole.len() / 2]).expect("a file");
        let error = opened(&settings).await.err().expect(damaged);
        assert!(matches!(error, Error::DamagedModel { .. }), "{error:?}");
        let said = error.to_string();
        assert!(said.contains(&file.display().to_string()), "{said}");
        assert!(said.contains(&format!("delete {}", dir.path().display())), "{said}");
        assert!(said.contains("make setup"), "{said}");
    }
}
