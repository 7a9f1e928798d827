//! The previous model, which answers queries until the configured one has all its vectors.
//!
//! Its provider is opened by the settings that were stored when it was the configured one. They
//! contain no key: that of a server is taken from the configuration, for its own origin only.

use std::time::Duration;

use mc_embed::{ProviderSettings, Purpose, RuntimeSettings};
use mc_sanitizer::mask;
use mc_search::{ActiveModel, ActiveModels, UnavailableModel};
use mc_store::vectors::Model;
use tokio::time::timeout;
use url::Url;

use super::provider::set_variable;
use crate::config::{Config, Embedding, EmbeddingProvider};

/// How often the provider is checked.
const CHECK_INTERVAL: Duration = Duration::from_secs(10);
/// Time limit of a check. No search waits for longer than its own budget.
const CHECK_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum delay of a start by loading the model, which continues in the background.
const LOADING_TIMEOUT: Duration = Duration::from_secs(10);

/// Opens the provider and makes searches use it, or report why it can't be used.
pub async fn open_into(
    models: &ActiveModels,
    model: Model,
    config: &Config,
    runtime: &RuntimeSettings,
) {
    // A failing server must not delay searches, and is checked again soon.
    let runtime = RuntimeSettings { max_retries: 0, ..runtime.clone() };
    let (into, config) = (models.clone(), config.clone());
    let loading = UnavailableModel {
        name: model.name.clone(),
        reason: "it is being loaded".to_owned(),
        is_remote: false,
    };
    models.set_previous(Err(loading));
    let opening = tokio::spawn(async move {
        let opened = open(model, &config, &runtime).await;
        if let Err(UnavailableModel { name, reason, .. }) = &opened {
            // Search continues with keywords and the vectors of the current model.
            tracing::warn!(model = %name, reason, "the previous model can't be used");
        }
        if into.has_previous() {
            into.set_previous(opened);
            check(&into).await;
        }
    });
    // A panic ends up in the log, and leaves the model unavailable.
    let _ = timeout(LOADING_TIMEOUT, opening).await;
}

/// Checks the opened provider from time to time until it is retired.
pub async fn watch(models: &ActiveModels) {
    while models.has_previous() {
        tokio::time::sleep(CHECK_INTERVAL).await;
        check(models).await;
    }
}

/// Embeds a word with the opened provider; searches leave it out until that succeeds.
pub async fn check(models: &ActiveModels) {
    let Some(ActiveModel { model, embedder, .. }) = models.opened_previous() else { return };
    let word = vec![mask("check").text];
    let failure = match timeout(CHECK_TIMEOUT, embedder.embed(word, Purpose::Save)).await {
        Ok(Ok(_)) => None,
        Ok(Err(error)) => Some(error.to_string()),
        Err(_elapsed) => Some(format!("no vector within {} s", CHECK_TIMEOUT.as_secs())),
    };
    let reason = failure.clone();
    if models.set_previous_failure(failure) {
        if let Some(reason) = reason {
            tracing::warn!(model = %model.name, reason, "previous model failed");
        } else {
            tracing::info!(model = %model.name, "previous model responds again");
        }
    }
}

async fn open(
    model: Model,
    config: &Config,
    runtime: &RuntimeSettings,
) -> Result<ActiveModel, UnavailableModel> {
    let name = model.name.clone();
    let unavailable = |reason: String, is_remote| UnavailableModel { name, reason, is_remote };
    let stored = match serde_json::from_value::<ProviderSettings>(model.provider.clone()) {
        Ok(stored) => stored,
        Err(error) => {
            return Err(unavailable(format!("its settings can't be read: {error}"), false));
        }
    };
    let is_remote = stored.is_remote();
    let settings = match usable(stored, config) {
        Ok(settings) => settings,
        Err(reason) => return Err(unavailable(reason, is_remote)),
    };
    let dimensions = usize::try_from(model.dimensions).ok();
    match mc_embed::open_known(&settings, dimensions, runtime).await {
        Ok(embedder) if Some(embedder.model().dimensions) == dimensions => {
            Ok(ActiveModel { model, embedder, is_remote })
        }
        Ok(embedder) => {
            let now = embedder.model().dimensions;
            let reason = format!("it has {now} dimensions, and had {}", model.dimensions);
            Err(unavailable(reason, is_remote))
        }
        Err(error) => Err(unavailable(error.to_string(), is_remote)),
    }
}

