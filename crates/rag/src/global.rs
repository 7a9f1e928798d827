//! A search of all ready repositories of several projects, each within its own project.

use mc_contract::ProjectKey;
use mc_contract::operations::rag::{RagSearchGlobalRequest, RagSearchRequest, RagSearchResponse};

use crate::journal::Journal;
use crate::pipeline::{Labels, RagContext, Run};
use crate::scope::{self, Scope};
use crate::snippet::{Evidence, Snippet};
use crate::switches::Plan;
use crate::union::sort;
use crate::{Error, RagSettings};

/// Label of a search without a repository that was indexed.
const GLOBAL: &str = "global";
/// Most repositories of a search: those that were indexed last.
const REPOSITORIES_MAX: usize = 50;
/// BM25 score that counts half as much as the highest.
const HALF_KEYWORD_SCORE: f32 = 8.0;
/// Weight of the keyword score in the strength of a repository, compared with the similarity.
const KEYWORD_WEIGHT: f32 = 0.6;

/// Searches all ready repositories of these projects. A project whose policy allows no chat model
/// forbids it for the whole search, since the texts of all projects are read together.
pub async fn search_global(
    contexts: &[RagContext],
    settings: &RagSettings,
    request: &RagSearchGlobalRequest,
) -> Result<RagSearchResponse, Error> {
    let request_of_one = as_search(request);
    let mut journal = Journal::default();
    let plan = Plan::resolve(settings, &request_of_one, &mut journal.warnings)?;
    let mut scopes = ready(contexts, &mut journal).await?;
    let labels = labels(request, &scopes);
    if scopes.len() > REPOSITORIES_MAX {
        let left_out = scopes.len() - REPOSITORIES_MAX;
        journal.warn(format!("the {left_out} repositories that were indexed first are left out"));
        scopes.truncate(REPOSITORIES_MAX);
    }
    if scopes.is_empty() {
        return Err(Error::NoReadyRepository);
    }
    let run = Run::new(settings, plan, journal, scopes);
    Box::pin(run.respond(&request_of_one, labels)).await
}

/// Returns the ready repositories, the one that was indexed last first.
async fn ready<'a>(
    contexts: &'a [RagContext],
    journal: &mut Journal,
) -> Result<Vec<Scope<'a>>, Error> {
    let mut ready = Vec::new();
    for context in contexts {
        for scope in scope::list(context).await? {
            if scope.repository.is_ready {
                ready.push(scope);
            } else {
                let namespace = &scope.repository.namespace;
                journal.warn(format!("{namespace} is not ready and is left out"));
            }
        }
    }
    ready.sort_by_key(|scope| std::cmp::Reverse(scope.repository.indexed_at));
    Ok(ready)
}

/// Returns the labels of a request, else those of the repository that was indexed last.
fn labels(request: &RagSearchGlobalRequest, scopes: &[Scope<'_>]) -> Labels {
    let latest = scopes.first().map(|scope| &scope.repository);
    let owner = request.display_repo_owner.clone().map(String::from);
    let name = request.display_repo_name.clone().map(String::from);
    let owner = owner.or_else(|| latest.map(|latest| latest.owner.clone()));
    let name = name.or_else(|| latest.map(|latest| latest.name.clone()));
    Labels {
        owner: owner.unwrap_or_else(|| GLOBAL.to_owned()),
        name: name.unwrap_or_else(|| GLOBAL.to_owned()),
    }
}

/// Returns the options of a global search as those of a search of one repository.
fn as_search(request: &RagSearchGlobalRequest) -> RagSearchRequest {
    let request = request.clone();
    RagSearchRequest {
        // The scopes are known already, so the key is not read.
        project_key: ProjectKey::parse(GLOBAL).expect("a valid key"),
        repo_owner: None,
        repo_name: None,
        raw_query: request.raw_query,
        profile: request.profile,
        history: request.history,
        filters: request.filters,
        default_translate_to: request.default_translate_to,
        multi_query: request.multi_query,
        top_k: request.top_k,
        top_k_per_query: request.top_k_per_query,
        max_context_tokens: request.max_context_tokens,
        use_compression: request.use_compression,
        allow_empty_context: request.allow_empty_context,
        response_channel: request.response_channel,
        neighbor_strategy: request.neighbor_strategy,
        neighbor_radius: request.neighbor_radius,
        enabled_modules: request.enabled_modules,
        disabled_modules: request.disabled_modules,
    }
}

/// Merges the lists of several repositories.
///
/// A search scales its scores to its own best hit, so the best hit of a repository that has nothing
/// to do with the question would equal that of the right one. The scores of each list are therefore
/// scaled by the strength of its best hit, which is comparable across searches.
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
    fn repository_with_more_in_common_comes_first() {
        let merged = merged(vec![list("other", 1.0, 0.1), list("right", 12.0, 0.6)]);
        let names: Vec<_> = merged.iter().map(|snippet| snippet.repository.name.as_str()).collect();
        assert_eq!(names, ["right", "other"]);
        assert!((merged[0].score - 1.0).abs() < f32::EPSILON && merged[1].score < 0.3);
    }

    #[test]
    fn one_repository_keeps_its_scores() {
        let merged = merged(vec![list("only", 1.0, 0.1)]);
        assert!((merged[0].score - 1.0).abs() < f32::EPSILON);
    }
}
