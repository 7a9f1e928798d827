//! Settings of the embedding provider: from the configuration, and as the database stores them.

use anyhow::{Context, Result};
use mc_embed::{ProviderSettings, RuntimeSettings};

use crate::config::{Config, Embedding, EmbeddingProvider, masked_url};

/// Returns the settings of the configured provider.
pub fn configured(config: &Config) -> Result<ProviderSettings> {
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
            api_key_env: set_variable(&embedding.api_key_env),
            api_key_file: None,
            dimensions: (embedding.dimensions > 0).then_some(embedding.dimensions),
        },
    })
}

/// Returns how the configured providers run.
pub fn runtime(embedding: &Embedding) -> RuntimeSettings {
    RuntimeSettings {
        onnx_library: Some(embedding.onnxruntime_library.clone()),
        threads: (embedding.threads > 0).then_some(embedding.threads),
        ..RuntimeSettings::default()
    }
}

/// Returns the settings for the database: without a key in the query of the server's URL, and
/// without a password.
pub fn stored(settings: &ProviderSettings) -> ProviderSettings {
    let mut stored = settings.clone();
    if let ProviderSettings::OpenAi { base_url, .. } = &mut stored
        && masked_url(base_url.as_str()) != base_url.as_str()
    {
        base_url.set_query(None);
        // Neither fails for a URL with a host.
        let _ = base_url.set_username("");
        let _ = base_url.set_password(None);
    }
    stored
}

/// Returns the name of an environment variable that is set.
pub fn set_variable(name: &str) -> Option<String> {
    std::env::var_os(name).map(|_| name.to_owned())
}
