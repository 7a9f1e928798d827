//! A whole API for one test, and the few words to call it with.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use http::{Request, StatusCode, header};
use mc_api::{ApiState, PROBLEM_JSON, Token};
use mc_llm::{CacheDir, Embedder, ProviderSettings, RuntimeSettings};
use mc_memory::MemoryContext;
use mc_search::{ActiveModel, ActiveModels, SearchContext};
use mc_store::vectors;
use mc_testkit::TestDatabase;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::{CancellationToken, DropGuard};
use tower::ServiceExt as _;

/// The bearer token of every test's API.
pub const SECRET: &str = "a-local-token";

/// A running API over a database and an index of its own.
pub struct TestApi {
    /// As it is served.
    pub router: Router,
    /// The database behind it.
    pub database: TestDatabase,
    /// What it is made of.
    pub state: ApiState,
    _index: TempDir,
    _stop: DropGuard,
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    /// HTTP status.
    pub status: StatusCode,
    /// JSON body; null when there was none.
    pub body: Value,
    media_type: String,
}

impl TestApi {
    /// Starts one, with a project `shop` in it.
    pub async fn start() -> Self {
        let database = TestDatabase::create().await;
        let store = database.store().clone();
        let (index, stop) = (TempDir::new().unwrap(), CancellationToken::new());
        let (keyword, _follower) =
            mc_search::index::start(&store, index.path(), stop.clone()).await.unwrap();
        keyword.ready().await.unwrap();
        let embedder = embedder().await;
        let id = embedder.model().clone();
        let model =
            vectors::register_model(&store, &id.name, id.dimensions, &json!({})).await.unwrap();
        let models = ActiveModels::new(ActiveModel { model, embedder }, None);
        let memory = MemoryContext::new(SearchContext { store, keyword, models });
        let state = ApiState::new(memory, Token::new(SECRET));
        let router = mc_api::router(state.clone());
        database.project("shop").await;
        Self { router, database, state, _index: index, _stop: stop.drop_guard() }
    }

    /// Sends a `GET`.
    pub async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, Body::empty()).await
    }

    /// Sends a `DELETE`.
    pub async fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, Body::empty()).await
    }

    /// Sends JSON.
    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.send("POST", path, Body::from(body.to_string())).await
    }

    async fn send(&self, method: &str, path: &str, body: Body) -> Answer {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::AUTHORIZATION, format!("Bearer {SECRET}"))
            .header(header::CONTENT_TYPE, "application/json")
            .body(body)
            .unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap();
        let media_type = parts.headers.get(header::CONTENT_TYPE);
        Answer {
            status: parts.status,
            media_type: media_type.map_or("", |value| value.to_str().unwrap()).to_owned(),
            body: if bytes.is_empty() {
                Value::Null
            } else {
                serde_json::from_slice(&bytes).unwrap()
            },
        }
    }
}

impl Answer {
    /// The body of a success.
    #[track_caller]
    pub fn ok(self) -> Value {
        assert!(self.status.is_success(), "{}: {}", self.status, self.body);
        self.body
    }

    /// The field at fault of a problem with this status.
    #[track_caller]
    pub fn fault(&self, status: u16) -> &str {
        assert_eq!(self.status, status, "{}", self.body);
        assert_eq!(self.media_type, PROBLEM_JSON);
        self.body["field"].as_str().unwrap_or_default()
    }

    /// What is said against an answer to hostile input: it must be a success or the caller's fault.
    pub fn complaint(&self) -> Option<String> {
        let is_refusal = self.status.is_client_error() && self.media_type == PROBLEM_JSON;
        let is_success = self.status.is_success();
        (!is_refusal && !is_success).then(|| format!("{} {}", self.status, self.body))
    }
}

/// The default model of the cache folder, run for real.
async fn embedder() -> Arc<dyn Embedder> {
    let cache = CacheDir::locate(|name| std::env::var_os(name)).unwrap();
    let settings = ProviderSettings::Folder { dir: cache.default_model(), name: None };
    let runtime = RuntimeSettings {
        onnx_library: Some(cache.onnx_library()),
        threads: Some(1),
        ..RuntimeSettings::default()
    };
    mc_llm::open(&settings, &runtime).await.unwrap()
}
