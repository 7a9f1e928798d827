//! The searches: each sub-query over the code of one repository, and the query over its documents.

use std::time::Duration;

use mc_contract::operations::rag::MatchKind;
use mc_domain::policy::AllowedModels;
use mc_domain::{ProjectId, SourceKind};
use mc_search::{Options, Query, SearchContext, SearchResponse, search_all};
use mc_store::passages::PassageFilter;

use crate::Error;
use crate::multi_query::{Origin, SubQuery};
use crate::scope::Scope;
use crate::snippet::Snippet;

/// Hits requested for each wanted one if the project has other repositories, whose hits are left
/// out afterwards.
const SHARED_PROJECT_FACTOR: usize = 8;
/// Most hits requested of one search.
const HITS_MAX: usize = 320;
/// Most results of a search other than that of the original query over code: only its best ones add
/// something.
const FURTHER_MAX: usize = 30;

/// Filters of a request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Filters {
    /// Regular expression of the whole path.
    pub path_regex: Option<String>,
    pub languages: Vec<String>,
    pub tags: Vec<String>,
}

/// How the searches are run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Results of one sub-query.
    pub per_query: usize,
    pub has_documents: bool,
    pub time_budget: Duration,
}

/// The results of one search.
#[derive(Debug)]
pub(crate) struct Results {
    /// Position of the sub-query.
    pub sub_query: usize,
    pub origin: Origin,
    /// Best first.
    pub snippets: Vec<Snippet>,
}

/// Runs all searches in one repository concurrently. Also returns notes about retrievers that were
/// late.
pub(crate) async fn retrieve(
    scope: &Scope<'_>,
    queries: &[SubQuery],
    filters: &Filters,
    limits: Limits,
) -> Result<(Vec<Results>, Vec<String>), Error> {
    let search = &scope.context.search;
    let words = SearchContext {
        models: search.models.restricted_to(AllowedModels::Off),
        ..search.visiting()
    };
    let (with_vectors, by_words) = searches(scope, queries, filters, limits);
    // The searches of each group share a connection.
    let visiting = search.visiting();
    let (with_vectors, by_words) =
        tokio::try_join!(run(&visiting, with_vectors), run(&words, by_words))?;
    let mut notes: Vec<String> = Vec::new();
    let mut results: Vec<Results> = Vec::new();
    for (search, response) in with_vectors.into_iter().chain(by_words) {
        let SearchResponse { hits, degraded, .. } = response;
        for note in degraded {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        let snippets = hits.into_iter().filter_map(|hit| Snippet::of_hit(hit, &scope.repository));
        let snippets = snippets.take(search.limit).collect();
        results.push(Results { sub_query: search.sub_query, origin: search.origin, snippets });
    }
    Ok((results, notes))
}

/// A search to run.
struct Search {
    sub_query: usize,
    origin: Origin,
    query: Query,
    /// Results of the repository.
    limit: usize,
    options: Options,
}

/// Returns the searches with vectors, and those by words alone.
fn searches(
    scope: &Scope<'_>,
    queries: &[SubQuery],
    filters: &Filters,
    limits: Limits,
) -> (Vec<Search>, Vec<Search>) {
    let factor = if scope.is_alone { 1 } else { SHARED_PROJECT_FACTOR };
    let search = |(sub_query, query): (usize, &SubQuery), kind| {
        let is_main = query.origin == Origin::Original && kind == MatchKind::Code;
        let limit = if is_main { limits.per_query } else { limits.per_query.min(FURTHER_MAX) };
        let options = Options {
            limit: (limit * factor).min(HITS_MAX),
            time_budget: limits.time_budget,
            explain: true,
            ..Options::default()
        };
        let query_filter = filter(scope.context.project, filters, kind);
        let (origin, query) = (query.origin, Query::text(&query.text, query_filter));
        Search { sub_query, origin, query, limit, options }
    };
    let numbered = || queries.iter().enumerate();
    // A search over code alone knows the history of commits.
    let code = numbered().map(|query| search(query, MatchKind::Code));
    let documents = numbered().take(usize::from(limits.has_documents));
    let documents = documents.map(|query| search(query, MatchKind::Doc));
    code.chain(documents).partition(|search| search.origin.uses_vectors())
}

fn filter(project: ProjectId, filters: &Filters, kind: MatchKind) -> PassageFilter {
    let source = match kind {
        MatchKind::Code => SourceKind::Code,
        MatchKind::Doc => SourceKind::Doc,
    };
    PassageFilter {
        sources: vec![source],
        tags: filters.tags.clone(),
        languages: filters.languages.clone(),
        path_regex: filters.path_regex.clone(),
        ..PassageFilter::project(project)
    }
}

async fn run(
    context: &SearchContext,
    searches: Vec<Search>,
) -> Result<Vec<(Search, SearchResponse)>, Error> {
    let arguments: Vec<_> =
        searches.iter().map(|search| (search.query.clone(), search.options.clone())).collect();
    let responses = search_all(context, &arguments).await?;
    Ok(searches.into_iter().zip(responses).collect())
}
