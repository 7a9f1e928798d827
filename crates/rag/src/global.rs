//! A search of all ready repositories of several projects, each within its own project.

use std::sync::Arc;

use mc_contract::operations::rag::{RagOptions, RagSearchGlobalRequest, RagSearchResponse};
use mc_store::searchable::{self, SearchableRepository};

use crate::journal::Journal;
use crate::pipeline::{Labels, RagContext, Run};
use crate::scope::{self, NotReady, RepositoryScope};
use crate::snippet::{Evidence, Snippet};
use crate::switches::Plan;
use crate::union::sort;
use crate::{Error, RagSettings};

/// Label of a search of repositories that the caller has not fetched.
const GLOBAL: &str = "global";
/// Maximum number of repositories of a search: those that were indexed last.
const REPOSITORIES_MAX: usize = 50;
/// BM25 score that counts half as much as the highest.
const HALF_KEYWORD_SCORE: f32 = 8.0;
/// Weight of the keyword score in the strength of a list, compared with the similarity.
const KEYWORD_WEIGHT: f32 = 0.6;

/// Searches all ready repositories of these projects. A project whose policy allows no chat model
/// forbids it for the whole search, since the texts of all projects are read together. Without a
/// ready repository, the response has no results and the reason.
pub async fn search_global(
    contexts: &[RagContext],
    settings: &RagSettings,
    request: &RagSearchGlobalRequest,
) -> Result<RagSearchResponse, Error> {
    let options = RagOptions::from(request);
    let mut journal = Journal::default();
    let plan = Plan::resolve(settings, &options, &mut journal.warnings)?;
    let (mut scopes, not_ready) = ready(contexts, &mut journal).await?;
    let labels = labels(request, contexts, &scopes).await?;
    if scopes.is_empty() {
        let reason = Error::NoReadyRepository(not_ready).to_string();
        let run = Run::new(settings, plan, journal, scopes);
        return run.respond_without_search(&options, reason, labels).await;
    }
    if scopes.len() > REPOSITORIES_MAX {
        let n = scopes.len() - REPOSITORIES_MAX;
        journal.warn(format!(
            "{n} repositories were not searched: a search covers the {REPOSITORIES_MAX} that were \
             indexed most recently"
        ));
        scopes.truncate(REPOSITORIES_MAX);
    }
    let run = Run::new(settings, plan, journal, scopes);
    Box::pin(run.respond(&options, labels)).await
}

/// Returns the ready repositories, the one that was indexed last first, and why the first other one
/// is not ready.
async fn ready<'a>(
    contexts: &'a [RagContext],
    journal: &mut Journal,
) -> Result<(Vec<RepositoryScope<'a>>, NotReady), Error> {
    let mut ready = Vec::new();
    let mut others = Vec::new();
    for context in contexts {
        for scope in scope::list(context).await? {
            match NotReady::of(&scope.repository) {
                None => ready.push(scope),
                Some(reason) => {
                    let namespace = &scope.repository.namespace;
                    journal.warn(format!("{namespace} was left out: {reason}"));
                    others.push(scope.repository);
                }
            }
        }
    }
    ready.sort_by_key(|scope| std::cmp::Reverse(scope.repository.indexed_at));
    others.sort_by_key(|repository| std::cmp::Reverse(repository.indexed_at));
    Ok((ready, NotReady::of_any(others.iter().map(|repository| &**repository))))
}

/// Returns the labels of a request, else those of the repository that the caller fetched last.
async fn labels(
    request: &RagSearchGlobalRequest,
    contexts: &[RagContext],
    scopes: &[RepositoryScope<'_>],
) -> Result<Labels, Error> {
    let owner = request.display_repo_owner.clone().map(String::from);
    let name = request.display_repo_name.clone().map(String::from);
    let latest = match (&owner, &name) {
        (Some(_), Some(_)) => None,
        _ => last_fetched(contexts, scopes).await?,
    };
    let latest = latest.as_ref();
    let owner = owner.or_else(|| latest.map(|latest| latest.owner.clone()));
    let name = name.or_else(|| latest.map(|latest| latest.name.clone()));
    Ok(Labels {
        owner: owner.unwrap_or_else(|| GLOBAL.to_owned()),
        name: name.unwrap_or_else(|| GLOBAL.to_owned()),
    })
}

/// Returns the one of the searched repositories that the caller fetched last.
async fn last_fetched(
    contexts: &[RagContext],
    scopes: &[RepositoryScope<'_>],
) -> Result<Option<Arc<SearchableRepository>>, Error> {
    let mut all = Vec::new();
    for context in contexts {
        let fetched = searchable::last_fetched(&context.search.store, context.project).await?;
        let searched = fetched.into_iter().find_map(|(id, at)| {
            let scope = scopes.iter().find(|scope| scope.repository.id == id)?;
            Some((at, &scope.repository))
        });
        all.extend(searched);
    }
    let latest = all.into_iter().max_by_key(|(at, _)| *at);
    Ok(latest.map(|(_, repository)| Arc::clone(repository)))
}

/// Merges the lists of several projects.
///
/// A search scales its scores to its own best hit, so the best hit of a project that has nothing to
/// do with the question would equal that of the right one. The scores of each list are therefore
/// scaled by the strength of its best hit, which is comparable across searches. Repositories of one
/// project are searched together, so that their scores are comparable already.
pub(crate) fn merged(lists: Vec<Vec<Snippet>>) -> Vec<Snippet> {
    let is_one = lists.len() < 2;
    let strengths: Vec<f32> = lists.iter().map(|list| strength(list)).collect();
    let strongest = strengths.iter().copied().fold(0.0, f32::max);
    let scaled = lists.into_iter().zip(strengths).flat_map(|(list, strength)| {
        let factor = if is_one || strongest == 0.0 { 1.0 } else { strength / strongest };
        list.into_iter().map(move |snippet| Snippet { score: snippet.score * factor, ..snippet })
    });
    let mut merged: Vec<_> = scaled.collect();
    sort(&mut merged);
    merged
}

/// Returns how much the best snippets of a list have in common with the query, from 0 to 1.
fn strength(snippets: &[Snippet]) -> f32 {
    let of_one = |snippet: &Snippet| {
        let Evidence { keyword, similarity, .. } = snippet.evidence;
        let keyword = keyword.unwrap_or_default();
        let keyword = keyword / (keyword + HALF_KEYWORD_SCORE);
        let similarity = similarity.unwrap_or_default().max(0.0);
        KEYWORD_WEIGHT * keyword + (1.0 - KEYWORD_WEIGHT) * similarity
    };
    snippets.iter().map(of_one).fold(0.0, f32::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snippet::fixtures::{code, repository};

    fn list(name: &str, keyword: f32, similarity: f32) -> Vec<Snippet> {
        let evidence =
            Evidence { keyword: Some(keyword), similarity: Some(similarity), is_named: false };
        vec![Snippet { evidence, ..code(&repository(name), "a.rs", 1, "x", 1.0) }]
    }

    #[test]
    fn project_with_more_in_common_comes_first() {
        let merged = merged(vec![list("other", 1.0, 0.1), list("right", 12.0, 0.6)]);
        let names: Vec<_> = merged.iter().map(|snippet| snippet.repository.name.as_str()).collect();
        assert_eq!(names, ["right", "other"]);
        assert!((merged[0].score - 1.0).abs() < f32::EPSILON && merged[1].score < 0.3);
    }

    #[test]
    fn one_list_keeps_its_scores() {
        let merged = merged(vec![list("only", 1.0, 0.1)]);
        assert!((merged[0].score - 1.0).abs() < f32::EPSILON);
    }
}
