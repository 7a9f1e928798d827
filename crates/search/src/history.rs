//! Retriever that ranks files by the commit history: files that similar changes touched in the past
//! are likely to be touched again.
//!
//! The commits most similar to the query are found by words and by vectors. Each file gets the sum
//! of the squared scores of its commits. docs/retrieval.md has the evaluation of the constants.

use std::collections::HashMap;

use mc_domain::{FileId, PassageId, ProjectId, SourceKind};
use mc_store::passages::PassageFilter;
use mc_store::{Store, history};

use crate::Error;
use crate::rank::RetrieverRank;
use crate::rank::fusion::{Fused, fuse, retriever_weight, sort};
use crate::retrievers::{RankedList, Retriever};

/// Number of commits that are used.
const NEAREST: usize = 50;

/// Returns the filter that matches only the commits of the searched repositories.
pub fn commit_filter(searched: &PassageFilter) -> PassageFilter {
    PassageFilter {
        sources: vec![SourceKind::Change],
        repositories: searched.repositories.clone(),
        ..PassageFilter::project(searched.project)
    }
}

/// Returns whether the history applies: only to a search of code alone, without record filters.
pub fn applies(filter: &PassageFilter) -> bool {
    let has_record_filter = !(filter.record_kinds.is_empty() && filter.scope.is_empty());
    filter.sources == [SourceKind::Code] && !has_record_filter
}

/// Files with their scores, best first.
pub type FileScores = Vec<(FileId, f32)>;

/// Returns the files that the nearest of these commits touched, best first, with scores relative to
/// the best one.
pub async fn files(
    store: &Store,
    project: ProjectId,
    commits: &[(Retriever, RankedList)],
) -> Result<FileScores, Error> {
    let near = nearest(commits);
    if near.is_empty() {
        return Ok(FileScores::new());
    }
    let passages: Vec<PassageId> = near.iter().map(|(id, _)| *id).collect();
    Ok(file_scores(&near, &history::touched(store, project, &passages).await?))
}

/// Adds the scores of files to the fused list of a search of code.
///
/// The best passage of each file gets the score of the file, which is at most the weight of the
/// retriever times the best score of the list. For a file that is not in the list, its first
/// passage with a definition is added.
pub async fn add_to(
    fused: Vec<Fused>,
    store: &Store,
    filter: &PassageFilter,
    files: &[(FileId, f32)],
) -> Result<Vec<Fused>, Error> {
    let ids: Vec<FileId> = files.iter().map(|(file, _)| *file).collect();
    let found: Vec<PassageId> = fused.iter().map(|fused| fused.id).collect();
    let passages = history::representatives(store, filter, &ids, &found).await?;
    Ok(with_history(fused, files, &passages))
}

/// Returns the most similar commits, best first, with scores relative to the best one.
fn nearest(commits: &[(Retriever, RankedList)]) -> RankedList {
    let fused = fuse(commits);
    let best = fused.first().map_or(0.0, |fused| fused.score);
    if best <= 0.0 {
        return RankedList::new();
    }
    fused.into_iter().take(NEAREST).map(|fused| (fused.id, fused.score / best)).collect()
}

/// Returns the scores of the files that the commits touched. Similarities are squared, so that many
/// dissimilar commits do not outweigh a similar one.
fn file_scores(near: &RankedList, touched: &[(PassageId, FileId)]) -> FileScores {
    let similarities: HashMap<PassageId, f32> = near.iter().copied().collect();
    let mut scores: HashMap<FileId, f32> = HashMap::new();
    for (commit, file) in touched {
        let similarity = similarities.get(commit).copied().unwrap_or_default();
        *scores.entry(*file).or_default() += similarity * similarity;
    }
    let best = scores.values().copied().fold(0.0, f32::max);
    let mut scores: Vec<_> = scores
        .into_iter()
        .filter(|(_, score)| *score > 0.0)
        .map(|(file, score)| (file, score / best))
        .collect();
    scores.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.0.cmp(&b.0.0)));
    scores
}

