//! Checks of the embedding models.

use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use mc_embed::{ProviderSettings, Purpose, RuntimeSettings};
use mc_sanitizer::mask;
use serde_json::Value;
use tokio::time::timeout;

use super::{CheckResult, bad, good};
use crate::background::models::provider;
use crate::config::{Config, EmbeddingProvider};
use crate::output::text;

/// Time limit of the check. Loading the largest local model takes half a minute on a slow disk.
const TIMEOUT: Duration = Duration::from_mins(2);
/// Retries of a request to a server, which the service repeats for longer.
const RETRIES: usize = 1;

/// Loads the configured model, or connects to its server, and embeds a word.
pub(super) async fn configured(config: &Config) -> CheckResult {
    match embed_word(config).await {
        Ok(message) => good("model", message),
        Err(error) => bad("model", format!("{error:#}"), fix(config)),
    }
}

async fn embed_word(config: &Config) -> Result<String> {
    let settings = provider::configured(config)?;
    if let ProviderSettings::Hub { model, cache_dir } = &settings
        && !mc_embed::is_downloaded(&settings)?
    {
        bail!("{model} is not completely in {} yet", cache_dir.display());
    }
    let runtime = RuntimeSettings {
        threads: Some(1),
        max_retries: RETRIES,
        ..provider::runtime(&config.embedding)
    };
    let started = Instant::now();
    let checked = async {
        let embedder = mc_embed::open(&settings, &runtime).await?;
        embedder.embed(vec![mask("doctor").text], Purpose::Save).await?;
        Ok::<_, mc_embed::Error>(embedder.model().clone())
    };
    let elapsed = |_| anyhow!("no vector within {} s", TIMEOUT.as_secs());
    let model = timeout(TIMEOUT, checked).await.map_err(elapsed)??;
    let (name, dimensions, ms) = (model.name, model.dimensions, started.elapsed().as_millis());
    let place = place(config);
    Ok(format!(
        "{name} {place}: opened, and embedded a word in {dimensions} dimensions, in {ms} ms"
    ))
}

/// Returns where the model runs.
fn place(config: &Config) -> String {
    let embedding = &config.embedding;
    match embedding.provider {
        EmbeddingProvider::Local => format!("in {}", embedding.dir.display()),
        EmbeddingProvider::Huggingface => "of the hub".to_owned(),
        EmbeddingProvider::Openai => {
            format!("at {}", crate::config::masked_url(&embedding.base_url))
        }
    }
}

fn fix(config: &Config) -> &'static str {
    match config.embedding.provider {
        EmbeddingProvider::Local => "make setup, or set embedding.dir",
        EmbeddingProvider::Huggingface => {
            "start the service, which downloads the model; set embedding.model to a model of the \
             hub, and HF_ENDPOINT if a mirror is used"
        }
        EmbeddingProvider::Openai => {
            "check that the server runs, embedding.base_url, embedding.model and the key in the \
             variable that embedding.api_key_env names"
        }
    }
}

/// Checks the model before a change, which the service needs until the new one has every vector.
pub(super) fn previous(status: &Value) -> Option<CheckResult> {
    let previous = status.get("previous_model")?;
    let (name, pending) = (text(previous, "name"), &status["pending_vectors"]);
    Some(match text(previous, "problem") {
        "" => good(
            "previous model",
            format!("{name} embeds queries until {pending} vectors of the new model exist"),
        ),
        problem => bad(
            "previous model",
            format!("{name} can't be used: {problem}"),
            format!(
                "make it available and restart the service, or wait: until {pending} vectors of \
                 the new model exist, the other passages are found by words only"
            ),
        ),
    })
}

#[cfg(test)]
mod tests;
