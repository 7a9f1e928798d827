//! Reading a recall request: from task, path, symbols and signals to a query.

use std::sync::LazyLock;

use mc_contract::operations::task::Task;
use mc_sanitizer::{Policy, mask_with};
use mc_search::Query;
use mc_search::query::gloss;
use mc_store::passages::PassageFilter;
use regex::Regex;
use serde_json::{Value, json};

use super::RecallRequest;
use super::signals::condense_signal;
use crate::confidence::{QueryFeatures, is_latin};
use crate::distill::{scope_of_path, scope_of_symbol};
use crate::judge::ParsedNote;
use crate::task_ids;
use crate::text::regex;

/// The query of a recall, without secrets.
#[derive(Debug, Clone)]
pub struct RecallQuery {
    /// Features for ranking.
    pub features: QueryFeatures,
    /// Tracker ids of the issues: the current task, and those that the texts name.
    pub task_ids: Vec<String>,
    /// The request, masked, as it is stored.
    pub request: Value,
    text: String,
}

impl RecallQuery {
    /// Returns the query for records: words, and symbols as words. Issue ids are no words.
    pub fn of_records(&self, filter: PassageFilter) -> Query {
        let text = joined(std::iter::once(&self.text).chain(&self.features.named));
        self.query(text, filter)
    }

    /// Returns the query for documents, dialogs and code.
    pub fn of_places(&self, filter: PassageFilter) -> Query {
        self.query(self.text.clone(), filter)
    }

    /// Returns the query for commits, whose messages name code by words and have no issue ids.
    pub fn of_changes(&self, filter: PassageFilter) -> Query {
        let names = self.features.named.iter().chain(&self.features.path);
        Query::text(joined(std::iter::once(&self.text).chain(names)), filter)
    }

    /// Builds a query. Issue ids are also searched as whole words, as `GPT-4` may be a word.
    fn query(&self, text: String, filter: PassageFilter) -> Query {
        let symbols = self.features.named.clone();
        let (paths, ids) = (Vec::from_iter(self.features.path.clone()), self.task_ids.clone());
        Query { symbols, paths, ids, ..Query::text(text, filter) }
    }

    /// Whether the query has anything but issues.
    pub fn has_words(&self) -> bool {
        !self.text.is_empty() || !self.features.named.is_empty() || self.features.path.is_some()
    }

    /// Returns the file or directory of the query.
    pub fn paths(&self) -> Vec<String> {
        self.features.path.iter().map(|path| path.trim_matches('/').to_owned()).collect()
    }
}

/// Joins the parts that are not empty.
fn joined<'a>(parts: impl Iterator<Item = &'a String>) -> String {
    parts.filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join(" ")
}

/// Reads a request, masked like the texts that it is compared with; `None` for an empty one.
pub fn read(
    request: &RecallRequest,
    task: Option<&Task>,
    sanitizing: &Policy,
) -> Option<RecallQuery> {
    let clean = |text: &str| {
        let text = mask_with(text, sanitizing).text.into_string();
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    };
    let query = request.query.as_deref().and_then(clean);
    let task_id = request.task_external_id.as_deref().and_then(clean);
    let path = request.repo_path.as_deref().and_then(clean);
    let symbols: Vec<String> = request.symbols.iter().filter_map(|s| clean(s)).collect();
    let signals = request.signals.iter().filter_map(|s| clean(s));
    let signals: Vec<String> = signals.map(|signal| condense_signal(&signal)).collect();
    // Titles come from the database, where texts are masked.
    let title = task.map(|task| task.title.clone()).filter(|title| !title.is_empty());

    let texts_with_ids = [&query, &title].into_iter().flatten().chain(&signals);
    let task_ids = task_ids::collect(task_id.clone(), texts_with_ids.map(String::as_str));
    let stripped = |text: &String| Some(task_ids::strip(text)).filter(|text| !text.is_empty());
    let texts: Vec<String> = [&query, &title].into_iter().flatten().filter_map(stripped).collect();
    let signal_texts: Vec<String> = signals.iter().filter_map(stripped).collect();
    let text = [texts.as_slice(), signal_texts.as_slice()].concat().join(" ");
    if text.is_empty() && symbols.is_empty() && path.is_none() && task_ids.is_empty() {
        return None;
    }
    let request = json!({
        "query": query, "task_external_id": task_id, "repo_path": path, "symbols": symbols,
        "signals": signals, "limit_tokens": request.limit.get(),
        "time_budget_ms": u64::try_from(request.time_budget.as_millis()).unwrap_or(u64::MAX),
    });
    let gloss = gloss::english(&text).map(|gloss| gloss.text);
    let parsed_signal = |signal: &String| ParsedNote::read(&signal.replace(['-', '_'], " "));
    let features = QueryFeatures {
        texts: texts.iter().chain(&gloss).map(|text| ParsedNote::read(text)).collect(),
        symbols: symbols.iter().flat_map(|symbol| names(symbol)).collect(),
        issues: task_ids.iter().map(|id| id.to_lowercase()).collect(),
        signals: signal_texts.iter().map(parsed_signal).collect(),
        scope: scope(path.as_deref(), &symbols),
        named: symbols,
        path,
        is_latin: is_latin(&text) || gloss.is_some(),
        seeks_places: query.as_deref().is_some_and(seeks_places),
    };
    Some(RecallQuery { features, task_ids, request, text })
}

