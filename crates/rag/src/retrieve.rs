//! The searches: each sub-query over the code of the repositories of one project, and the query
//! over their documents.

use std::time::Duration;

use mc_contract::operations::rag::MatchKind;
use mc_domain::SourceKind;
use mc_search::{Hit, Options, Query, SearchResponse, Step, search_all};
use mc_store::passages::PassageFilter;

use crate::Error;
use crate::multi_query::{Origin, SubQuery};
use crate::scope::RepositoryScope;
use crate::snippet::Snippet;

/// Most hits requested of one search, which covers several repositories of a project. They are
/// assigned to the repositories afterwards.
const HITS_MAX: usize = 320;
/// Most results of every search except that of the original query over code; only their best
/// results are useful.
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
pub(crate) struct SearchLimits {
    /// Results of one sub-query in one repository.
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

/// The results of all searches in a project.
#[derive(Debug, Default)]
pub(crate) struct ProjectResults {
    pub results: Vec<Results>,
    /// Retrievers that were late.
    pub notes: Vec<String>,
    /// Whether a list had no place for further hits while a repository had fewer than allowed, so
    /// that some of its matches may be missing.
    pub is_cut: bool,
}

/// Runs all searches in these repositories of one project concurrently: one search for each
/// sub-query, whatever the number of repositories.
pub(crate) async fn retrieve(
    scopes: &[RepositoryScope<'_>],
    queries: &[SubQuery],
    filters: &Filters,
    limits: SearchLimits,
) -> Result<ProjectResults, Error> {
    let Some(first) = scopes.first() else { return Ok(ProjectResults::default()) };
    let (searches, arguments): (Vec<_>, Vec<_>) =
        searches(scopes, queries, filters, limits).into_iter().unzip();
    let responses = search_all(&first.context.search.visiting(), &arguments).await?;
    let mut all = ProjectResults::default();
    for (search, response) in searches.into_iter().zip(responses) {
        let SearchResponse { hits, degraded, .. } = response;
        for note in degraded {
            if !all.notes.contains(&note) {
                all.notes.push(note);
            }
        }
        let is_full = scopes.len() > 1 && hits.len() >= search.total_limit;
        let (snippets, is_short) = assigned(hits, scopes, search.limit);
        all.is_cut |= is_full && is_short;
        all.results.push(Results { sub_query: search.sub_query, origin: search.origin, snippets });
    }
    Ok(all)
}

/// Returns the hits of these repositories, at most `limit` of each, and whether one has fewer.
fn assigned(hits: Vec<Hit>, scopes: &[RepositoryScope<'_>], limit: usize) -> (Vec<Snippet>, bool) {
    let mut counts = vec![0; scopes.len()];
    let snippets = hits.into_iter().filter_map(|hit| {
        let is_owner =
            |scope: &RepositoryScope<'_>| Snippet::is_of(&hit.passage, &scope.repository);
        let owner = scopes.iter().position(is_owner)?;
        counts[owner] += 1;
        if counts[owner] > limit {
            return None;
        }
        Snippet::of_hit(hit, &scopes[owner].repository)
    });
    let snippets = snippets.collect();
    (snippets, counts.iter().any(|count| *count < limit))
}

/// A search of [`search_all`].
struct Search {
    sub_query: usize,
    origin: Origin,
    /// Results of each repository.
    limit: usize,
    /// Results of all repositories.
    total_limit: usize,
}

/// Returns the searches with their arguments.
fn searches(
    scopes: &[RepositoryScope<'_>],
    queries: &[SubQuery],
    filters: &Filters,
    limits: SearchLimits,
) -> Vec<(Search, (Query, Options))> {
    let search = |(sub_query, query): (usize, &SubQuery), kind| {
        let origin = query.origin;
        let is_main = origin == Origin::Original && kind == MatchKind::Code;
        let limit = if is_main { limits.per_query } else { limits.per_query.min(FURTHER_MAX) };
        let total_limit = (limit * scopes.len()).min(HITS_MAX);
        // The whole query searches by meaning and history already, which takes more time than a
        // search by words.
        let omitted = [Step::Vector, Step::History].into_iter().filter(|_| !origin.is_whole());
        let options = Options {
            disabled_steps: omitted.collect(),
            limit: total_limit,
            time_budget: limits.time_budget,
            explain: true,
            ..Options::default()
        };
        let query = Query::text(&query.text, filter(scopes, filters, kind));
        (Search { sub_query, origin, limit, total_limit }, (query, options))
    };
    let numbered = || queries.iter().enumerate();
    // A search over code alone knows the history of commits.
    let code = numbered().map(|query| search(query, MatchKind::Code));
    let documents = numbered().filter(|(_, query)| limits.has_documents && query.origin.is_whole());
    let documents = documents.map(|query| search(query, MatchKind::Doc));
    code.chain(documents).collect()
}

/// Returns the filter of these repositories of one project, which are at least one.
fn filter(scopes: &[RepositoryScope<'_>], filters: &Filters, kind: MatchKind) -> PassageFilter {
    let source = match kind {
        MatchKind::Code => SourceKind::Code,
        MatchKind::Doc => SourceKind::Doc,
    };
    // A filter makes the search of vectors slower.
    let searched = scopes.iter().filter(|scope| !scope.is_alone);
    PassageFilter {
        sources: vec![source],
        repositories: searched.map(|scope| scope.repository.id).collect(),
        tags: filters.tags.clone(),
        languages: filters.languages.clone(),
        path_regex: filters.path_regex.clone(),
        ..PassageFilter::project(scopes[0].context.project)
    }
}
