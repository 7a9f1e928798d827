//! The default model, run for real.

#[path = "../../../tests/cache.rs"]
mod cache;

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::Path;
use std::sync::Arc;

use mc_embed::{Embedder, Error, ProviderSettings, Purpose, RuntimeSettings, open};
use mc_sanitizer::{Sanitized, mask};

use cache::cache;

/// The default model of the cache folder, with two threads.
async fn model() -> Arc<dyn Embedder> {
    let cache = cache();
    let settings =
        ProviderSettings::Folder { dir: cache.join("models/all-minilm-l6-v2-int8"), name: None };
    open(&settings, &runtime(&cache)).await.unwrap_or_else(|error| panic!("{error}"))
}

fn runtime(cache: &Path) -> RuntimeSettings {
    RuntimeSettings {
        onnx_library: Some(
            cache.join("onnxruntime").join(format!("{DLL_PREFIX}onnxruntime{DLL_SUFFIX}")),
        ),
        threads: Some(2),
        ..RuntimeSettings::default()
    }
}

/// For a question of the one project there is.
fn asking() -> Purpose {
    Purpose::Query("00000000-0000-0000-0000-000000000001".parse().expect("an id"))
}

fn texts(texts: &[&str]) -> Vec<Sanitized> {
    texts.iter().map(|text| mask(text).text).collect()
}

async fn passages(model: &dyn Embedder, given: &[&str]) -> Vec<Vec<f32>> {
    model.embed(texts(given), Purpose::Passage).await.expect("vectors")
}

fn similarity(left: &[f32], right: &[f32]) -> f32 {
    left.iter().zip(right).map(|(l, r)| l * r).sum()
}

#[tokio::test]
async fn default_model_has_its_name_and_dimensions() {
    let model = model().await;
    assert_eq!(model.model().name, "all-minilm-l6-v2-int8");
    assert_eq!(model.model().dimensions, 384);
    let vector = passages(&*model, &["a text"]).await.remove(0);
    assert_eq!(vector.len(), 384);
    assert!((similarity(&vector, &vector) - 1.0).abs() < 1e-5, "unit length");
}

#[tokio::test]
async fn similar_texts_are_closer_than_others() {
    let model = model().await;
    let vectors = passages(
        &*model,
        &[
            "The payment gateway times out and the request is retried.",
            "We send the charge again when the payment provider does not answer.",
            "The logo on the landing page is green.",
        ],
    )
    .await;
    let alike = similarity(&vectors[0], &vectors[1]);
    let other = similarity(&vectors[0], &vectors[2]);
    assert!(alike > other + 0.2, "{alike} against {other}");
}

#[tokio::test]
async fn a_text_has_the_same_vector_alone_in_a_batch_and_as_a_query() {
    let model = model().await;
    let text = "fn retry_after(response: &Response) -> Option<Duration>";
    let long = "words of another length ".repeat(60);
    let alone = passages(&*model, &[text]).await.remove(0);
    let in_batch = passages(&*model, &[&long, text, "short"]).await.remove(1);
    let as_query = model.embed(texts(&[text]), asking()).await.expect("a vector").remove(0);
    assert_eq!(alone, in_batch);
    assert_eq!(alone, as_query);
}

#[tokio::test]
async fn unusual_texts_have_vectors() {
    let model = model().await;
    let huge = "lorem ipsum ".repeat(90_000);
    let unbroken = "x".repeat(1_000_000);
    let odd = [
        "",
        " \n\t",
        "Привет, мир",
        "日本語のテキスト",
        "👩‍👩‍👧‍👦 \u{202e}abc",
        "\u{FEFF}",
        &huge,
        &unbroken,
    ];
    assert_eq!(passages(&*model, &odd).await.len(), odd.len());
}

#[tokio::test]
async fn text_beyond_the_model_limit_has_no_effect() {
    let model = model().await;
    let start = "one two three four five six seven eight ".repeat(50);
    let vectors =
        passages(&*model, &[&format!("{start} apples"), &format!("{start} trains")]).await;
    assert_eq!(vectors[0], vectors[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn parallel_callers_get_their_own_vectors() {
    let model = model().await;
    let given: Vec<String> = (0..24).map(|n| format!("Rule {n} of the checkout.")).collect();
    let given: Vec<&str> = given.iter().map(String::as_str).collect();
    let expected = passages(&*model, &given).await;
    let calls = given.iter().map(|text| model.embed(texts(&[text]), asking()));
    let answers = futures::future::try_join_all(calls).await.expect("vectors");
    assert_eq!(answers.concat(), expected);
}

#[tokio::test]
async fn queries_and_saves_overtake_waiting_passages() {
    let model = model().await;
    let long = "the indexer writes passages in batches and counts them ".repeat(30);
    for purpose in [asking(), Purpose::Save] {
        let ingest = model.embed(texts(&vec![long.as_str(); 40]), Purpose::Passage);
        let text = model.embed(texts(&["retries happen in the worker"]), purpose);
        tokio::select! {
            // Polled first, so that its passages stand in the queue before the other comes.
            biased;
            _ = ingest => panic!("{purpose:?} waited for the whole ingest"),
            answer = text => assert_eq!(answer.expect("a vector").len(), 1),
        }
    }
}

#[tokio::test]
async fn directory_without_a_model_error_names_the_file_and_the_fix() {
    let cache = cache();
    let folder = tempfile::tempdir().expect("a folder");
    let settings = ProviderSettings::Folder { dir: folder.path().to_owned(), name: None };
    let error = open(&settings, &runtime(&cache)).await.err().expect("an empty folder");
    assert!(matches!(error, Error::ModelFile { .. }), "{error:?}");
    assert!(error.to_string().contains("tokenizer.json"), "{error}");
    assert!(error.to_string().contains("make setup"), "{error}");
}

#[tokio::test]
async fn model_unknown_to_the_hub_client_is_named() {
    let cache = cache();
    let settings =
        ProviderSettings::Hub { model: "nobody/nothing".into(), cache_dir: cache.join("hub") };
    let error = open(&settings, &runtime(&cache)).await.err().expect("no such model");
    assert!(matches!(error, Error::UnknownModel { .. }), "{error:?}");
    assert!(error.to_string().contains("nobody/nothing"), "{error}");
}
