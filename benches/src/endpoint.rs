//! The service's own embedding model behind `OpenAI`'s `/v1/embeddings`, so that every system of a
//! comparison gets the same vectors at the same price.

mod wire;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use axum::extract::rejection::JsonRejection;
use axum::extract::{DefaultBodyLimit, State};
use axum::routing::{get, post};
use axum::serve::ListenerExt as _;
use axum::{Json, Router};
use mc_embed::{Embedder, ProviderSettings, Purpose, RuntimeSettings};
use tokio::net::TcpListener;

use self::wire::{Answer, Models, Refusal, Request};

/// Bytes of a request: 2,048 texts of 8 KiB, more than the model reads of any.
const MAX_BODY: usize = 16 * 1024 * 1024;

/// What to serve, and where.
#[derive(clap::Args)]
pub struct Args {
    /// Address to listen on
    #[arg(long)]
    listen: SocketAddr,
    /// Folder that `make setup` filled
    #[arg(long, env = "MEMORY_COPILOT_CACHE")]
    cache_dir: PathBuf,
    /// Model below the cache's `models`; also the name that requests have to give
    #[arg(long, default_value = "all-minilm-l6-v2-int8")]
    model: String,
    /// Threads for the model; as many as there are cores when absent
    #[arg(long)]
    threads: Option<usize>,
}

/// Serves the model until the process is ended.
pub async fn run(args: Args) -> Result<()> {
    let settings = ProviderSettings::Folder {
        dir: args.cache_dir.join("models").join(&args.model),
        name: Some(args.model),
    };
    let runtime = RuntimeSettings {
        onnx_library: Some(args.cache_dir.join("onnxruntime/libonnxruntime.so")),
        threads: args.threads,
        // A repeated text costs what a new one costs: nobody is faster for having asked second.
        query_cache: 0,
        ..RuntimeSettings::default()
    };
    let embedder =
        mc_embed::open(&settings, &runtime).await.context("the model can't be served")?;
    let listener = TcpListener::bind(args.listen)
        .await
        .with_context(|| format!("can't listen on {}; choose another port", args.listen))?;
    // An answer is small and goes out at once.
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    axum::serve(listener, router(embedder)).await.context("the endpoint failed")
}

fn router(embedder: Arc<dyn Embedder>) -> Router {
    Router::new()
        .route("/v1/embeddings", post(embeddings))
        .route("/v1/models", get(models))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(embedder)
}

async fn models(State(embedder): State<Arc<dyn Embedder>>) -> Json<Models> {
    Json(Models::one(&embedder.model().name))
}

async fn embeddings(
    State(embedder): State<Arc<dyn Embedder>>,
    request: Result<Json<Request>, JsonRejection>,
) -> Result<Json<Answer>, Refusal> {
    let Json(request) = request.map_err(Refusal::unreadable)?;
    let model = embedder.model();
    let (texts, encoding) = request.checked(model)?;
    let words = texts.iter().map(|text| text.split_whitespace().count()).sum();
    let texts = texts.iter().map(|text| mc_sanitizer::mask(text).text).collect();
    // Which of a peer's texts are questions is not said, and to this model it makes no difference.
    let vectors = embedder.embed(texts, Purpose::Passage).await.map_err(Refusal::failed)?;
    Ok(Json(Answer::new(&model.name, vectors, encoding, words)))
}

#[cfg(test)]
mod tests;
