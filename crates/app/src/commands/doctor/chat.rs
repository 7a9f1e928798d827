//! Checks of the chat models.

use std::time::Instant;

use futures::future::join_all;
use mc_chat::{ChatModel, ChatModels, ChatRequest};
use mc_sanitizer::mask;

use super::{CheckResult, bad, good};
use crate::config::Config;

/// Requests a short answer from each configured model.
pub(super) async fn models(config: &Config) -> Vec<CheckResult> {
    match ChatModels::open(&config.chat) {
        Ok(models) => join_all(models.iter().map(|(_, model)| check(model))).await,
        Err(error) => {
            vec![bad("chat", error.to_string(), "set chat as config/memory-copilot.yaml documents")]
        }
    }
}

async fn check(model: &ChatModel) -> CheckResult {
    let started = Instant::now();
    let request = ChatRequest::new(mask("Answer with one word.").text, mask("Are you there?").text);
    let name = format!("{} ({})", model.name(), model.model());
    match model.complete(&request).await {
        Ok(completion) => {
            let (ms, tokens) = (started.elapsed().as_millis(), completion.usage.total());
            good("chat", format!("{name} answered in {ms} ms, with {tokens} tokens"))
        }
        Err(failure) => {
            let fix = "check the settings of the model in chat.models and that its server runs";
            bad("chat", format!("{name}: {failure}"), fix)
        }
    }
}