/// Adds the score of each file to the best of its passages.
fn with_history(
    mut fused: Vec<Fused>,
    files: &[(FileId, f32)],
    passages: &[(FileId, PassageId)],
) -> Vec<Fused> {
    // If the other retrievers found nothing, the scale is that of a best keyword hit.
    let best = fused.first().map_or(1.0, |fused| fused.score);
    let mut position: HashMap<PassageId, usize> =
        fused.iter().enumerate().map(|(index, fused)| (fused.id, index)).collect();
    let mut best_passages: HashMap<FileId, PassageId> = HashMap::new();
    for (file, passage) in passages {
        let rank = |id: &PassageId| position.get(id).copied().unwrap_or(usize::MAX);
        let best = best_passages.entry(*file).or_insert(*passage);
        if rank(passage) < rank(best) {
            *best = *passage;
        }
    }
    for (index, (file, score)) in files.iter().enumerate() {
        let Some(id) = best_passages.get(file).copied() else { continue };
        let position = *position.entry(id).or_insert_with(|| {
            fused.push(Fused::new(id));
            fused.len() - 1
        });
        let (retriever, score) = (Retriever::History, *score);
        let contribution = retriever_weight(retriever) * score * best;
        fused[position].add(RetrieverRank { retriever, rank: index + 1, score, contribution });
    }
    sort(&mut fused);
    fused
}

#[cfg(test)]
mod tests {
    use mc_domain::ProjectId;
    use uuid::Uuid;

    use super::*;

    fn passage(n: u128) -> PassageId {
        PassageId(Uuid::from_u128(n))
    }

    fn file(n: u128) -> FileId {
        FileId(Uuid::from_u128(n))
    }

    fn near(a: f32, b: f32) -> bool {
        (a - b).abs() < 1e-6
    }

    #[test]
    fn words_of_commits_weigh_twice_as_much_as_vectors() {
        let words = vec![(passage(1), 10.0), (passage(2), 5.0)];
        let meaning = vec![(passage(2), 0.9), (passage(3), 0.5), (passage(1), 0.1)];
        let found = nearest(&[(Retriever::Keyword, words), (Retriever::Vector, meaning)]);
        // 1 + 0, .5 + .5, 0 + .25
        let scores: HashMap<_, _> = found.into_iter().collect();
        assert!(near(scores[&passage(1)], 1.0) && near(scores[&passage(2)], 1.0), "{scores:?}");
        assert!(near(scores[&passage(3)], 0.25), "{scores:?}");
    }

    #[test]
    fn only_the_most_similar_commits_are_used() {
        let words: RankedList =
            (1..=80_u16).map(|n| (passage(n.into()), f32::from(100 - n))).collect();
        assert_eq!(nearest(&[(Retriever::Keyword, words)]).len(), NEAREST);
        assert!(nearest(&[(Retriever::Keyword, Vec::new())]).is_empty());
    }

    #[test]
    fn similar_commit_outweighs_three_of_half_the_similarity() {
        let commits =
            vec![(passage(1), 1.0), (passage(2), 0.5), (passage(3), 0.5), (passage(4), 0.5)];
        let touched = [
            (passage(1), file(1)),
            (passage(2), file(2)),
            (passage(3), file(2)),
            (passage(4), file(2)),
        ];
        let scores = file_scores(&commits, &touched);
        assert_eq!(scores[0], (file(1), 1.0));
        assert!(scores[1].0 == file(2) && near(scores[1].1, 0.75), "{scores:?}");
    }

    #[test]
    fn score_of_a_file_is_added_to_its_best_passage_only() {
        let text = vec![(passage(1), 10.0), (passage(2), 8.0), (passage(3), 4.0)];
        let fused = fuse(&[(Retriever::Keyword, text)]);
        let passages = [(file(1), passage(3)), (file(1), passage(2)), (file(2), passage(9))];
        let found = with_history(fused, &[(file(1), 1.0), (file(2), 0.5)], &passages);
        let scores: HashMap<_, _> = found.iter().map(|fused| (fused.id, fused.score)).collect();
        assert!(near(scores[&passage(2)], 0.8 + 0.4), "{scores:?}");
        assert!(near(scores[&passage(3)], 0.4), "{scores:?}");
        assert!(near(scores[&passage(9)], 0.2), "found by history alone: {scores:?}");
        assert_eq!(found[0].id, passage(2), "the list is in order again");
        for fused in &found {
            assert!(near(
                fused.retrievers.iter().map(|retriever| retriever.contribution).sum(),
                fused.score
            ));
        }
    }

    #[test]
    fn history_applies_only_to_searches_of_code() {
        let project = PassageFilter::project(ProjectId::generate());
        let code = PassageFilter { sources: vec![SourceKind::Code], ..project.clone() };
        assert!(applies(&code));
        assert!(applies(&PassageFilter { languages: vec!["ruby".into()], ..code.clone() }));
        let code_and_docs =
            PassageFilter { sources: vec![SourceKind::Code, SourceKind::Doc], ..project.clone() };
        assert!(applies(&PassageFilter { tags: vec!["test".into()], ..code.clone() }));
        let scoped = PassageFilter { scope: vec!["cart".into()], ..code };
        assert!([project, code_and_docs, scoped].iter().all(|filter| !applies(filter)));
    }
}
