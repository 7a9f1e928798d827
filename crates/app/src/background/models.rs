//! The embedding models: the configured model, and the previous model until the configured one has
//! all its vectors.

mod previous;
pub mod provider;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use chrono::{TimeDelta, Utc};
use mc_embed::{Embedder, ProviderSettings, QueryCache, RuntimeSettings};
use mc_search::{ActiveModel, ActiveModels};
use mc_store::{Store, vectors};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::config::Config;

/// Interval of the check whether the configured model has all its vectors.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// How often the model is marked as used; the database counts a model as used for ten minutes.
const RENEWAL_INTERVAL: Duration = Duration::from_mins(1);
/// Pause between two renewals after which passages may be missing in the queue; shorter than the
/// time after which a model counts as unused.
const PAUSE_MAX: TimeDelta = TimeDelta::minutes(5);
/// Maximum wait for a server whose dimensions are known from before.
const KNOWN_SERVER_TIMEOUT: Duration = Duration::from_secs(5);

/// Opens the configured model. If it is new to the database, queues every passage for it and keeps
/// the previous model active. `query_vectors` is the cache that the nodes share.
pub async fn open(
    config: &Config,
    store: &Store,
    query_vectors: Option<Arc<dyn QueryCache>>,
) -> Result<ActiveModels> {
    let settings = provider::configured(config)?;
    let shared_queries = query_vectors;
    let runtime = RuntimeSettings { shared_queries, ..provider::runtime(&config.embedding) };
    let known = known_dimensions(store, &settings).await?;
    let embedder = open_configured(&settings, known, &runtime).await;
    let embedder = embedder.context("the embedding model can't be used")?;
    let current = register(store, &settings, embedder).await?;
    let queued = vectors::enqueue_missing(store, &current.model).await?;
    if queued > 0 {
        tracing::info!(model = %current.model.name, queued, "passages queued for vectors");
    }
    let waiting = vectors::queue_length(store, None, &current.model, current.is_remote).await?;
    let previous = match waiting {
        0 => None,
        _ => vectors::previous_model(store, &current.model).await?,
    };
    let models = ActiveModels::new(current, None);
    if let Some(model) = previous {
        previous::open_into(&models, model, config, &runtime).await;
    }
    Ok(models)
}

/// Marks the current model as used until `stop`. Meanwhile, checks whether the previous model
/// responds, and retires it once the current one has every vector that the policies of the projects
/// allow. `store` belongs to the background services and sees every project.
pub async fn maintain(models: ActiveModels, store: Store, stop: CancellationToken) {
    let maintenance = async {
        tokio::join!(renew(&models, &store), previous::watch(&models), async {
            while models.has_previous() && !retire_if_complete(&models, &store).await {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        })
    };
    stop.run_until_cancelled(Box::pin(maintenance)).await;
}

async fn renew(models: &ActiveModels, store: &Store) {
    let model = models.current().model;
    let mut renewed_at = Utc::now();
    loop {
        tokio::time::sleep(RENEWAL_INTERVAL).await;
        match renew_after(store, &model, Utc::now() - renewed_at).await {
            Ok(()) => renewed_at = Utc::now(),
            Err(error) => {
                tracing::warn!(%error, "the embedding model can't be marked as used; trying again");
            }
        }
    }
}

/// Marks the model as used. After a pause, such as that of a suspended host, queues the passages
/// that were written meanwhile: none is queued for a model that counts as unused.
async fn renew_after(
    store: &Store,
    model: &vectors::Model,
    pause: TimeDelta,
) -> Result<(), mc_store::Error> {
    vectors::renew_model(store, model).await?;
    if pause > PAUSE_MAX {
        vectors::enqueue_missing(store, model).await?;
    }
    Ok(())
}

async fn retire_if_complete(models: &ActiveModels, store: &Store) -> bool {
    match is_complete(&models.current(), store).await {
        Ok(true) => {
            models.retire_previous();
            tracing::info!(model = %models.current().model.name, "every vector exists");
            true
        }
        Ok(false) => false,
        Err(error) => {
            tracing::warn!(%error, "the embedding queue can't be read");
            false
        }
    }
}

/// Returns whether the model has every vector that it may have. A passage that was being written
/// while the model was registered may not be queued, so they are compared once more.
async fn is_complete(current: &ActiveModel, store: &Store) -> Result<bool, mc_store::Error> {
    let waiting =
        async || vectors::queue_length(store, None, &current.model, current.is_remote).await;
    Ok(waiting().await? == 0 && {
        vectors::enqueue_missing(store, &current.model).await?;
        waiting().await? == 0
    })
}

/// Opens the configured provider. If its server does not respond, and did before, its model has the
/// dimensions that it had then, so that the service can start.
async fn open_configured(
    settings: &ProviderSettings,
    known: Option<usize>,
    runtime: &RuntimeSettings,
) -> Result<Arc<dyn Embedder>, mc_embed::Error> {
    let Some(known) = known else { return mc_embed::open(settings, runtime).await };
    match timeout(KNOWN_SERVER_TIMEOUT, mc_embed::open(settings, runtime)).await {
        Ok(Ok(embedder)) => return Ok(embedder),
        Ok(Err(error)) => tracing::warn!(%error, "the embedding server can't be used yet"),
        Err(_elapsed) => tracing::warn!("the embedding server does not respond yet"),
    }
    mc_embed::open_known(settings, Some(known), runtime).await
}

/// Returns the dimensions that an earlier start recorded for a server with these settings.
async fn known_dimensions(store: &Store, settings: &ProviderSettings) -> Result<Option<usize>> {
    let ProviderSettings::OpenAi { .. } = settings else { return Ok(None) };
    let wanted = provider::stored(settings).without_key();
    let models = vectors::models(store).await?;
    let known = models.into_iter().rev().find(|model| {
        serde_json::from_value::<ProviderSettings>(model.provider.clone())
            .is_ok_and(|known| known.without_key() == wanted)
    });
    Ok(known.and_then(|model| usize::try_from(model.dimensions).ok()))
}

async fn register(
    store: &Store,
    settings: &ProviderSettings,
    embedder: Arc<dyn Embedder>,
) -> Result<ActiveModel> {
    let id = embedder.model();
    let stored = serde_json::to_value(provider::stored(settings))?;
    let model = vectors::register_model(store, &id.name, id.dimensions, &stored).await?;
    Ok(ActiveModel { model, embedder, is_remote: settings.is_remote() })
}

#[cfg(test)]
mod tests;