/// Returns the stored settings with the directories and the key of this node.
fn usable(stored: ProviderSettings, config: &Config) -> Result<ProviderSettings, String> {
    match stored {
        ProviderSettings::Folder { dir, name } => {
            let moved = name.as_ref().map(|name| config.cache_dir.join("models").join(name));
            let dirs = [Some(dir.clone()), moved];
            match dirs.into_iter().flatten().find(|dir| dir.join("model.onnx").exists()) {
                Some(dir) => Ok(ProviderSettings::Folder { dir, name }),
                None => Err(format!("{} has no model.onnx any more; restore it", dir.display())),
            }
        }
        ProviderSettings::Hub { model, .. } => {
            Ok(ProviderSettings::Hub { model, cache_dir: config.hub_dir() })
        }
        ProviderSettings::OpenAi { base_url, model, api_key_env, dimensions, .. } => {
            let had_key = api_key_env.is_some();
            let (base_url, api_key_env) = server(base_url, had_key, &config.embedding)?;
            Ok(ProviderSettings::OpenAi {
                base_url,
                model,
                api_key_env,
                api_key_file: None,
                dimensions,
            })
        }
    }
}

/// Returns the URL of the stored server and the variable of its key. A configured key is used only
/// if it is configured for the same scheme, host and port.
fn server(
    stored: Url,
    had_key: bool,
    embedding: &Embedding,
) -> Result<(Url, Option<String>), String> {
    let previous = &embedding.previous;
    let current = (embedding.provider == EmbeddingProvider::Openai)
        .then_some((&embedding.base_url, &embedding.api_key_env));
    let configured = [Some((&previous.base_url, &previous.api_key_env)), current];
    let of_origin = configured.into_iter().flatten().find_map(|(url, variable)| {
        let url = url.parse::<Url>().ok()?;
        (url.origin() == stored.origin()).then_some((url, variable))
    });
    let (url, key) = match of_origin {
        // The stored URL may lack a query.
        Some((url, variable)) if url.path() == stored.path() => (url, set_variable(variable)),
        Some((_, variable)) => (stored, set_variable(variable)),
        None => (stored, None),
    };
    if had_key && key.is_none() {
        let mut shown = url;
        shown.set_query(None);
        return Err(format!(
            "no API key is configured for {shown}; set embedding.previous.base_url to this URL and \
             embedding.previous.api_key_env to the variable with its key, and restart"
        ));
    }
    Ok((url, key))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A variable that every process has.
    const SET: &str = "PATH";
    const UNSET: &str = "MEMORY_COPILOT_TEST_UNSET";

    fn embedding(base_url: &str, previous: &str, previous_key: &str) -> Embedding {
        let mut embedding = Config::defaults().embedding;
        embedding.provider = EmbeddingProvider::Openai;
        embedding.base_url = base_url.to_owned();
        embedding.api_key_env = SET.to_owned();
        embedding.previous.base_url = previous.to_owned();
        embedding.previous.api_key_env = previous_key.to_owned();
        embedding
    }

    fn key_for(stored: &str, had_key: bool, embedding: &Embedding) -> Option<String> {
        server(stored.parse().expect("a URL"), had_key, embedding).expect("a server").1
    }

    #[test]
    fn key_is_used_for_its_own_origin_only() {
        let old = "https://old.example/v1";
        for (current, previous) in [
            ("https://new.example/v1", ""),
            ("https://old.example.evil/v1", ""),
            ("https://old.example:8443/v1", ""),
            ("http://old.example/v1", ""),
            ("https://new.example/v1", "https://other.example/v1"),
        ] {
            let embedding = embedding(current, previous, SET);
            assert_eq!(key_for(old, false, &embedding), None, "{current} {previous}");
            let error = server(old.parse().expect("a URL"), true, &embedding).expect_err(current);
            let named = error.contains(old) && error.contains("embedding.previous.api_key_env");
            assert!(named, "{error}");
        }
        let same = embedding("https://old.example/v2", "", "");
        assert_eq!(key_for(old, true, &same), Some(SET.to_owned()));
        let configured = embedding("https://new.example/v1", "https://old.example/v1/", SET);
        assert_eq!(key_for(old, true, &configured), Some(SET.to_owned()));
        let unset = embedding("https://new.example/v1", old, UNSET);
        server(old.parse().expect("a URL"), true, &unset).expect_err("no key");
    }

    #[test]
    fn query_of_a_url_comes_from_the_configuration() {
        let embedding = embedding("https://new.example/v1", "https://old.example/v1?key=x", "");
        let stored = "https://old.example/v1".parse().expect("a URL");
        let (url, _) = server(stored, false, &embedding).expect("a server");
        assert_eq!(url.as_str(), "https://old.example/v1?key=x");
    }
}
