//! `memory-copilot serve`: creates the components, starts them in order and stops them in reverse
//! order.

mod http;
mod key_ownership;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use mc_accounts::{SignIn, SignInSettings, tokens};
use mc_api::{ApiState, Serving};
use mc_crypto::Encryptor;
use mc_domain::{ProjectId, UserId};
use mc_mcp::clients::Client;
use mc_memory::MemoryContext;
use mc_privileges::raise_privileges;
use mc_search::index as keyword;
use mc_search::{Options, Query, SearchContext};
use mc_store::Store;
use mc_store::passages::PassageFilter;
use mc_workspaces::Workbench;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::background::{self, BackgroundServices, ServingParts};
use crate::config::{Config, Encryption};
use crate::data_dir;
use crate::database::{self, Database};
use crate::node::Node;
use crate::{audit_heads, encryption_key, output, redis, token};

/// Runs the service until `shutdown`.
pub async fn run(config: &Config, shutdown: CancellationToken) -> Result<()> {
    // First, so that an address in use is reported before anything starts.
    let listener = listen(config.server.listen).with_context(|| {
        format!(
            "{} can't be listened on; is the service running already? Otherwise set server.listen",
            config.server.listen
        )
    })?;
    let locked = data_dir::create_locked(&config.data_dir)?;
    let serving = http::serving(config)?;
    let Encryption { key_file, previous_key_files } = &config.encryption;
    let (encryptor, new_key) = encryption_key::load_or_generate(key_file, previous_key_files)?;
    let encryptor = Arc::new(encryptor);
    let chains = audit_heads::open_chains(config, &encryptor)?;
    let opened = database::open(config, chains.clone(), &shutdown).await?;
    let Some(database) = opened else { return Ok(()) };
    let claimed = key_ownership::settle(new_key, &database.background, key_file).await;
    if let Err(error) = claimed {
        database.close().await;
        return Err(error);
    }
    let served =
        serve(config, locked.is_content_closed, listener, serving, &database, encryptor, shutdown)
            .await;
    // Closed last, even after an error.
    database.close().await;
    audit_heads::write(&config.audit_heads_file(), &chains.heads())?;
    served
}

/// Listens on an address. A port below 1024 takes a capability of root.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let raised = raise_privileges();
    let listener = std::net::TcpListener::bind(address);
    drop(raised);
    let listener = listener?;
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener)
}

async fn serve(
    config: &Config,
    is_data_dir_closed: bool,
    listener: TcpListener,
    serving: Serving,
    database: &Database,
    encryptor: Arc<Encryptor>,
    shutdown: CancellationToken,
) -> Result<()> {
    let store = &database.store;
    let secret = token::ensure(&config.token_file())?;
    tokens::set_local(store, &background::worker_name(config), &secret).await?;
    let opened = Node::open(config, &database.background, encryptor, &shutdown).await?;
    let Some(node) = opened else { return Ok(()) };
    // Background services stop after the listener, because open requests may need them.
    let stop = CancellationToken::new();
    let (keyword, follower) =
        keyword::start(&database.background, &config.data_dir.join("index"), stop.clone()).await?;
    let search = SearchContext {
        store: store.clone(),
        keyword: keyword.clone(),
        models: node.models.clone(),
        sanitizing: Arc::default(),
    };
    warm_up(&search);
    let memory = MemoryContext::new(search.clone(), Arc::clone(&node.encryptor))
        .with_chat_models(Arc::clone(&node.chat), Duration::from_millis(config.judge.wait_ms));
    let sign_in = sign_in(config, store, &node.encryptor).await?;
    let rate_limits = redis::rate_limits(node.redis.as_ref(), &node.encryptor);
    let workbench = Arc::new(Workbench::new(http::workspaces(config)?));
    let services = BackgroundServices {
        config,
        node: &node,
        is_data_dir_closed,
        serving: Some(ServingParts {
            sign_in: sign_in.clone(),
            keyword,
            follower,
            workbench: Arc::clone(&workbench),
            node_url: config.node_url()?,
        }),
    };
    let tasks = services.start(&database.background, database.queue.clone(), &stop)?;

    let state = ApiState::new(memory.clone(), database.background.clone(), sign_in)
        .with_receiving(database.receiving.clone())
        .with_connectors(Arc::clone(&node.connectors))
        .with_rates(rate_limits);
    let state = state.with_workbench(workbench).with_settings(http::settings(config)?);
    state.register_metrics(config.metrics.project_labels);
    let router = http::router(state, config, &shutdown)?;
    print_banner(config);
    let served = mc_api::run(listener, router, serving, shutdown).await;
    tracing::info!("stopping");
    stop.cancel();
    tasks.wait().await;
    memory.finish().await;
    served.context("the listener failed")
}

async fn sign_in(config: &Config, store: &Store, encryptor: &Encryptor) -> Result<SignIn> {
    let settings = SignInSettings {
        public_url: config.public_url()?,
        providers: config.sign_in.providers.clone(),
        encryptor: encryptor.clone(),
    };
    SignIn::open(store.clone(), settings)
        .await
        .map_err(|error| anyhow!("signing in can't be set up: {error}"))
}

/// Fills the caches in the background, so that the first recalls are not slow.
fn warm_up(search: &SearchContext) {
    tokio::task::spawn_blocking(mc_tokens::warm_up);
    let search = search.clone();
    tokio::spawn(async move {
        let warmed = async {
            mc_store::warm_up(&search.store, &search.models.current().model).await?;
            // A search in a project that does not exist fills the caches that a search needs.
            let project = ProjectId(Uuid::nil());
            let store = search.store.for_project(UserId::LOCAL, project);
            let search = SearchContext { store, ..search };
            let filter = PassageFilter::project(project);
            let query = Query::text("why does `WarmUp::first` retry (src/warm/up.rs:1)?", filter);
            mc_search::search(&search, &query, &Options::default()).await
        };
        if let Err(error) = warmed.await {
            tracing::debug!(
                error = &error as &dyn std::error::Error,
                "the caches could not be filled"
            );
        }
    });
}

/// Prints the addresses of the service once it accepts requests.
fn print_banner(config: &Config) {
    let url = config.base_url();
    tracing::info!(server.url = url, version = env!("CARGO_PKG_VERSION"), "listening");
    output::line(&format!("Memory Copilot {} listens on {url}", env!("CARGO_PKG_VERSION")));
    output::line(&format!("  API page   {url}/docs"));
    output::line(&format!("  MCP        {url}/mcp (streamable HTTP), or: memory-copilot mcp"));
    output::line(&format!("  token      {}", config.token_file().display()));
    let clients: Vec<_> = Client::ALL.iter().map(|client| client.as_str()).collect();
    output::line("  clients    memory-copilot client install CLIENT --dir DIR");
    output::line(&format!("             ({})", clients.join(", ")));
}
