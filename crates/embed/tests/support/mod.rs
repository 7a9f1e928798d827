//! A server that speaks `/v1/embeddings` by a script.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};

/// The response to the n-th request (from 0).
type Script = dyn Fn(usize, &Value) -> Response + Send + Sync;

#[derive(Clone)]
pub struct Server {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Seen {
    pub authorization: Option<String>,
    pub body: Value,
}

#[derive(Clone)]
struct Running {
    seen: Arc<Mutex<Vec<Seen>>>,
    script: Arc<Script>,
}

impl Server {
    pub async fn start(script: impl Fn(usize, &Value) -> Response + Send + Sync + 'static) -> Self {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let running = Running { seen: Arc::clone(&seen), script: Arc::new(script) };
        let app = Router::new().route("/v1/embeddings", post(answer)).with_state(running);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound listener");
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { address, seen }
    }

    pub fn base_url(&self) -> url::Url {
        format!("http://{}/v1", self.address).parse().expect("a URL")
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("no panic under the lock").clone()
    }
}

impl Seen {
    pub fn inputs(&self) -> Vec<&str> {
        inputs(&self.body)
    }
}

async fn answer(
    State(running): State<Running>,
    headers: HeaderMap,
    axum::Json(body): axum::Json<Value>,
) -> Response {
    let header = headers.get("authorization").and_then(|value| value.to_str().ok());
    let seen = Seen { authorization: header.map(str::to_owned), body: body.clone() };
    let number = {
        let mut all = running.seen.lock().expect("no panic under the lock");
        all.push(seen);
        all.len() - 1
    };
    (running.script)(number, &body)
}

/// A vector of the counts of three letters for each input, in reverse order with their indices.
pub fn vectors(body: &Value) -> Response {
    let mut data: Vec<Value> = inputs(body)
        .iter()
        .enumerate()
        .map(|(index, text)| {
            json!({"object": "embedding", "index": index, "embedding": letters(text)})
        })
        .collect();
    data.reverse();
    axum::Json(json!({"object": "list", "data": data, "model": body["model"]})).into_response()
}

/// Returns the vector of a text in [`vectors`]. Never all zeros.
pub fn letters(text: &str) -> Vec<f32> {
    let count = |letter| text.chars().take(1000).filter(|&c| c == letter).map(|_| 1.0).sum::<f32>();
    vec![count('a') + 1.0, count('b'), count('c')]
}

pub fn failure(status: StatusCode) -> Response {
    (status, axum::Json(json!({"error": {"message": "scripted"}}))).into_response()
}

fn inputs(body: &Value) -> Vec<&str> {
    body["input"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}
