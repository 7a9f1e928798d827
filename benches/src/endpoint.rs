//! The service's own embedding model behind `OpenAI`'s `/v1/embeddings`, so that all systems of a
//! comparison get the same vectors at the same cost.

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

use self::wire::{ApiError, EmbeddingsResponse, Models, Request};

/// Maximum size of a request, in bytes: 2,048 texts of 8 KiB, more than the model reads of any.
const MAX_BODY: usize = 16 * 1024 * 1024;

/// The model to serve, and the address.
#[derive(clap::Args)]
pub struct Args {
    /// Address to listen on
    #[arg(long)]
    listen: SocketAddr,
    /// Directory that `make setup` filled
    #[arg(long, env = "MEMORY_COPILOT_CACHE")]
    cache_dir: PathBuf,
    /// Model below the cache's `models`; also the name that requests must give
    #[arg(long, default_value = "all-minilm-l6-v2-int8")]
    model: String,
    /// Threads for the model; as many as there are cores when absent
    #[arg(long)]
    threads: Option<usize>,
}

/// Serves the model until the process is stopped.
pub async fn run(args: Args) -> Result<()> {
    let settings = ProviderSettings::Folder {
        dir: args.cache_dir.join("models").join(&args.model),
        name: Some(args.model),
    };
    let runtime = RuntimeSettings {
        onnx_library: Some(args.cache_dir.join("onnxruntime/libonnxruntime.so")),
        threads: args.threads,
        // No cache: a repeated text costs as much as a new one, so no system gains by its order.
        query_cache: 0,
        ..RuntimeSettings::default()
    };
    let embedder =
        mc_embed::open(&settings, &runtime).await.context("the model can't be served")?;
    let listener = TcpListener::bind(args.listen)
        .await
        .with_context(|| format!("can't listen on {}; choose another port", args.listen))?;
    // Responses are small and are sent at once.
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
    Json(Models::new(&embedder.model().name))
}

async fn embeddings(
    State(embedder): State<Arc<dyn Embedder>>,
    request: Result<Json<Request>, JsonRejection>,
) -> Result<Json<EmbeddingsResponse>, ApiError> {
    let Json(request) = request.map_err(ApiError::unreadable)?;
    let model = embedder.model();
    let (texts, encoding) = request.validate(model)?;
    let words = texts.iter().map(|text| text.split_whitespace().count()).sum();
    let texts = texts.iter().map(|text| mc_sanitizer::mask(text).text).collect();
    // Requests do not tell queries from documents, and for this model it makes no difference.
    let vectors = embedder.embed(texts, Purpose::Passage).await.map_err(ApiError::failed)?;
    Ok(Json(EmbeddingsResponse::new(&model.name, vectors, encoding, words)))
}

#[cfg(test)]
mod tests;
