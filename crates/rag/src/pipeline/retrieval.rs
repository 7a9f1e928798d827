//! The searches of all repositories, and the fallbacks if they find nothing.

use futures::{StreamExt, stream};
use mc_contract::operations::rag::{RagFilters, RagModule};
use mc_search::glob;

use super::Run;
use crate::journal::Journal;
use crate::multi_query::SubQuery;
use crate::retrieve::{Filters, Limits, retrieve};
use crate::scope::Scope;
use crate::snippet::Snippet;
use crate::union::union;
use crate::{Error, fallback, global, language};

/// Repositories that are searched at a time.
const CONCURRENCY: usize = 4;
/// Repositories of which an overview is shown.
const OVERVIEWS_MAX: usize = 3;

/// What was found.
pub(super) struct Found {
    /// Best first.
    pub snippets: Vec<Snippet>,
    /// Set if the search itself found nothing.
    pub weakness: Option<String>,
}

/// Returns the filters of a request. An invalid glob is an error.
pub(super) fn filters(filters: &RagFilters, journal: &mut Journal) -> Result<Filters, Error> {
    let path_regex = filters.path_glob.as_ref().map(|path| glob::to_regex(path.as_str()));
    Ok(Filters {
        path_regex: path_regex.transpose().map_err(mc_search::Error::from)?,
        languages: language::known(&filters.languages, &mut journal.warnings),
        tags: filters.tags.clone().into_items(),
    })
}

/// Searches one repository. Returns its snippets, and notes about retrievers that were late.
async fn in_scope(
    scope: &Scope<'_>,
    queries: &[SubQuery],
    filters: &Filters,
    limits: Limits,
) -> Result<(Vec<Snippet>, Vec<String>), Error> {
    let (results, notes) = retrieve(scope, queries, filters, limits).await?;
    Ok((union(results), notes))
}

impl Run<'_> {
    /// Searches all repositories; if nothing matches well, the fallbacks act.
    pub(super) async fn retrieve(
        &mut self,
        queries: &[SubQuery],
        filters: &Filters,
    ) -> Result<Found, Error> {
        let limits = Limits {
            per_query: self.plan.top_k_per_query,
            has_documents: self.plan.has(RagModule::Documents),
            time_budget: self.time_budget,
        };
        let scopes = self.scopes.clone();
        let searches: Vec<_> =
            scopes.iter().map(|scope| in_scope(scope, queries, filters, limits)).collect();
        let searches = stream::iter(searches).buffered(CONCURRENCY).collect::<Vec<_>>();
        let outcomes = self.journal.timed("retrieval", searches).await;
        let mut lists = Vec::with_capacity(outcomes.len());
        for (scope, outcome) in scopes.iter().zip(outcomes) {
            lists.extend(self.searched(scope, outcome)?);
        }
        let snippets = global::merged(lists);
        if fallback::has_strong(&snippets) {
            self.note_documents(&snippets);
            return Ok(Found { snippets, weakness: None });
        }
        self.fall_back(snippets, filters).await
    }

    /// Returns the snippets of a repository. One of several that can't be searched is left out.
    fn searched(
        &mut self,
        scope: &Scope<'_>,
        outcome: Result<(Vec<Snippet>, Vec<String>), Error>,
    ) -> Result<Option<Vec<Snippet>>, Error> {
        let namespace = &scope.repository.namespace;
        match outcome {
            Ok((snippets, notes)) => {
                for note in notes {
                    self.journal.warn(format!("{namespace} was searched in part: {note}"));
                }
                Ok(Some(snippets))
            }
            Err(error) if self.scopes.len() == 1 => Err(error),
            Err(error) => {
                tracing::warn!(
                    rag.repository = %scope.repository.id,
                    error = &error as &dyn std::error::Error,
                    "repository left out of a global search"
                );
                self.journal.warn(format!("{namespace} could not be searched and is left out"));
                Ok(None)
            }
        }
    }

    fn note_documents(&mut self, snippets: &[Snippet]) {
        if snippets.iter().any(|snippet| snippet.chunk.is_none()) {
            self.journal.applied(RagModule::Documents);
        }
    }

    /// Returns weak matches or an overview, by the modules that are on.
    async fn fall_back(
        &mut self,
        snippets: Vec<Snippet>,
        filters: &Filters,
    ) -> Result<Found, Error> {
        let is_filtered = filters.path_regex.is_some()
            || !filters.languages.is_empty()
            || !filters.tags.is_empty();
        let mut weakness =
            "no passage has a word of the question, or a similar meaning; use names \
                            from the code, or other words"
                .to_owned();
        if is_filtered {
            weakness.push_str(", or fewer filters");
        }
        let module = RagModule::LowThreshold;
        let weak = if self.plan.has(module) { fallback::weak(snippets) } else { Vec::new() };
        if !weak.is_empty() {
            self.journal.applied(module);
            self.journal.warn(format!("{module}: only weak matches were found"));
            return Ok(Found { snippets: weak, weakness: Some(weakness) });
        }
        let snippets = if is_filtered { Vec::new() } else { self.overview().await? };
        Ok(Found { snippets, weakness: Some(weakness) })
    }

    /// Returns the overview of the first repositories.
    async fn overview(&mut self) -> Result<Vec<Snippet>, Error> {
        let module = RagModule::OverviewSeed;
        let mut overview = Vec::new();
        if !self.plan.has(module) {
            return Ok(overview);
        }
        for scope in self.scopes.iter().take(OVERVIEWS_MAX) {
            overview.extend(fallback::overview(scope).await?);
        }
        if !overview.is_empty() {
            self.journal.applied(module);
            self.journal.warn(format!("{module}: nothing matches; an overview is shown"));
        }
        Ok(overview)
    }
}
