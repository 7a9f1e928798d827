//! Tests with a scripted Core and clients that offer a model, or none. The end-to-end tests have
//! the official SDK as client.

use std::sync::atomic::{AtomicUsize, Ordering};

use axum::extract::State;
use axum::routing::{get, post};
use axum::{Json, Router};
use mc_domain::ProjectKey;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig,
    CreateMessageRequestMethod, ProtocolVersion,
};
use rmcp::service::RoleClient;
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt, ErrorData};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::core::{TokenFile, TokenSource};
use crate::{MemoryServer, ServerSettings, serve_on};

const ID: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

/// Counts the questions that the Core was asked for. A save waits 50 ms for the answer.
fn core(questions: Arc<AtomicUsize>) -> Router {
    async fn question(State(questions): State<Arc<AtomicUsize>>) -> Json<Value> {
        questions.fetch_add(1, Ordering::Relaxed);
        Json(json!({
            "instructions": "Judge.", "question": "{}", "answer_schema": {"type": "object"},
            "known": [], "model": "client", "model_hint": "small", "wait_ms": 50,
            "timeout_seconds": 1, "max_completion_bytes": 1000, "max_completion_tokens": 100,
        }))
    }
    let saved = json!({"outcome": "created", "id": ID, "reason": "new", "awaits_judgment": true});
    Router::new()
        .route("/save", post(async || Json(saved)))
        .route("/records/{id}/judgment", get(question))
        .with_state(questions)
}

/// A client with a model that never answers, if it offers one.
#[derive(Clone, Default)]
struct Client {
    has_model: bool,
    was_cancelled: Arc<Notify>,
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let mut config = ClientConfig::default();
        if self.has_model {
            config.capabilities = ClientCapabilities::builder().enable_sampling().build();
        }
        config
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let preferred = params.model_preferences.and_then(|preferences| preferences.hints);
        assert_eq!(preferred, Some(vec![ModelHint::new("small")]));
        context.ct.cancelled().await;
        self.was_cancelled.notify_one();
        Err(ErrorData::method_not_found::<CreateMessageRequestMethod>())
    }
}

/// Saves a note; returns the result, and how often the Core was asked for a question.
async fn saved(client: Client, lifecycle: ClientLifecycleMode) -> (CallToolResult, usize) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let questions = Arc::new(AtomicUsize::default());
    let router = core(Arc::clone(&questions));
    tokio::spawn(async move { axum::serve(listener, router).await });
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("token");
    std::fs::write(&path, "secret").expect("a token");
    let tokens: Arc<dyn TokenSource> = Arc::new(TokenFile { path, url: url.clone() });
    let core = CoreClient::over_http(&url, tokens, None).expect("an address");
    let settings = ServerSettings {
        default_project: ProjectKey::parse("shop").ok(),
        ..ServerSettings::default()
    };
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let (read, write) = tokio::io::split(ours);
    let shutdown = CancellationToken::new();
    tokio::spawn(serve_on(read, write, MemoryServer::new(core, settings), shutdown.clone()));
    let was_cancelled = Arc::clone(&client.was_cancelled);
    let has_model = client.has_model;
    let is_session = matches!(lifecycle, ClientLifecycleMode::Initialize);
    let running = client.serve_with_lifecycle(theirs, lifecycle).await.expect("a session");
    let Value::Object(arguments) = json!({"kind": "fact", "content": "Units must match"}) else {
        unreachable!("an object")
    };
    let save = CallToolRequestParams::new("save").with_arguments(arguments);
    let result = running.call_tool(save).await.expect("a result");
    if has_model && is_session {
        // The save has returned, and the question ends with its time limit.
        was_cancelled.notified().await;
    }
    (result, questions.load(Ordering::Relaxed))
}

fn structured(result: &CallToolResult) -> &Value {
    assert_eq!(result.is_error, Some(false), "{result:?}");
    result.structured_content.as_ref().expect("structured content")
}

#[tokio::test]
async fn client_without_a_model_is_not_asked() {
    let (result, questions) = saved(Client::default(), ClientLifecycleMode::Initialize).await;
    assert_eq!(structured(&result), &json!({"outcome": "created", "id": ID, "reason": "new"}));
    assert_eq!(questions, 0);
}

#[tokio::test]
async fn revision_without_requests_to_clients_asks_none() {
    let lifecycle =
        ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    let client = Client { has_model: true, ..Client::default() };
    let (result, questions) = saved(client, lifecycle).await;
    assert_eq!(structured(&result)["outcome"], "created");
    assert_eq!(questions, 0);
}

#[tokio::test]
async fn save_does_not_wait_for_a_model_that_never_answers_and_the_client_is_told() {
    let client = Client { has_model: true, ..Client::default() };
    let (result, questions) = saved(client, ClientLifecycleMode::Initialize).await;
    assert_eq!(structured(&result)["outcome"], "created");
    assert_eq!(questions, 1);
}
