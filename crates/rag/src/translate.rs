//! Translation of the query, by a chat model. Its names, paths and code stay as they are.

use std::sync::LazyLock;

use serde_json::json;

use crate::models::{ModelFailure, Models, TextTask, neutralized};

/// Most characters of a translation.
const QUERY_MAX_CHARS: usize = 4_000;

static TASK: LazyLock<TextTask> = LazyLock::new(|| {
    TextTask::new(include_str!("../prompts/translate.txt"), "query", QUERY_MAX_CHARS)
});

/// Whether a query is in the language already, as far as its letters tell.
pub(crate) fn is_in_language(query: &str, language: &str) -> bool {
    let is_cyrillic = |c: char| matches!(c, '\u{400}'..='\u{4ff}');
    let is_kana = |c: char| matches!(c, '\u{3040}'..='\u{30ff}');
    let has = |is: fn(char) -> bool| query.chars().any(is);
    match language.split(['-', '_']).next().unwrap_or_default() {
        "ru" | "russian" => has(is_cyrillic),
        "ja" | "japanese" => has(is_kana),
        "en" | "english" => !query.chars().any(|c| c.is_alphabetic() && !c.is_ascii()),
        _ => false,
    }
}

/// Asks a model for the query in another language.
pub(crate) async fn translate(
    models: &Models,
    query: &str,
    language: &str,
) -> Result<String, ModelFailure> {
    let data = json!({"question": neutralized(query), "language": language});
    models.ask_text(&TASK, &data).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn language_is_told_by_the_letters() {
        for (query, language, expected) in [
            ("где считается задержка trigger_delay", "ru", true),
            ("where is the delay", "ru", false),
            ("where is the delay", "en-us", true),
            ("где задержка", "en", false),
            ("遅延はどこ", "ja", true),
            ("where is the delay", "de", false),
        ] {
            assert_eq!(is_in_language(query, language), expected, "{query} {language}");
        }
    }
}
