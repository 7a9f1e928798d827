//! Tests with a scripted Core and clients that offer a model, or none. The end-to-end tests have
//! the official SDK as client.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use mc_domain::ProjectKey;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig,
    CreateMessageRequestMethod, ProtocolVersion,
};
use rmcp::service::{RoleClient, RunningService};
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt, ErrorData};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::core::{TokenFile, TokenSource};
use crate::{MemoryServer, ServerSettings, serve_on};

const ID: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

/// Counts the questions of the Core. A save waits 50 ms for a judgment, and a client's answer has
/// `limit_seconds`.
fn core(questions: Arc<AtomicUsize>, limit_seconds: u64) -> Router {
    let question = async move |State(questions): State<Arc<AtomicUsize>>| -> Json<Value> {
        questions.fetch_add(1, Ordering::Relaxed);
        Json(json!({
            "question_id": ID, "version": 1, "instructions": "Judge.", "question": "{}",
            "known": [], "model_hint": "small", "timeout_seconds": limit_seconds,
            "max_completion_bytes": 1000, "max_completion_tokens": 100,
        }))
    };
    let saved = json!({"outcome": "created", "id": ID, "reason": "new", "judgment_wait_ms": 50});
    Router::new()
        .route("/save", post(async || Json(saved)))
        .route("/records/{id}/judgment-questions", post(question))
        .with_state(questions)
}

/// A client with a model that never answers, if it offers one.
#[derive(Clone)]
struct Client {
    has_model: bool,
    asked: mpsc::UnboundedSender<CreateMessageRequestParams>,
    cancelled: mpsc::UnboundedSender<()>,
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
        self.asked.send(params).expect("the test runs");
        context.ct.cancelled().await;
        self.cancelled.send(()).expect("the test runs");
        Err(ErrorData::method_not_found::<CreateMessageRequestMethod>())
    }
}

/// A save of a client.
struct Saved {
    result: CallToolResult,
    /// How often the Core was asked for a question.
    questions: usize,
    asked: mpsc::UnboundedReceiver<CreateMessageRequestParams>,
    cancelled: mpsc::UnboundedReceiver<()>,
    _client: RunningService<RoleClient, Client>,
    _directory: tempfile::TempDir,
}

async fn saved(has_model: bool, lifecycle: ClientLifecycleMode, limit_seconds: u64) -> Saved {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let questions = Arc::new(AtomicUsize::default());
    let router = core(Arc::clone(&questions), limit_seconds);
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
    let server = MemoryServer::new(core, settings);
    tokio::spawn(serve_on(read, write, server, CancellationToken::new()));
    let ((asking, asked), (cancelling, cancelled)) =
        (mpsc::unbounded_channel(), mpsc::unbounded_channel());
    let client = Client { has_model, asked: asking, cancelled: cancelling };
    let client = client.serve_with_lifecycle(theirs, lifecycle).await.expect("a session");
    let arguments = json!({"kind": "fact", "content": "Units must match"});
    let save = CallToolRequestParams::new("save")
        .with_arguments(arguments.as_object().expect("an object").clone());
    let result = client.call_tool(save).await.expect("a result");
    let questions = questions.load(Ordering::Relaxed);
    Saved { result, questions, asked, cancelled, _client: client, _directory: directory }
}

fn structured(saved: &Saved) -> &Value {
    assert_eq!(saved.result.is_error, Some(false), "{:?}", saved.result);
    saved.result.structured_content.as_ref().expect("structured content")
}

#[tokio::test]
async fn client_without_a_model_is_not_asked() {
    let saved = saved(false, ClientLifecycleMode::Initialize, 600).await;
    assert_eq!(structured(&saved), &json!({"outcome": "created", "id": ID, "reason": "new"}));
    assert_eq!(saved.questions, 0);
}

#[tokio::test]
async fn revision_without_requests_to_clients_asks_none() {
    let lifecycle =
        ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    let saved = saved(true, lifecycle, 600).await;
    assert_eq!(structured(&saved)["outcome"], "created");
    assert_eq!(saved.questions, 0);
}

#[tokio::test]
async fn save_returns_before_the_model_answers() {
    let mut saved = saved(true, ClientLifecycleMode::Initialize, 600).await;
    assert_eq!(structured(&saved)["outcome"], "created");
    let asked = saved.asked.recv().await.expect("a question");
    assert_eq!(asked.system_prompt.as_deref(), Some("Judge."));
    let hints = asked.model_preferences.and_then(|preferences| preferences.hints);
    assert_eq!(hints, Some(vec![ModelHint::new("small")]));
    assert!(saved.cancelled.try_recv().is_err(), "it has more time");
}

#[tokio::test]
async fn question_is_cancelled_after_its_time_limit() {
    let mut saved = saved(true, ClientLifecycleMode::Initialize, 1).await;
    saved.asked.recv().await.expect("a question");
    saved.cancelled.recv().await.expect("a cancellation");
}
