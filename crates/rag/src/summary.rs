//! Texts that a chat model writes from the context: a summary, and an answer.

use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::models::{ModelFailure, Models, TextTask, neutralized};
use crate::snippet::Snippet;

/// Most characters of a summary.
const SUMMARY_MAX_CHARS: usize = 2_000;
/// Most characters of an answer.
const ANSWER_MAX_CHARS: usize = 8_000;

static SUMMARY: LazyLock<TextTask> = LazyLock::new(|| {
    TextTask::new(include_str!("../prompts/summary.txt"), "summary", SUMMARY_MAX_CHARS)
});

static ANSWER: LazyLock<TextTask> = LazyLock::new(|| {
    TextTask::new(include_str!("../prompts/answer.txt"), "answer", ANSWER_MAX_CHARS)
});

/// Asks a model for a summary of the context.
pub(crate) async fn summary(
    models: &Models,
    query: &str,
    snippets: &[Snippet],
) -> Result<String, ModelFailure> {
    models.ask_text(&SUMMARY, &data(query, snippets)).await
}

/// Asks a model for an answer from the context.
pub(crate) async fn answer(
    models: &Models,
    query: &str,
    snippets: &[Snippet],
) -> Result<String, ModelFailure> {
    models.ask_text(&ANSWER, &data(query, snippets)).await
}

/// Returns the question with the passages that a model may see.
fn data(query: &str, snippets: &[Snippet]) -> Value {
    let passages: Vec<_> = snippets
        .iter()
        .filter(|snippet| snippet.is_trusted())
        .map(|snippet| {
            let repository = &snippet.repository.namespace;
            json!({
                "repository": repository, "place": neutralized(&snippet.place()),
                "text": neutralized(&snippet.text),
            })
        })
        .collect();
    json!({"question": neutralized(query), "passages": passages})
}

#[cfg(test)]
mod tests {
    use mc_domain::Trust;

    use super::*;
    use crate::snippet::fixtures::{code, repository};

    #[test]
    fn untrusted_text_is_shown_to_no_model() {
        let repository = repository("shop");
        let untrusted =
            Snippet { trust: Trust::Untrusted, ..code(&repository, "b.rs", 1, "bad", 0.8) };
        let snippets = [code(&repository, "a.rs", 3, "good", 0.9), untrusted];
        let data = data("where", &snippets);
        assert_eq!(data["passages"].as_array().map(Vec::len), Some(1));
        assert_eq!(data["passages"][0]["place"], "a.rs:3-3");
    }
}