/// Matches queries that ask for code or documents.
static NAMES_PLACES: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?ix)
        \b(in|of)\ the\ (code|source|repo|repository|codebase)\b
        | \b(which|what)\ (file|function|class|method|module|struct|type)s?\b
        | \b(according\ to|in)\ the\ (manual|docs?|documentation|guide|readme)\b
        | \bв\ (коде|документации|какой\ функции|каком\ (файле|классе|методе))",
    )
});

/// Matches queries that ask where something is or how it works.
static ASKS_ABOUT_CODE: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)^(where|how) (is|are|does|was|were)\b|^(где|как) (работа|устро|реализ|определ|",
        r"описан)",
    ))
});

/// Matches queries about people, which records answer: how *we* do it, where do *I* put it.
static ASKS_ABOUT_PEOPLE: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?i)\b(we|i|our|us|my|мы|нас|наш\w*|я|мне)\b"));

fn seeks_places(query: &str) -> bool {
    NAMES_PLACES.is_match(query)
        || (ASKS_ABOUT_CODE.is_match(query.trim_start()) && !ASKS_ABOUT_PEOPLE.is_match(query))
}

fn scope(path: Option<&str>, symbols: &[String]) -> Vec<String> {
    let mut scope: Vec<String> = path.map(scope_of_path).unwrap_or_default();
    scope.extend(symbols.iter().flat_map(|symbol| scope_of_symbol(symbol)));
    let mut seen = std::collections::HashSet::new();
    scope.retain(|part| seen.insert(part.clone()));
    scope
}

/// Returns a symbol's qualified and own name, in lower case.
fn names(symbol: &str) -> Vec<String> {
    let full = symbol.to_lowercase();
    let own = full.rsplit(['#', '.', ':', '/']).next().unwrap_or_default().to_owned();
    // A short name (`new`, `call`) is everywhere and proves nothing.
    if own.chars().count() >= 5 && own != full { vec![full, own] } else { vec![full] }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::time::Duration;

    use mc_domain::ProjectId;

    use super::*;
    use crate::tokens::TokenBudget;

    fn request() -> RecallRequest {
        RecallRequest {
            project: ProjectId::generate(),
            principal: "local".to_owned(),
            query: None,
            task_external_id: None,
            repo_path: None,
            symbols: Vec::new(),
            signals: Vec::new(),
            limit: TokenBudget::default(),
            time_budget: Duration::from_millis(300),
            is_control: false,
        }
    }

    #[test]
    fn specified_recall_request_becomes_one_query() {
        let request = RecallRequest {
            task_external_id: Some("CS-214".into()),
            repo_path: Some("app/services/cart_sessions".into()),
            symbols: vec!["CartSessions::Setting#trigger_delay_time_in_minutes".into()],
            signals: vec!["nil-delay".into()],
            ..request()
        };
        let recall_query = read(&request, None, &Policy::default()).unwrap();
        assert_eq!(recall_query.features.scope, ["cart_sessions", "setting"]);
        assert_eq!(recall_query.text, "nil-delay");
        assert_eq!(recall_query.task_ids, ["CS-214"]);
        assert_eq!(recall_query.features.symbols[1], "trigger_delay_time_in_minutes");
    }

    #[test]
    fn queries_about_code_differ_from_those_about_people() {
        for query in [
            "Where are flag names suggested?",
            "how does it decide, in the code",
            "which function parses the header",
            "how is the cache keyed",
        ] {
            assert!(seeks_places(query), "{query}");
        }
        for query in [
            "where do I put translations",
            "how do we rotate keys",
            "why does the build fail",
            "what is our defined process",
        ] {
            assert!(!seeks_places(query), "{query}");
        }
    }

    #[test]
    fn bare_words_are_counted_for_queries_without_names() {
        let recall_query = |query: &str, symbols: &[&str]| {
            let symbols = symbols.iter().map(|&symbol| symbol.to_owned()).collect();
            let request = RecallRequest { query: Some(query.into()), symbols, ..request() };
            read(&request, None, &Policy::default()).unwrap().features.bare_words()
        };
        assert_eq!(recall_query("make it faster", &[]), Some(2));
        assert_eq!(recall_query("fix the failing test", &[]), Some(3));
        assert_eq!(recall_query("make it faster", &["Cart#total"]), None);
        assert_eq!(recall_query("why E0123", &[]), None);
    }

    #[test]
    fn russian_query_is_glossed_as_a_latin_one() {
        let request = RecallRequest {
            query: Some("почему падает сборка".into()), ..request()
        };
        let features = read(&request, None, &Policy::default()).unwrap().features;
        assert!(features.is_latin && features.texts.len() == 2, "{features:?}");
    }

    #[test]
    fn empty_request_is_none_and_secrets_are_masked() {
        assert!(read(&request(), None, &Policy::default()).is_none());
        assert!(
            read(
                &RecallRequest { query: Some("  \n".into()), ..request() },
                None,
                &Policy::default()
            )
            .is_none()
        );
        let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
        let recall_query = read(
            &RecallRequest { query: Some(format!("token {token}")), ..request() },
            None,
            &Policy::default(),
        )
        .unwrap();
        assert!(
            !recall_query.text.contains(&token)
                && !recall_query.request.to_string().contains(&token)
        );
    }
}
