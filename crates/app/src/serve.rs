//! `memory-copilot serve`: the parts put together, started in order and stopped in reverse.

mod http;
mod key_ownership;

use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use mc_accounts::{SignIn, SignInSettings, tokens};
use mc_api::{ApiState, Serving};
use mc_crypto::{AuditMacKeys, Encryptor};
use mc_domain::{ProjectId, UserId};
use mc_mcp::cursor_ide::snippet;
use mc_memory::MemoryContext;
use mc_postgres::embedded::DataDirLock;
use mc_search::index as keyword;
use mc_search::{Options, Query, SearchContext};
use mc_store::Store;
use mc_store::audit::Chains;
use mc_store::passages::PassageFilter;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::background::{self, ServingParts, models};
use crate::config::{Config, Encryption};
use crate::database::{self, Database};
use crate::{audit_heads, data_dir, encryption_key, output, redis, token};

/// Runs the service until `shutdown`.
pub async fn run(config: &Config, shutdown: CancellationToken) -> Result<()> {
    data_dir::make(&config.data_dir)?;
    // Bound first: an address in use is told before anything is started.
    let listener = TcpListener::bind(config.server.listen).await.with_context(|| {
        format!(
            "{} can't be listened on; is the service running already? Otherwise set server.listen",
            config.server.listen
        )
    })?;
    // Two in one folder would take each other's work for their own, as what they left when they
    // ended.
    let _lock = DataDirLock::acquire(&config.data_dir)?;
    let serving = http::serving(config)?;
    let Encryption { key_file, previous_key_files } = &config.encryption;
    let (sealer, new_key) = encryption_key::find_or_make(key_file, previous_key_files)?;
    let sealer = Arc::new(sealer);
    let chains =
        Chains::new(AuditMacKeys::derive(&sealer), audit_heads::read(&config.audit_heads_file())?);
    let opened = database::open(config, chains.clone(), &shutdown).await?;
    let Some(database) = opened else { return Ok(()) };
    let claimed = key_ownership::settle(new_key, &database.background, key_file).await;
    if let Err(error) = claimed {
        database.close().await;
        return Err(error);
    }
    let served = serve(config, listener, serving, &database, sealer, shutdown).await;
    // The database goes last, whatever happened above it.
    database.close().await;
    audit_heads::write(&config.audit_heads_file(), &chains.heads())?;
    served
}

async fn serve(
    config: &Config,
    listener: TcpListener,
    serving: Serving,
    database: &Database,
    sealer: Arc<Encryptor>,
    shutdown: CancellationToken,
) -> Result<()> {
    let store = &database.store;
    let systems = Arc::new(config.connectors.open()?);
    let secret = token::ensure(&config.token_file())?;
    tokens::set_local(store, &background::worker_name(config), &secret).await?;
    let shared = redis::open(config, &database.background).await?;
    let queries = redis::queries(shared.as_ref(), &sealer);
    // A model may have to be fetched first, which takes minutes.
    let opening = models::open(config, &database.background, queries);
    let Some(models) = shutdown.run_until_cancelled(opening).await else {
        return Ok(());
    };
    let models = models?;
    // Background work outlives the listener by a moment, so that open requests find it working.
    let stop = CancellationToken::new();
    let (keyword, follower) =
        keyword::start(&database.background, &config.data_dir.join("index"), stop.clone()).await?;
    let search = SearchContext {
        store: store.clone(),
        keyword: keyword.clone(),
        models,
        sanitizing: Arc::default(),
    };
    warm_up(&search);
    let memory = MemoryContext::new(search.clone(), sealer.clone());
    let sign_in = sign_in(config, store, &sealer).await?;
    let rates = redis::rates(shared.as_ref(), &sealer);
    let work = background::BackgroundServices {
        config,
        models: &memory.search.models,
        sealer: sealer.clone(),
        systems: Arc::clone(&systems),
        serving: Some(ServingParts { sign_in: sign_in.clone(), keyword, follower }),
    };
    let tasks = work.start(&database.background, database.queue.clone(), &stop)?;

    let state = ApiState::new(memory.clone(), database.background.clone(), sign_in)
        .with_receiving(database.receiving.clone())
        .with_connectors(systems)
        .with_rates(rates);
    let router = http::router(state.with_settings(http::settings(config)?), config, &shutdown)?;
    print_banner(config);
    let served = mc_api::run(listener, router, serving, shutdown).await;
    tracing::info!("stopping");
    stop.cancel();
    tasks.wait().await;
    memory.finish().await;
    served.context("the listener failed")
}

async fn sign_in(config: &Config, store: &Store, sealer: &Encryptor) -> Result<SignIn> {
    let settings = SignInSettings {
        public_url: config.public_url()?,
        providers: config.sign_in.providers.clone(),
        encryptor: sealer.clone(),
    };
    SignIn::open(store.clone(), settings)
        .await
        .map_err(|problem| anyhow!("signing in can't be set up: {problem}"))
}

/// Beside the rest of the start: what the first recalls would pay for otherwise.
fn warm_up(search: &SearchContext) {
    tokio::task::spawn_blocking(mc_memory::tokens::warm_up);
    let search = search.clone();
    tokio::spawn(async move {
        let warmed = async {
            mc_store::warm_up(&search.store, &search.models.current().model).await?;
            // Of a project that does not exist, for the sake of what is only made when it is used.
            let nowhere = ProjectId(Uuid::nil());
            let store = search.store.for_project(UserId::LOCAL, nowhere);
            let search = SearchContext { store, ..search };
            let nowhere = PassageFilter::project(nowhere);
            let query = Query::text("why does `WarmUp::first` retry (src/warm/up.rs:1)?", nowhere);
            mc_search::search(&search, &query, &Options::default()).await
        };
        if let Err(error) = warmed.await {
            tracing::debug!(error = &error as &dyn std::error::Error, "warming up was cut short");
        }
    });
}

/// Says where everything is, once it can be used.
fn print_banner(config: &Config) {
    let url = config.base_url();
    let example = mc_domain::ProjectKey::parse("my-project").expect("a valid key");
    output::line(&format!("Memory Copilot {} listens on {url}", env!("CARGO_PKG_VERSION")));
    output::line(&format!("  API page   {url}/docs"));
    output::line(&format!("  MCP        {url}/mcp (streamable HTTP), or: memory-copilot mcp"));
    output::line(&format!("  token      {}", config.token_file().display()));
    if let Ok(entry) = crate::commands::cursor::entry(&example, config) {
        output::line(
            "  Cursor     memory-copilot cursor install --dir DIR writes this into \
             DIR/.cursor/mcp.json:",
        );
        output::line(&snippet(&entry));
    }
}
