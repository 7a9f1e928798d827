//! From task, path, symbols and signals to a query.

use mc_domain::ProjectId;
use mc_sanitizer::{Policy, mask_with};
use mc_search::Query;
use mc_store::passages::PassageFilter;
use mc_store::tasks::Task;
use serde_json::{Value, json};

use super::RecallRequest;
use crate::confidence::{Question, is_latin};
use crate::distil::{scope_of_path, scope_of_symbol};
use crate::judge::Note;

/// What is asked, without secrets.
#[derive(Debug, Clone)]
pub struct Asked {
    /// For ranking.
    pub question: Question,
    /// Parts of the system that path and symbols name.
    pub scope: Vec<String>,
    text: String,
    symbols: Vec<String>,
    path: Option<String>,
    request: Value,
}

impl Asked {
    /// The query, over all that a project has.
    pub fn query(&self, project: ProjectId) -> Query {
        Query {
            text: self.text.clone(),
            symbols: self.symbols.clone(),
            paths: self.path.iter().cloned().collect(),
            filter: PassageFilter::project(project),
        }
    }

    /// The request as it may be kept.
    pub fn as_json(&self) -> Value {
        self.request.clone()
    }
}

/// Reads a request, masked as the texts are that it is compared with; `None` when it asks for nothing.
pub fn read(request: &RecallRequest, task: Option<&Task>, sanitizing: &Policy) -> Option<Asked> {
    let clean = |text: &str| {
        let text = mask_with(text, sanitizing).text.into_string();
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    };
    let query = request.query.as_deref().and_then(clean);
    let task_id = request.task_external_id.as_deref().and_then(clean);
    let path = request.repo_path.as_deref().and_then(clean);
    let symbols: Vec<String> = request.symbols.iter().filter_map(|s| clean(s)).collect();
    let signals: Vec<String> = request.signals.iter().filter_map(|s| clean(s)).collect();
    // Titles and labels come from our own database, where only clean text is.
    let title = task.map(|task| task.title.clone()).filter(|title| !title.is_empty());
    let labels = task.map(|task| task.labels.clone()).unwrap_or_default();

    let scope = scope(path.as_deref(), &symbols);
    let parts =
        [&query, &title].into_iter().flatten().chain(&signals).chain(&labels).chain(&task_id);
    let text = parts.chain(&scope).cloned().collect::<Vec<_>>().join(" ");
    if text.is_empty() && symbols.is_empty() && path.is_none() {
        return None;
    }
    let texts: Vec<_> =
        [&query, &title, &task_id].into_iter().flatten().map(|t| Note::read(t)).collect();
    let question = Question {
        texts,
        symbols: symbols.iter().flat_map(|symbol| names(symbol)).collect(),
        signals: signals
            .iter()
            .map(|signal| Note::read(&signal.replace(['-', '_'], " ")))
            .collect(),
        scope: scope.clone(),
        path: path.clone(),
        is_latin: is_latin(&text),
    };
    let request = json!({
        "query": query, "task_external_id": task_id, "repo_path": path, "symbols": symbols,
        "signals": signals, "limit_tokens": request.limit.get(),
        "time_budget_ms": u64::try_from(request.time_budget.as_millis()).unwrap_or(u64::MAX),
    });
    Some(Asked { question, scope, text, symbols, path, request })
}

fn scope(path: Option<&str>, symbols: &[String]) -> Vec<String> {
    let mut scope: Vec<String> = path.map(scope_of_path).unwrap_or_default();
    scope.extend(symbols.iter().flat_map(|symbol| scope_of_symbol(symbol)));
    let mut seen = std::collections::HashSet::new();
    scope.retain(|part| seen.insert(part.clone()));
    scope
}

/// A symbol's qualified name and its own name, in lower case.
fn names(symbol: &str) -> Vec<String> {
    let full = symbol.to_lowercase();
    let own = full.rsplit(['#', '.', ':', '/']).next().unwrap_or_default().to_owned();
    // A short name (`new`, `call`) is everywhere and proves nothing.
    if own.chars().count() >= 5 && own != full { vec![full, own] } else { vec![full] }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn request() -> RecallRequest {
        RecallRequest::new(ProjectId::generate(), "local")
    }

    #[test]
    fn the_seeds_request_becomes_one_query() {
        let request = RecallRequest {
            task_external_id: Some("CS-214".into()),
            repo_path: Some("app/services/cart_sessions".into()),
            symbols: vec!["CartSessions::Setting#trigger_delay_time_in_minutes".into()],
            signals: vec!["nil-delay".into()],
            ..request()
        };
        let asked = read(&request, None, &Policy::default()).unwrap();
        assert_eq!(asked.scope, ["cart_sessions", "setting"]);
        assert_eq!(asked.text, "nil-delay CS-214 cart_sessions setting");
        assert_eq!(asked.question.symbols[1], "trigger_delay_time_in_minutes");
    }

    #[test]
    fn a_request_for_nothing_is_none_and_secrets_do_not_get_through() {
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
        let asked = read(
            &RecallRequest { query: Some(format!("token {token}")), ..request() },
            None,
            &Policy::default(),
        )
        .unwrap();
        assert!(!asked.text.contains(&token) && !asked.as_json().to_string().contains(&token));
    }
}
