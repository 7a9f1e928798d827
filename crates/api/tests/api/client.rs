//! A whole API for one test, and its client.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use http::{Request, StatusCode, header};
use mc_accounts::{SignIn, SignInSettings};
use mc_api::{ApiState, PROBLEM_JSON};
use mc_connectors::ConnectorRegistry;
use mc_connectors::client::{Connector, ConnectorConfig, Limits, Provider};
use mc_crypto::{EncryptionKey, Encryptor};
use mc_domain::ProjectId;
use mc_domain::policy::RetentionDays;
use mc_embed::{Embedder, ProviderSettings, RuntimeSettings};
use mc_files::ProtectedDirectories;
use mc_jobs::{Embedding, IndexSettings, JobContext, JobSettings, PromptSettings, SyncContext};
use mc_memory::MemoryContext;
use mc_search::{ActiveModel, ActiveModels, SearchContext};
use mc_store::hygiene::retention::{self, RetentionCategory};
use mc_store::{Store, accounts, testing, vectors};
use mc_testkit::TestDatabase;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use tokio_util::sync::{CancellationToken, DropGuard};
use tower::ServiceExt as _;

use crate::cache::cache;

/// The credential of [`CONNECTOR`].
pub const TRACKER_TOKEN: &str = "t0ken-of-the-tracker-4242";
/// The bearer token of every test's API.
pub const SECRET: &str = "a-local-token";

/// A running API over a database and an index of its own.
pub struct TestApi {
    /// The router.
    pub router: Router,
    /// The database.
    pub database: TestDatabase,
    /// The state.
    pub state: ApiState,
    index: TempDir,
    _stop: DropGuard,
}

/// The name of the only connector, which only the project `shop` may use.
pub const CONNECTOR: &str = "our-redmine";

/// The connector. It has a credential, and nothing listens at its address.
fn connectors() -> Arc<ConnectorRegistry> {
    let settings = ConnectorConfig {
        name: CONNECTOR.to_owned(),
        kind: Provider::Redmine,
        url: "http://127.0.0.1:1".parse().unwrap(),
        user: None,
        token: Some(TRACKER_TOKEN.to_owned().into()),
        limits: Limits { retries: 0, ..Limits::default() },
    };
    let mut connectors = ConnectorRegistry::default();
    connectors.add(Connector::new(settings).unwrap(), vec!["shop".parse().unwrap()]);
    Arc::new(connectors)
}

/// A response.
#[derive(Debug)]
pub struct Answer {
    /// HTTP status.
    pub status: StatusCode,
    /// JSON body; null without one.
    pub body: Value,
    /// A header; empty without one.
    pub etag: String,
    media_type: String,
}

impl TestApi {
    /// Starts an API with the project `shop`.
    pub async fn start() -> Self {
        Self::with_model(embedder().await, false).await
    }

    /// Starts an API with another model, which may be remote.
    pub async fn with_model(embedder: Arc<dyn Embedder>, is_remote: bool) -> Self {
        let database = TestDatabase::create().await;
        let store = database.store().clone();
        let (index, stop) = (TempDir::new().unwrap(), CancellationToken::new());
        let (keyword, _follower) =
            mc_search::index::start(&store, index.path(), stop.clone()).await.unwrap();
        keyword.ready().await.unwrap();
        let id = embedder.model().clone();
        let model =
            vectors::register_model(&store, &id.name, id.dimensions, &json!({})).await.unwrap();
        let models = ActiveModels::new(ActiveModel { model, embedder, is_remote }, None);
        let service = database.service().clone();
        let token = Sha256::digest(SECRET).into();
        accounts::set_local_token(&service, "here", &token, "oken").await.unwrap();
        let encryptor = Encryptor::new(EncryptionKey::generate(), Vec::new());
        let search =
            SearchContext { store: service.clone(), keyword, models, sanitizing: Arc::default() };
        let memory = MemoryContext::new(search, Arc::new(encryptor.clone()));
        let public_url = "http://127.0.0.1:7391".parse().unwrap();
        let settings = SignInSettings { public_url, providers: Vec::new(), encryptor };
        let sign_in = SignIn::open(service, settings).await.unwrap();
        let state = ApiState::new(memory, store, sign_in).with_connectors(connectors());
        let router = mc_api::router(state.clone());
        database.project("shop").await;
        Self { router, database, state, index, _stop: stop.drop_guard() }
    }

