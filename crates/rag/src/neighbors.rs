//! Neighbor expansion: the code around the best matches.

use std::collections::{HashMap, HashSet};

use mc_contract::operations::rag::NeighborStrategy;
use mc_domain::PassageId;
use mc_store::Store;
use mc_store::neighbors::{EnclosedChunk, Neighbor, adjacent, of_definitions};
use mc_store::passages;

use crate::Error;
use crate::scope::RepositoryScope;
use crate::snippet::Snippet;

/// Matches that get neighbors: the best ones.
const EXPANDED_MAX: usize = 6;
/// Score of a neighbor, as a share of that of its match.
const NEIGHBOR_SHARE: f32 = 0.6;

/// Which neighbors to add.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expansion {
    pub strategy: NeighborStrategy,
    /// Chunks before and after a match.
    pub radius: i32,
}

/// Returns the neighbors of the best matches that are no matches themselves.
pub(crate) async fn expand(
    scopes: &[RepositoryScope<'_>],
    matches: &[Snippet],
    expansion: Expansion,
) -> Result<Vec<Snippet>, Error> {
    let mut seen: HashSet<PassageId> = matches.iter().map(|snippet| snippet.passage).collect();
    let best = &matches[..matches.len().min(EXPANDED_MAX)];
    let mut added = Vec::new();
    for scope in scopes {
        let of_scope: Vec<&Snippet> = best
            .iter()
            .filter(|snippet| snippet.repository.id == scope.repository.id)
            .filter(|snippet| snippet.chunk.is_some())
            .collect();
        if of_scope.is_empty() {
            continue;
        }
        let store = scope.context.search.store.share_reads();
        let found = find(&store, &of_scope, expansion).await?;
        let new: Vec<_> = found.into_iter().filter(|(_, id)| seen.insert(*id)).collect();
        added.extend(load(&store, scope, &new).await?);
    }
    Ok(added)
}

/// Returns the neighbors of these matches, by the strategy.
async fn find<'a>(
    store: &Store,
    matches: &[&'a Snippet],
    Expansion { strategy, radius }: Expansion,
) -> Result<Vec<(&'a Snippet, PassageId)>, Error> {
    let is_by_symbol = strategy == NeighborStrategy::ParentSymbol;
    let (enclosed, others): (Vec<&Snippet>, Vec<&Snippet>) =
        matches.iter().partition(|snippet| is_by_symbol && snippet.parent_symbol().is_some());
    let mut found = Vec::new();
    if !enclosed.is_empty() {
        let chunks: Vec<_> =
            enclosed.iter().filter_map(|snippet| enclosed_chunk(snippet)).collect();
        let neighbors = of_definitions(store, &chunks, i64::from(radius) * 2).await?;
        found.extend(paired(&enclosed, &neighbors));
    }
    if !others.is_empty() {
        let chunk = |snippet: &&Snippet| snippet.chunk.as_ref().map(|c| (c.file, c.index));
        let chunks: Vec<_> = others.iter().filter_map(chunk).collect();
        found.extend(paired(&others, &adjacent(store, &chunks, radius).await?));
    }
    Ok(found)
}

fn enclosed_chunk(snippet: &Snippet) -> Option<EnclosedChunk> {
    let chunk = snippet.chunk.as_ref()?;
    Some(EnclosedChunk {
        file: chunk.file,
        position: chunk.index,
        symbol: chunk.parent_symbol.clone()?,
        line_start: snippet.line_start,
        line_end: snippet.line_end,
    })
}

fn paired<'a>(matches: &[&'a Snippet], neighbors: &[Neighbor]) -> Vec<(&'a Snippet, PassageId)> {
    let pair =
        |neighbor: &Neighbor| Some((*matches.get(neighbor.request_index)?, neighbor.passage));
    neighbors.iter().filter_map(pair).collect()
}

async fn load(
    store: &Store,
    scope: &RepositoryScope<'_>,
    neighbors: &[(&Snippet, PassageId)],
) -> Result<Vec<Snippet>, Error> {
    if neighbors.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<_> = neighbors.iter().map(|(_, id)| *id).collect();
    let project = scope.context.project;
    let passages = passages::load(store, project, &ids).await?;
    let mut passages: HashMap<_, _> =
        passages.into_iter().map(|passage| (passage.indexed.id, passage)).collect();
    let snippet = |(origin, id): &(&Snippet, PassageId)| {
        let loaded = Snippet::of_passage(passages.remove(id)?, &scope.repository)?;
        Some(Snippet {
            score: origin.score * NEIGHBOR_SHARE,
            neighbor_of: Some(origin.span_hash.clone()),
            sub_queries: origin.sub_queries.clone(),
            ..loaded
        })
    };
    Ok(neighbors.iter().filter_map(snippet).collect())
}

/// Puts each neighbor behind its match, in the order of the file.
pub(crate) fn arranged(snippets: Vec<Snippet>) -> Vec<Snippet> {
    let (matches, mut neighbors): (Vec<_>, Vec<_>) =
        snippets.into_iter().partition(|snippet| snippet.neighbor_of.is_none());
    neighbors.sort_by_key(|snippet| snippet.line_start);
    let mut arranged = Vec::with_capacity(matches.len() + neighbors.len());
    for snippet in matches {
        let is_of_match = |neighbor: &mut Snippet| {
            neighbor.neighbor_of.as_deref() == Some(snippet.span_hash.as_str())
        };
        let own: Vec<_> = neighbors.extract_if(.., is_of_match).collect();
        arranged.push(snippet);
        arranged.extend(own);
    }
    arranged.extend(neighbors);
    arranged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snippet::fixtures::{code, repository};

    #[test]
    fn neighbors_follow_their_match_in_the_order_of_the_file() {
        let repository = repository("shop");
        let [first, second] = [("a.rs", 0.9), ("b.rs", 0.8)]
            .map(|(path, score)| code(&repository, path, 20, "x", score));
        let neighbor = |of: &Snippet, line| Snippet {
            neighbor_of: Some(of.span_hash.clone()),
            ..code(&repository, &of.path, line, "y", 0.5)
        };
        let (after, before) = (neighbor(&second, 30), neighbor(&second, 10));
        let lines = |snippets: Vec<Snippet>| {
            let place = |snippet: Snippet| (snippet.path, snippet.line_start);
            snippets.into_iter().map(place).collect::<Vec<_>>()
        };
        let arranged = arranged(vec![first, after, second, before]);
        let expected = [("a.rs", 20), ("b.rs", 20), ("b.rs", 10), ("b.rs", 30)];
        assert_eq!(lines(arranged), expected.map(|(path, line)| (path.to_owned(), line)));
    }
}
