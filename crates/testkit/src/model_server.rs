//! A model server for tests, which answers by a script. It speaks the streaming protocols of
//! `OpenAI`, Anthropic and Ollama, and misbehaves as real servers do.

mod protocols;
mod reply;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use axum::routing::post;
use serde_json::Value;

pub use protocols::ModelProtocol;
pub use reply::Reply;

/// The reply to a request.
type Script = dyn Fn(&ModelRequest) -> Reply + Send + Sync;

/// A running server. It ends with the test's runtime.
#[derive(Debug, Clone)]
pub struct ModelServer {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<ModelRequest>>>,
}

/// A request as it arrived.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// Its number, from 0.
    pub number: usize,
    /// The protocol, by the path.
    pub protocol: ModelProtocol,
    /// The API key, by the protocol's header.
    pub key: Option<String>,
    /// The body.
    pub body: Value,
}

#[derive(Clone)]
struct Running {
    requests: Arc<Mutex<Vec<ModelRequest>>>,
    script: Arc<Script>,
}

impl ModelServer {
    /// Starts a server on a free port.
    ///
    /// # Panics
    /// If no port is free.
    pub async fn start(script: impl Fn(&ModelRequest) -> Reply + Send + Sync + 'static) -> Self {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let running = Running { requests: Arc::clone(&requests), script: Arc::new(script) };
        let app = ModelProtocol::ALL
            .iter()
            .fold(Router::new(), |app, protocol| app.route(protocol.path(), post(answer)))
            .with_state(running);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound listener");
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { address, requests }
    }

    /// Returns the base URL for clients of a protocol.
    pub fn base_url(&self, protocol: ModelProtocol) -> String {
        format!("http://{}{}", self.address, protocol.base())
    }

    /// Returns the requests so far.
    ///
    /// # Panics
    /// If a script panicked.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.requests.lock().expect("no panic under the lock").clone()
    }
}

impl ModelRequest {
    /// Returns all texts of the prompt, one below the other.
    pub fn prompt(&self) -> String {
        let system = text(&self.body["system"]);
        let messages = self.body["messages"].as_array().into_iter().flatten();
        let texts = messages.map(|message| text(&message["content"]));
        std::iter::once(system).chain(texts).collect::<Vec<_>>().join("\n")
    }
}

/// Returns a content, which is a text or a list of parts.
fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

async fn answer(
    State(running): State<Running>,
    uri: Uri,
    headers: HeaderMap,
    axum::Json(body): axum::Json<Value>,
) -> Response {
    let protocol = ModelProtocol::of_path(uri.path());
    let header = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = header("authorization").and_then(|value| value.strip_prefix("Bearer "));
    let key = bearer.or_else(|| header("x-api-key")).map(str::to_owned);
    let request = {
        let mut all = running.requests.lock().expect("no panic under the lock");
        let request = ModelRequest { number: all.len(), protocol, key, body };
        all.push(request.clone());
        request
    };
    (running.script)(&request).into_response(protocol).await
}