    /// Sends a `GET`.
    pub async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, Body::empty()).await
    }

    /// Sends a `DELETE`.
    pub async fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, Body::empty()).await
    }

    /// Sends JSON with `PUT`.
    pub async fn put(&self, path: &str, body: Value) -> Answer {
        self.send("PUT", path, Body::from(body.to_string())).await
    }

    /// Sends JSON with `PUT` and `If-Match`.
    pub async fn put_if(&self, path: &str, tag: &str, body: Value) -> Answer {
        let request = Request::builder()
            .method("PUT")
            .uri(path)
            .header(header::AUTHORIZATION, format!("Bearer {SECRET}"))
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::IF_MATCH, tag)
            .body(Body::from(body.to_string()))
            .unwrap();
        self.answer(request).await
    }

    /// Returns the database with the worker's role.
    pub fn background(&self) -> &Store {
        self.database.store()
    }

    /// Returns the database with the service's role.
    pub fn service(&self) -> &Store {
        self.database.service()
    }

    /// Returns the encryption key of the service.
    pub fn encryptor(&self) -> Arc<Encryptor> {
        self.state.memory.encryptor.clone()
    }

    /// Runs a statement as the superuser, to change times or to tamper with rows.
    pub async fn execute(&self, sql: &str) {
        testing::execute(self.database.url(), sql).await.unwrap();
    }

    /// Returns the single text of a query, with the worker's role.
    pub async fn text(&self, sql: &str) -> String {
        testing::text(self.database.store(), sql).await.unwrap()
    }

    /// Sends JSON with `PATCH`.
    pub async fn patch(&self, path: &str, body: Value) -> Answer {
        self.send("PATCH", path, Body::from(body.to_string())).await
    }

    /// Returns a client with another token.
    pub fn with(&self, token: &str) -> As<'_> {
        As { api: self, token: token.to_owned() }
    }

    /// Sends a form without a token, as for OAuth.
    pub async fn form(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let body =
            url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let request = Request::builder()
            .method("POST")
            .uri(path)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Body::from(body))
            .unwrap();
        self.answer(request).await
    }

    /// Opens a page with a cookie.
    pub async fn page(&self, path: &str, cookie: &str) -> Answer {
        let request = Request::builder().uri(path).header(header::COOKIE, cookie);
        self.answer(request.body(Body::empty()).unwrap()).await
    }

    /// Sends JSON.
    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.send("POST", path, Body::from(body.to_string())).await
    }

    /// Sends a signed delivery without a token.
    pub async fn deliver(&self, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut request = Request::builder().method("POST").uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.answer(request.body(Body::from(body.to_vec())).unwrap()).await
    }

    /// Returns the id of the project `shop`.
    pub async fn shop(&self) -> ProjectId {
        self.text("select id::text from projects where key = 'shop'").await.parse().unwrap()
    }

    /// Deletes data of a category past its retention, and returns the count.
    pub async fn purge(&self, what: RetentionCategory, days: &RetentionDays) -> u64 {
        let shop = self.shop().await;
        let mut tx = self.background().begin().await.unwrap();
        let gone = retention::purge(&mut tx, shop, what, days).await.unwrap();
        tx.commit().await.unwrap();
        gone
    }

    /// Runs background jobs, without those of indexing, until the returned guard is dropped.
    pub fn work(&self) -> DropGuard {
        let stop = CancellationToken::new();
        let workers = mc_jobs::workers(self.background().clone(), &self.job_context());
        tokio::spawn(workers.run(stop.clone()));
        stop.drop_guard()
    }

    /// Runs background jobs and index runs until the returned guard is dropped.
    pub fn work_and_index(&self) -> DropGuard {
        let stop = CancellationToken::new();
        let context = self.job_context();
        let settings = IndexSettings {
            cache_dir: self.index.path().join("repositories"),
            protected: ProtectedDirectories::default(),
            allowed_private_hosts: Vec::new(),
            repository: mc_git::Limits::default(),
            history: mc_git::HistoryLimits::default(),
            clones: None,
            node: "test".to_owned(),
        };
        let workers = mc_jobs::workers(self.background().clone(), &context);
        let workers = mc_jobs::indexing(workers, &context, settings, &stop);
        tokio::spawn(workers.run(stop.clone()));
        stop.drop_guard()
    }

    fn job_context(&self) -> JobContext {
        let sync = SyncContext {
            connectors: Arc::clone(&self.state.connectors),
            encryptor: self.encryptor(),
            allowed_private_hosts: Arc::default(),
            protected: ProtectedDirectories::default(),
        };
        let ActiveModel { model, is_remote, .. } = self.state.memory.search.models.current();
        let embedding = Embedding { model, is_remote };
        let (store, settings) = (self.background().clone(), JobSettings::default());
        JobContext {
            store,
            sync,
            embedding,
            chat: Arc::default(),
            prompts: PromptSettings::default(),
            settings,
        }
    }

    async fn send(&self, method: &str, path: &str, body: Body) -> Answer {
        self.with(SECRET).send(method, path, body).await
    }

    /// Sends a request unchanged.
    pub async fn answer(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap();
        let media_type = parts.headers.get(header::CONTENT_TYPE);
        let text =
            |name| parts.headers.get(name).map_or("", |value| value.to_str().unwrap()).to_owned();
        Answer {
            status: parts.status,
            etag: text(header::ETAG),
            media_type: media_type.map_or("", |value| value.to_str().unwrap()).to_owned(),
            body: match serde_json::from_slice(&bytes) {
                Ok(body) => body,
                Err(_) if bytes.is_empty() => Value::Null,
                Err(_) => String::from_utf8_lossy(&bytes).into(),
            },
        }
    }
}

