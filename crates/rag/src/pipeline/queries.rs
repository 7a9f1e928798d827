//! From the question to its sub-queries.

use mc_contract::operations::rag::{HistoryMessage, QUERIES_MAX, RagModule};
use tokio::time::Instant;

use super::Run;
use crate::history::newest;
use crate::models::ModelFailure;
use crate::multi_query::{self, Origin, SubQuery, parts, variants};
use crate::rewrite::rewrite;
use crate::translate::{is_in_language, translate};

/// Most sub-queries of all modules together.
#[expect(clippy::cast_possible_truncation, reason = "a small constant")]
const ALL_QUERIES: usize = QUERIES_MAX as usize;

impl Run<'_> {
    /// Returns the queries to search for; the first one is the question itself.
    pub(super) async fn queries(
        &mut self,
        query: &str,
        history: &[HistoryMessage],
    ) -> Vec<SubQuery> {
        let mut queries = Vec::new();
        multi_query::add(&mut queries, query, Origin::Original, ALL_QUERIES);
        let base = self.complete(&mut queries, query, history).await;
        self.vary(&mut queries, &base).await;
        queries
    }

    /// Adds the query as it is understood without the history, and returns it.
    async fn complete(
        &mut self,
        queries: &mut Vec<SubQuery>,
        query: &str,
        history: &[HistoryMessage],
    ) -> String {
        let module = RagModule::HistoryCompression;
        if !self.plan.has(module) || history.is_empty() {
            return query.to_owned();
        }
        let started = Instant::now();
        let newest = newest(history, |text| self.masked(text));
        let completed = match newest.completed(&self.models, query).await {
            Ok(completed) => Some((self.masked(&completed), Origin::Rewritten)),
            Err(ModelFailure::Unavailable(_)) => None,
            Err(failure) => {
                self.journal.model_failed(module, &failure);
                None
            }
        };
        // The names of the conversation need no model.
        // A rule may match the query and the names together.
        let with_names = || {
            let query = newest.with_names(query)?;
            Some((self.masked(&query), Origin::WithNames))
        };
        let completed = completed.or_else(with_names);
        let is_added = completed
            .as_ref()
            .is_some_and(|(text, origin)| multi_query::add(queries, text, *origin, ALL_QUERIES));
        if is_added {
            self.journal.applied(module);
        }
        self.journal.took(module.as_str(), started.elapsed());
        match completed {
            Some((text, Origin::Rewritten)) => text,
            _ => query.to_owned(),
        }
    }

    /// Adds what the modules make of the query. The models are asked at once.
    async fn vary(&mut self, queries: &mut Vec<SubQuery>, query: &str) {
        let (models, plan) = (&self.models, &self.plan);
        let language = plan.target_language.as_str();
        let is_foreign = !language.is_empty() && !is_in_language(query, language);
        let has_multi = plan.has(RagModule::MultiQuery) && plan.max_queries > 1;
        let (rewritten, translated, several) = tokio::join!(
            measured(plan.has(RagModule::Rewrite), || rewrite(models, query)),
            measured(plan.has(RagModule::Translation) && is_foreign, || {
                translate(models, query, language)
            }),
            measured(has_multi, || variants(models, query, plan.max_queries - 1)),
        );
        for (module, answer) in
            [(RagModule::Rewrite, rewritten), (RagModule::Translation, translated)]
        {
            let text = self.answered(module, answer);
            let text = text.map(|text| self.masked(&text)).unwrap_or_default();
            if multi_query::add(queries, &text, Origin::Rewritten, ALL_QUERIES) {
                self.journal.applied(module);
            }
        }
        if has_multi {
            self.split(queries, query, several);
        }
    }

    /// Adds the variants of a model, then the parts of the query.
    fn split(
        &mut self,
        queries: &mut Vec<SubQuery>,
        query: &str,
        several: Option<Measured<Vec<String>>>,
    ) {
        let module = RagModule::MultiQuery;
        // Its parts need no model, so that one which is not there is no warning.
        let is_without_model =
            matches!(&several, Some(Measured { answer: Err(ModelFailure::Unavailable(_)), .. }));
        let several = several.filter(|_| !is_without_model);
        let variants = self.answered(module, several).unwrap_or_default();
        let variants = variants.iter().map(|text| (self.masked(text), Origin::Variant));
        let parts = parts(query).into_iter().map(|text| (text, Origin::Part));
        let mut is_any = false;
        for (text, origin) in variants.chain(parts).collect::<Vec<_>>() {
            is_any |= multi_query::add(queries, &text, origin, self.plan.max_queries);
        }
        if is_any {
            self.journal.applied(module);
        }
    }

    /// Returns the answer of a model; a failure becomes a warning.
    fn answered<T>(&mut self, module: RagModule, measured: Option<Measured<T>>) -> Option<T> {
        let Measured { answer, started, ended } = measured?;
        self.journal.took(module.as_str(), ended - started);
        answer.map_err(|failure| self.journal.model_failed(module, &failure)).ok()
    }
}

/// An answer with its times.
struct Measured<T> {
    answer: Result<T, ModelFailure>,
    started: Instant,
    ended: Instant,
}

/// Asks a model if a module is on.
async fn measured<T, F: Future<Output = Result<T, ModelFailure>>>(
    is_on: bool,
    ask: impl FnOnce() -> F,
) -> Option<Measured<T>> {
    if !is_on {
        return None;
    }
    let started = Instant::now();
    let answer = ask().await;
    Some(Measured { answer, started, ended: Instant::now() })
}
