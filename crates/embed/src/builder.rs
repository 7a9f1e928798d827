//! Opens the configured embedding model.

use std::sync::Arc;

use mc_domain::ProjectId;
use mc_model_server::Key;

use crate::local::{Local, Source};
use crate::openai::OpenAi;
use crate::pipeline::{EmbeddingBackend, Pipeline, prepared};
use crate::{Embedder, Error, ModelId, ProviderSettings, Purpose, RuntimeSettings};

/// Loads the model or contacts its server, and measures its dimensions with a first vector.
///
/// May take as long as a download of the model. Fails with [`Error::Unavailable`] if the server is
/// unavailable and its `dimensions` are not configured; [`open_known`] does not.
pub async fn open(
    settings: &ProviderSettings,
    runtime: &RuntimeSettings,
) -> Result<Arc<dyn Embedder>, Error> {
    open_known(settings, None, runtime).await
}

/// Opens a model with the `dimensions` it had when it was last used, so its server may be
/// unavailable. Local models are loaded and measured as in [`open`].
pub async fn open_known(
    settings: &ProviderSettings,
    dimensions: Option<usize>,
    runtime: &RuntimeSettings,
) -> Result<Arc<dyn Embedder>, Error> {
    let known = dimensions;
    let source = match settings {
        ProviderSettings::Folder { dir, name } => Source::folder(dir, name.as_deref())?,
        ProviderSettings::Hub { model, cache_dir } => Source::hub(model, cache_dir)?,
        ProviderSettings::OpenAi { base_url, model, api_key_env, api_key_file, dimensions } => {
            let key = Key::read(api_key_env.as_deref(), api_key_file.as_deref())
                .map_err(|error| Error::Settings(error.to_string()))?;
            let server = OpenAi::new(base_url, model, key, *dimensions, runtime)?;
            return finished(model.clone(), dimensions.or(known), server, runtime).await;
        }
    };
    let name = source.name().to_owned();
    finished(name, None, Local::start(source, runtime).await?, runtime).await
}

/// Returns whether [`open`] needs no download: for a model of the hub, whether its files are in the
/// cache. Fails with [`Error::UnknownModel`] if the hub has no such model.
pub fn is_downloaded(settings: &ProviderSettings) -> Result<bool, Error> {
    match settings {
        ProviderSettings::Hub { model, cache_dir } => {
            Ok(Source::hub(model, cache_dir)?.is_downloaded())
        }
        ProviderSettings::Folder { .. } | ProviderSettings::OpenAi { .. } => Ok(true),
    }
}

async fn finished(
    name: String,
    dimensions: Option<usize>,
    provider: impl EmbeddingBackend + 'static,
    runtime: &RuntimeSettings,
) -> Result<Arc<dyn Embedder>, Error> {
    let dimensions = match dimensions {
        Some(dimensions) => dimensions,
        None => measured(&name, &provider).await?,
    };
    let model = ModelId { name, dimensions };
    Ok(Arc::new(Pipeline::new(model, provider, runtime)))
}

async fn measured(name: &str, provider: &impl EmbeddingBackend) -> Result<usize, Error> {
    let purpose = Purpose::Query(ProjectId::generate());
    let vectors = provider.vectors(vec![prepared("", "dimensions")], purpose).await?;
    let dimensions = vectors.first().map_or(0, Vec::len);
    if dimensions == 0 {
        let reason = "no vector for one text".to_owned();
        return Err(Error::BadAnswer { model: name.to_owned(), reason });
    }
    Ok(dimensions)
}
