//! The real model behind the real routes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::*;

const MODEL: &str = "all-minilm-l6-v2-int8";

async fn served() -> String {
    let cache = PathBuf::from(std::env::var_os("MEMORY_COPILOT_CACHE").expect("the cache folder"));
    let settings = ProviderSettings::Folder { dir: cache.join("models").join(MODEL), name: None };
    let runtime = RuntimeSettings {
        onnx_library: Some(cache.join("onnxruntime/libonnxruntime.so")),
        ..RuntimeSettings::default()
    };
    let embedder = mc_embed::open(&settings, &runtime).await.expect("the model");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("its address");
    tokio::spawn(async move { axum::serve(listener, router(embedder)).await });
    format!("http://{address}/v1")
}

async fn ask(base: &str, body: Value) -> (u16, Value) {
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let response =
        client.post(format!("{base}/embeddings")).json(&body).send().await.expect("an answer");
    (response.status().as_u16(), response.json().await.expect("JSON"))
}

fn decoded(text: &Value) -> Vec<f32> {
    let bytes = STANDARD.decode(text.as_str().expect("a text")).expect("base64");
    let (numbers, rest) = bytes.as_chunks::<4>();
    assert!(rest.is_empty());
    numbers.iter().map(|&number| f32::from_le_bytes(number)).collect()
}

#[tokio::test]
async fn vectors_are_equal_in_batches_and_both_encodings() {
    let base = served().await;
    let (status, many) =
        ask(&base, json!({"model": MODEL, "input": ["why does it retry", "a"], "dimensions": 384}))
            .await;
    assert_eq!(status, 200, "{many}");
    assert_eq!(many["data"][1]["index"], 1);
    assert_eq!(many["usage"]["total_tokens"], 5);
    let floats: Vec<f32> =
        serde_json::from_value(many["data"][0]["embedding"].clone()).expect("numbers");
    assert_eq!(floats.len(), 384);

    let (_, one) = ask(
        &base,
        json!({"model": MODEL, "input": "why does it retry", "encoding_format": "base64"}),
    )
    .await;
    assert_eq!(decoded(&one["data"][0]["embedding"]), floats);
}

#[tokio::test]
async fn invalid_requests_are_rejected_with_a_reason() {
    let base = served().await;
    for (body, status, words) in [
        (json!({"model": MODEL, "input": [1, 2, 3]}), 400, "token ids"),
        (json!({"model": MODEL, "input": [[1, 2], [3]]}), 400, "token ids"),
        (json!({"model": MODEL, "input": []}), 400, "at least one text"),
        (json!({"model": MODEL, "input": "a", "dimensions": 768}), 400, "384 dimensions"),
        (json!({"model": "text-embedding-3-small", "input": "a"}), 404, MODEL),
        (json!({"model": MODEL}), 422, "input"),
    ] {
        let (answered, answer) = ask(&base, body.clone()).await;
        assert_eq!(answered, status, "{body}: {answer}");
        let message = answer["error"]["message"].as_str().expect("a message");
        assert!(message.contains(words), "{body}: {message}");
    }
}
