//! What is shown if nothing matches well: the least weak matches, or an overview of the repository.

use mc_store::{passages, searchable};

use crate::Error;
use crate::scope::RepositoryScope;
use crate::snippet::Snippet;

/// Least cosine of a weak match.
const WEAK_SIMILARITY_MIN: f32 = 0.1;
/// Most weak matches.
const WEAK_MAX: usize = 5;
/// Files of an overview, for each repository.
const OVERVIEW_MAX: i64 = 6;
/// Score of the first file of an overview; the second one has half of it, and so on.
const OVERVIEW_SCORE: f32 = 0.1;
/// Files that introduce a repository: a README, the build file and the entry points.
const OVERVIEW_PATHS: &str = concat!(
    r"^(([^/]+/)?readme(\.[a-z]+)?|architecture\.md|contributing\.md",
    r"|cargo\.toml|package\.json|pyproject\.toml|setup\.(py|cfg)|go\.mod|pom\.xml",
    r"|(build|settings)\.gradle(\.kts)?|gemfile|rakefile|makefile|cmakelists\.txt|composer\.json",
    r"|((src|app|lib|cmd)/([^/]+/)?)?(main|index|app|lib|cli|server|__main__|__init__)\.[a-z]+)$",
);

/// Whether the search found anything: a passage that has more in common with the query than chance.
pub(crate) fn has_strong(snippets: &[Snippet]) -> bool {
    snippets.iter().any(|snippet| snippet.evidence.is_strong())
}

/// Returns the best of the weak matches.
pub(crate) fn weak(snippets: Vec<Snippet>) -> Vec<Snippet> {
    let is_near = |snippet: &Snippet| {
        snippet.evidence.similarity.is_some_and(|value| value >= WEAK_SIMILARITY_MIN)
    };
    snippets.into_iter().filter(is_near).take(WEAK_MAX).collect()
}

/// Returns the beginnings of the files that introduce a repository.
pub(crate) async fn overview(scope: &RepositoryScope<'_>) -> Result<Vec<Snippet>, Error> {
    let (store, project) = (&scope.context.search.store, scope.context.project);
    let ids = searchable::first_passages(store, scope.repository.id, OVERVIEW_PATHS, OVERVIEW_MAX)
        .await?;
    let mut loaded = passages::load(store, project, &ids).await?;
    loaded.sort_by_key(|passage| ids.iter().position(|id| *id == passage.indexed.id));
    let of_repository = |passage| Snippet::of_passage(passage, &scope.repository);
    let snippets = loaded.into_iter().filter_map(of_repository);
    // The order is kept by scores.
    let ranked = (1_u8..).zip(snippets);
    Ok(ranked
        .map(|(rank, snippet)| Snippet { score: OVERVIEW_SCORE / f32::from(rank), ..snippet })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snippet::Evidence;
    use crate::snippet::fixtures::{code, repository};

    fn with(evidence: Evidence) -> Snippet {
        Snippet { evidence, ..code(&repository("shop"), "a.rs", 1, "x", 0.1) }
    }

    #[test]
    fn evidence_decides_what_counts_as_found() {
        let similarity = |value| Evidence { similarity: Some(value), ..Evidence::default() };
        let keyword = Evidence { keyword: Some(2.0), ..Evidence::default() };
        for (evidence, is_strong, is_weak) in [
            (keyword, true, false),
            (similarity(0.4), true, true),
            (similarity(0.2), false, true),
            (similarity(0.05), false, false),
            (Evidence { is_named: true, ..Evidence::default() }, true, false),
        ] {
            assert_eq!(has_strong(&[with(evidence)]), is_strong, "{evidence:?}");
            assert_eq!(weak(vec![with(evidence)]).len() == 1, is_weak, "{evidence:?}");
        }
    }
}
