//! A server that speaks `/v1/embeddings`. Its vectors have the synonyms of the tiny model, on axes
//! that depend on the model, so vectors of different models are not comparable.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::tiny_model::{GROUPS, OTHER};

/// A running server. It stops when the value is dropped.
pub struct EmbeddingServer {
    address: SocketAddr,
    state: Arc<Shared>,
    task: JoinHandle<()>,
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Request {
    pub authorization: Option<String>,
    pub model: String,
    pub dimensions: Option<u64>,
    pub inputs: Vec<String>,
}

struct Shared {
    model: &'static str,
    dimensions: usize,
    key: Option<String>,
    requests: Mutex<Vec<Request>>,
    /// Requests with this in a text fail.
    refused: Mutex<Option<&'static str>>,
}

impl EmbeddingServer {
    /// Starts a server of one model, which requires the key if there is one.
    pub async fn start(model: &'static str, dimensions: usize, key: Option<&str>) -> Self {
        let state = Arc::new(Shared {
            model,
            dimensions,
            key: key.map(str::to_owned),
            requests: Mutex::default(),
            refused: Mutex::default(),
        });
        let app = Router::new().route("/v1/embeddings", post(embed));
        let app = app.with_state(Arc::clone(&state));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound listener");
        let task = tokio::spawn(async move {
            let served = axum::serve(listener, app).await;
            served.expect("a listener");
        });
        Self { address, state, task }
    }

    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Makes requests fail that have this in a text; all if it is empty, none if it is `None`.
    pub fn refuse(&self, text: Option<&'static str>) {
        *self.state.refused.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }

    pub fn requests(&self) -> Vec<Request> {
        self.state.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for EmbeddingServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn embed(
    State(state): State<Arc<Shared>>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Response {
    let authorization = headers.get("authorization").and_then(|value| value.to_str().ok());
    let inputs: Vec<String> = serde_json::from_value(body["input"].clone()).expect("texts");
    let request = Request {
        authorization: authorization.map(str::to_owned),
        model: body["model"].as_str().unwrap_or_default().to_owned(),
        dimensions: body["dimensions"].as_u64(),
        inputs,
    };
    state.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
    match answer(&state, &request) {
        Ok(data) => Json(json!({"object": "list", "data": data})).into_response(),
        Err((status, message)) => {
            (status, Json(json!({"error": {"message": message}}))).into_response()
        }
    }
}

fn answer(state: &Shared, request: &Request) -> Result<Vec<Value>, (StatusCode, &'static str)> {
    let expected = state.key.as_ref().map(|key| format!("Bearer {key}"));
    if expected.is_some() && request.authorization != expected {
        return Err((StatusCode::UNAUTHORIZED, "wrong key"));
    }
    if request.model != state.model {
        return Err((StatusCode::NOT_FOUND, "no such model"));
    }
    let refused = *state.refused.lock().unwrap_or_else(PoisonError::into_inner);
    if refused.is_some_and(|refused| request.inputs.iter().any(|text| text.contains(refused))) {
        return Err((StatusCode::SERVICE_UNAVAILABLE, "refused by the test"));
    }
    let dimensions = request.dimensions.and_then(|n| usize::try_from(n).ok());
    let dimensions = dimensions.unwrap_or(state.dimensions);
    let of = |(index, text): (usize, &String)| {
        let embedding = vector(text, state.model, dimensions);
        json!({"index": index, "embedding": embedding})
    };
    Ok(request.inputs.iter().enumerate().map(of).collect())
}

fn vector(text: &str, model: &str, dimensions: usize) -> Vec<f32> {
    let first = model.bytes().map(usize::from).sum::<usize>();
    let mut sum = vec![0.0; dimensions];
    for word in text.to_lowercase().split(|c: char| !c.is_alphanumeric()) {
        match GROUPS.iter().position(|group| group.contains(&word)) {
            Some(number) => sum[(first + number + 1) % dimensions] += 1.0,
            None => sum[first % dimensions] += OTHER,
        }
    }
    sum
}
