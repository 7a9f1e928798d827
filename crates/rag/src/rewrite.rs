//! Rewriting of the query for a search of code, by a chat model.

use std::sync::LazyLock;

use serde_json::json;

use crate::models::{ModelFailure, Models, TextTask, neutralized};

/// Most characters of a rewritten query.
const QUERY_MAX_CHARS: usize = 600;

static TASK: LazyLock<TextTask> = LazyLock::new(|| {
    TextTask::new(include_str!("../prompts/rewrite.txt"), "query", QUERY_MAX_CHARS)
});

/// Asks a model for the query in the words that the wanted code is likely to have.
pub(crate) async fn rewrite(models: &Models, query: &str) -> Result<String, ModelFailure> {
    let data = json!({"question": neutralized(query)});
    models.ask_text(&TASK, &data).await
}