/// A client with a token of its own.
pub struct As<'a> {
    api: &'a TestApi,
    token: String,
}

impl As<'_> {
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

    /// Sends JSON.
    pub async fn put(&self, path: &str, body: Value) -> Answer {
        self.send("PUT", path, Body::from(body.to_string())).await
    }

    /// Sends JSON with `PATCH`.
    pub async fn patch(&self, path: &str, body: Value) -> Answer {
        self.send("PATCH", path, Body::from(body.to_string())).await
    }

    async fn send(&self, method: &str, path: &str, body: Body) -> Answer {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token))
            .header(header::CONTENT_TYPE, "application/json")
            .body(body)
            .unwrap();
        self.api.answer(request).await
    }
}

impl Answer {
    /// Returns the body of a success.
    #[track_caller]
    pub fn ok(self) -> Value {
        assert!(self.status.is_success(), "{}: {}", self.status, self.body);
        self.body
    }

    /// Returns the field of a problem with this status.
    #[track_caller]
    pub fn fault(&self, status: u16) -> &str {
        assert_eq!(self.status, status, "{}", self.body);
        assert_eq!(self.media_type, PROBLEM_JSON);
        self.body["field"].as_str().unwrap_or_default()
    }

    /// Returns the fault of a response to hostile input: it must be a success or a client error.
    pub fn complaint(&self) -> Option<String> {
        let is_refusal = self.status.is_client_error() && self.media_type == PROBLEM_JSON;
        let is_success = self.status.is_success();
        (!is_refusal && !is_success).then(|| format!("{} {}", self.status, self.body))
    }
}

/// The real default model of the cache directory.
async fn embedder() -> Arc<dyn Embedder> {
    let cache = cache();
    let dir = cache.join("models/all-minilm-l6-v2-int8");
    let settings = ProviderSettings::Folder { dir, name: None };
    let library = format!("{DLL_PREFIX}onnxruntime{DLL_SUFFIX}");
    let runtime = RuntimeSettings {
        onnx_library: Some(cache.join("onnxruntime").join(library)),
        threads: Some(1),
        ..RuntimeSettings::default()
    };
    mc_embed::open(&settings, &runtime).await.unwrap()
}
