//! The embedding models: the configured model, and the previous model until the configured one has
//! all its vectors.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use mc_embed::{Embedder, ProviderSettings, QueryCache, RuntimeSettings};
use mc_search::{ActiveModel, ActiveModels};
use mc_store::{Store, vectors};
use tokio_util::sync::CancellationToken;

use crate::config::{Config, Embedding, EmbeddingProvider};

/// Interval of the check whether the configured model has all its vectors.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Opens the configured model. If it is new to the database, queues every passage for it and keeps
/// the previous model active. `query_vectors` is the cache that the nodes share.
pub async fn open(
    config: &Config,
    store: &Store,
    query_vectors: Option<Arc<dyn QueryCache>>,
) -> Result<ActiveModels> {
    let settings = provider(config)?;
    let runtime = RuntimeSettings { shared_queries: query_vectors, ..runtime(&config.embedding) };
    let dimensions = known_dimensions(store, &settings).await?;
    let embedder = mc_embed::open_known(&settings, dimensions, &runtime).await;
    let embedder = embedder.context("the embedding model can't be used")?;
    let current = register(store, &settings, embedder).await?;
    let queued = vectors::enqueue_missing(store, &current.model).await?;
    if queued > 0 {
        tracing::info!(model = %current.model.name, queued, "passages queued for vectors");
    }
    let previous = previous(store, &current, &runtime).await?;
    Ok(ActiveModels::new(current, previous))
}

/// Retires the previous model once the new one has every vector that the policies of the projects
/// allow. `store` belongs to the background services and sees every project.
pub async fn retire_when_complete(models: ActiveModels, store: Store, stop: CancellationToken) {
    while models.allowed().len() > 1 && !retire_if_complete(&models, &store).await {
        if stop.run_until_cancelled(tokio::time::sleep(POLL_INTERVAL)).await.is_none() {
            return;
        }
    }
}

async fn retire_if_complete(models: &ActiveModels, store: &Store) -> bool {
    let current = models.current();
    match vectors::queue_length(store, None, current.is_remote).await {
        Ok(0) => {
            models.retire_previous();
            tracing::info!(model = %current.model.name, "every vector exists");
            true
        }
        Ok(_) => false,
        Err(error) => {
            tracing::warn!(%error, "the embedding queue can't be read");
            false
        }
    }
}

/// Returns the other model with the most vectors, or `None` if the current model lacks no vector.
async fn previous(
    store: &Store,
    current: &ActiveModel,
    runtime: &RuntimeSettings,
) -> Result<Option<ActiveModel>> {
    if vectors::queue_length(store, None, current.is_remote).await? == 0 {
        return Ok(None);
    }
    let mut best = None;
    for model in vectors::models(store).await? {
        let count = vectors::count(store, &model).await?;
        let is_best = best.as_ref().is_none_or(|(best_count, _)| count > *best_count);
        if model.id != current.model.id && count > 0 && is_best {
            best = Some((count, model));
        }
    }
    let Some((_, model)) = best else { return Ok(None) };
    let settings: ProviderSettings =
        serde_json::from_value(model.provider.clone()).with_context(|| {
            format!("the stored settings of the model {} can't be read", model.name)
        })?;
    let dimensions = usize::try_from(model.dimensions).ok();
    match mc_embed::open_known(&settings, dimensions, runtime).await {
        Ok(embedder) => Ok(Some(ActiveModel { model, embedder, is_remote: settings.is_remote() })),
        Err(error) => {
            // Search continues with keywords and the vectors of the current model.
            tracing::warn!(model = %model.name, %error,
                           "the previous model can't be opened; searching without it");
            Ok(None)
        }
    }
}

/// Returns the dimensions that an earlier start recorded for these settings. With them the service
/// can start while the server of the model is unreachable.
async fn known_dimensions(store: &Store, settings: &ProviderSettings) -> Result<Option<usize>> {
    let settings = serde_json::to_value(settings)?;
    let known = vectors::models(store).await?.into_iter().find(|model| model.provider == settings);
    Ok(known.and_then(|model| usize::try_from(model.dimensions).ok()))
}

