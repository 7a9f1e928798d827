//! The whole service: REST and `/mcp` behind ingress, with the service's database role.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use mc_accounts::{SignIn, SignInSettings};
use mc_api::{ApiSettings, ApiState, Ingress, IngressConfig};
use mc_chat::{ChatModels, ChatSettings};
use mc_crypto::{EncryptionKey, Encryptor};
use mc_mcp::{CoreClient, MemoryServer, ServerSettings};
use mc_memory::MemoryContext;
use mc_search::{ActiveModel, ActiveModels, SearchContext};
use mc_store::vectors;
use mc_testkit::TestDatabase;
use serde_json::json;
use tempfile::TempDir;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::embedder::{DIMENSIONS, WordCounts};

pub struct Service {
    pub router: Router,
    pub search: SearchContext,
    pub encryptor: Encryptor,
    /// The model's id in the database.
    pub model: i16,
    pub index: TempDir,
    pub stop: DropGuard,
}

pub async fn served(database: &TestDatabase) -> Service {
    let background = database.store().clone();
    let (index, stop) = (TempDir::new().expect("a folder"), CancellationToken::new());
    let (keyword, _follower) =
        mc_search::index::start(&background, index.path(), stop.clone()).await.expect("an index");
    keyword.ready().await.expect("a ready index");
    let provider = json!({});
    let model = vectors::register_model(&background, "word-counts", DIMENSIONS, &provider);
    let model = model.await.expect("a model");
    let number = model.id;
    let embedder = Arc::new(WordCounts::new());
    let models = ActiveModels::new(ActiveModel { model, embedder, is_remote: false }, None);
    let store = database.service().clone();
    let search =
        SearchContext { store: store.clone(), keyword, models, sanitizing: Arc::default() };
    let encryptor = Encryptor::new(EncryptionKey::generate(), Vec::new());
    let memory = MemoryContext::new(search.clone(), Arc::new(encryptor.clone()))
        .with_chat_models(client_model(), Duration::ZERO);
    let state = ApiState::new(memory, background, sign_in(store, encryptor.clone()).await)
        .with_connectors(super::integrations::connectors());
    // Other tests cover rate limits.
    let state = state.with_settings(ApiSettings {
        units_per_minute_per_caller: 0,
        processor_time_per_minute_per_caller: Duration::ZERO,
        ..ApiSettings::default()
    });
    let ingress = IngressConfig {
        requests_per_minute_per_address: 0,
        auth_failures_per_minute_per_address: 0,
        processor_time_per_minute_per_address: Duration::ZERO,
        ..IngressConfig::default()
    };
    let core = CoreClient::in_process(mc_api::router(state.clone()));
    let mcp = MemoryServer::new(core, ServerSettings::default());
    let mcp = mc_mcp::http_router(move || mcp.for_session(), stop.clone());
    let router = mc_api::public_router(state, mcp, &Ingress::new(ingress));
    Service { router, search, encryptor, model: number, index, stop: stop.drop_guard() }
}

/// Returns the model of MCP clients, which the service does not ask.
fn client_model() -> Arc<ChatModels> {
    let settings = json!({"models": {"client": {
        "provider": "mcp_sampling", "roles": ["judge"], "max_completion_tokens": 1,
    }}});
    let settings: ChatSettings = serde_json::from_value(settings).expect("settings");
    Arc::new(ChatModels::open(&settings).expect("models"))
}

async fn sign_in(store: mc_store::Store, encryptor: Encryptor) -> SignIn {
    let public_url = "http://127.0.0.1:7391".parse().expect("a URL");
    let settings = SignInSettings { public_url, providers: Vec::new(), encryptor };
    SignIn::open(store, settings).await.expect("keys")
}
