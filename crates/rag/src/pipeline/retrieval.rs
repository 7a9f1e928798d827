//! The searches of all projects, and the fallbacks if they find nothing.

use futures::{StreamExt, stream};
use mc_contract::operations::rag::{RagFilters, RagModule};
use mc_search::glob;
use tokio::time::Instant;

use super::Run;
use crate::journal::Journal;
use crate::multi_query::SubQuery;
use crate::retrieve::{Filters, ProjectResults, SearchLimits, retrieve};
use crate::scope::{self, RepositoryScope};
use crate::snippet::Snippet;
use crate::union::union;
use crate::{Error, fallback, global, language};

/// Projects that are searched at a time.
const CONCURRENCY: usize = 4;
/// Repositories of which an overview is shown.
const OVERVIEWS_MAX: usize = 3;

/// Maximum number of repositories that a warning names.
const NAMED_MAX: usize = 5;

/// The result of the searches and the fallbacks.
pub(super) struct Retrieval {
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

/// The result of the searches of one project.
enum ProjectOutcome {
    Searched(ProjectResults),
    /// No time was left.
    Late,
}

/// Searches the repositories of one project in the time that is left.
async fn in_project(
    scopes: &[RepositoryScope<'_>],
    queries: &[SubQuery],
    filters: &Filters,
    limits: SearchLimits,
    deadline: Instant,
) -> Result<ProjectOutcome, Error> {
    let time_budget = deadline.saturating_duration_since(Instant::now());
    if time_budget.is_zero() {
        return Ok(ProjectOutcome::Late);
    }
    let limits = SearchLimits { time_budget, ..limits };
    retrieve(scopes, queries, filters, limits).await.map(ProjectOutcome::Searched)
}

/// Returns the names of repositories for a warning.
fn named(scopes: &[RepositoryScope<'_>]) -> String {
    let names = scopes.iter().take(NAMED_MAX).map(|scope| scope.repository.namespace.as_str());
    let names = names.collect::<Vec<_>>().join(", ");
    match scopes.len().saturating_sub(NAMED_MAX) {
        0 => names,
        others => format!("{names} and {others} others"),
    }
}

impl Run<'_> {
    /// Searches all repositories; if nothing matches well, the fallbacks act.
    pub(super) async fn retrieve(
        &mut self,
        queries: &[SubQuery],
        filters: &Filters,
    ) -> Result<Retrieval, Error> {
        let limits = SearchLimits {
            per_query: self.plan.top_k_per_query,
            has_documents: self.plan.has(RagModule::Documents),
            time_budget: self.time_budget,
        };
        let (deadline, projects) = (self.deadline, scope::by_project(&self.scopes));
        let searches: Vec<_> = projects
            .iter()
            .map(|scopes| in_project(scopes, queries, filters, limits, deadline))
            .collect();
        let searches = stream::iter(searches).buffered(CONCURRENCY).collect::<Vec<_>>();
        let outcomes = self.journal.timed("retrieval", searches).await;
        let is_one = projects.len() == 1;
        let mut lists = Vec::with_capacity(outcomes.len());
        for (scopes, outcome) in projects.iter().zip(outcomes) {
            lists.extend(self.searched(scopes, outcome, is_one)?);
        }
        let is_searched = !lists.is_empty();
        let snippets = global::merged(lists);
        if fallback::has_strong(&snippets) {
            self.note_documents(&snippets);
            return Ok(Retrieval { snippets, weakness: None });
        }
        if !is_searched {
            let weakness = "no repository could be searched; the warnings say why".to_owned();
            return Ok(Retrieval { snippets, weakness: Some(weakness) });
        }
        self.fall_back(snippets, filters).await
    }

    /// Returns the snippets of a project. One of several that can't be searched is left out.
    fn searched(
        &mut self,
        scopes: &[RepositoryScope<'_>],
        outcome: Result<ProjectOutcome, Error>,
        is_one: bool,
    ) -> Result<Option<Vec<Snippet>>, Error> {
        let names = named(scopes);
        match outcome {
            Ok(ProjectOutcome::Searched(ProjectResults { results, notes, is_cut })) => {
                for note in notes {
                    self.journal.warn(format!("{names} was searched in part: {note}"));
                }
                if is_cut {
                    self.journal.warn(format!(
                        "the project has more matches than one search returns, so that some of \
                         {names} may be missing; use more precise words or more filters"
                    ));
                }
                Ok(Some(union(results)))
            }
            Ok(ProjectOutcome::Late) => {
                self.journal.warn(format!(
                    "{names} was left out: no time was left; raise `rag.time_budget_ms`, or search \
                     fewer repositories"
                ));
                Ok(None)
            }
            Err(error) if is_one => Err(error),
            Err(error) => {
                tracing::warn!(
                    project.id = %scopes[0].context.project,
                    error = &error as &dyn std::error::Error,
                    "project left out of a global search"
                );
                self.journal.warn(format!("{names} could not be searched and was left out"));
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
    ) -> Result<Retrieval, Error> {
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
            return Ok(Retrieval { snippets: weak, weakness: Some(weakness) });
        }
        let snippets = if is_filtered { Vec::new() } else { self.overview().await? };
        Ok(Retrieval { snippets, weakness: Some(weakness) })
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