async fn register(
    store: &Store,
    settings: &ProviderSettings,
    embedder: Arc<dyn Embedder>,
) -> Result<ActiveModel> {
    let id = embedder.model();
    let settings_json = serde_json::to_value(settings)?;
    let model = vectors::register_model(store, &id.name, id.dimensions, &settings_json).await?;
    Ok(ActiveModel { model, embedder, is_remote: settings.is_remote() })
}

fn provider(config: &Config) -> Result<ProviderSettings> {
    let embedding = &config.embedding;
    Ok(match embedding.provider {
        EmbeddingProvider::Local => ProviderSettings::Folder {
            dir: embedding.dir.clone(),
            name: Some(embedding.name.clone()),
        },
        EmbeddingProvider::Huggingface => {
            ProviderSettings::Hub { model: embedding.model.clone(), cache_dir: config.hub_dir() }
        }
        EmbeddingProvider::Openai => ProviderSettings::OpenAi {
            base_url: embedding.base_url.parse().context("embedding.base_url is not a URL")?,
            model: embedding.model.clone(),
            // A local server needs no key.
            api_key_env: std::env::var_os(&embedding.api_key_env)
                .map(|_| embedding.api_key_env.clone()),
            api_key_file: None,
            dimensions: (embedding.dimensions > 0).then_some(embedding.dimensions),
        },
    })
}

fn runtime(embedding: &Embedding) -> RuntimeSettings {
    RuntimeSettings {
        onnx_library: Some(embedding.onnxruntime_library.clone()),
        threads: (embedding.threads > 0).then_some(embedding.threads),
        ..RuntimeSettings::default()
    }
}

#[cfg(test)]
mod tests {
    use futures::future::BoxFuture;
    use mc_embed::{ModelId, Purpose};
    use mc_sanitizer::{Sanitized, mask};
    use mc_store::docs;
    use mc_store::passages::NewPassage;
    use mc_testkit::{TestDatabase, document};
    use serde_json::json;

    use super::*;

    /// An embedder that never returns.
    struct Pending(ModelId);

    impl Embedder for Pending {
        fn model(&self) -> &ModelId {
            &self.0
        }

        fn embed(
            &self,
            _: Vec<Sanitized>,
            _: Purpose,
        ) -> BoxFuture<'_, Result<Vec<Vec<f32>>, mc_embed::Error>> {
            Box::pin(std::future::pending())
        }
    }

    async fn active(store: &Store, name: &str) -> ActiveModel {
        let model = vectors::register_model(store, name, 3, &json!({})).await.expect("a model");
        let id = ModelId { name: name.to_owned(), dimensions: 3 };
        ActiveModel { model, embedder: Arc::new(Pending(id)), is_remote: false }
    }

    async fn write(store: &Store, project: mc_domain::ProjectId) {
        let doc = document("1", "The units differ.");
        let passage = NewPassage {
            location: mask("units.md").text,
            text: doc.content.clone(),
            ..NewPassage::default()
        };
        let mut tx = store.begin().await.expect("a transaction");
        docs::upsert(&mut tx, project, &doc, &[passage]).await.expect("a document");
        tx.commit().await.expect("a commit");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn previous_model_is_active_until_every_vector_exists() {
        let database = TestDatabase::create().await;
        let store = database.store();
        write(store, database.project("shop").await.id).await;
        let (old, new) = (active(store, "old").await, active(store, "new").await);
        let models = ActiveModels::new(new.clone(), Some(old));
        assert!(!retire_if_complete(&models, store).await);
        assert_eq!(models.allowed().len(), 2);

        let backlog = vectors::take_backlog(store, 10, false).await.expect("a backlog");
        let batch: Vec<_> =
            backlog.into_iter().map(|passage| (passage, vec![1.0, 0.0, 0.0])).collect();
        vectors::store_batch(store, &new.model, &batch).await.expect("vectors");
        assert!(retire_if_complete(&models, store).await);
        assert_eq!(models.allowed().len(), 1);
    }
}
