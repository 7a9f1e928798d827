//! Commit history as a retriever of files: what similar past changes touched is likely to be
//! touched again.
//!
//! The commits nearest to the query are found like passages, by words and by meaning, and each file
//! gets the sum of their squared nearness. The constants are those of the measurement in
//! docs/retrieval.md.

use std::collections::HashMap;

use mc_domain::{FileId, PassageId, ProjectId, SourceKind};
use mc_store::passages::PassageFilter;
use mc_store::{Store, history};

use crate::Error;
use crate::rank::LegRank;
use crate::rank::fusion::{Fused, fuse, leg_weight, sort};
use crate::retrievers::{RankedList, Retriever};

/// Commits that count.
pub const NEAREST: usize = 50;

/// The filter that finds the commits of a project.
pub fn changes_of(project: ProjectId) -> PassageFilter {
    PassageFilter { sources: vec![SourceKind::Change], ..PassageFilter::project(project) }
}

/// Whether history has a say: in a search over code and nothing else, by what a file can have.
pub fn applies(filter: &PassageFilter) -> bool {
    let asks_for_notes =
        !(filter.record_kinds.is_empty() && filter.scope.is_empty() && filter.tags.is_empty());
    filter.sources == [SourceKind::Code] && !asks_for_notes
}

/// Adds what history gives to the fused list of a search over code. The best passage of each file
/// gets its file's score, at most the retriever's weight times the best score so far; a file that
/// nothing else found gets in by its first passage that defines something. At most `limit` files
/// are looked at, best first.
pub async fn add_to(
    fused: Vec<Fused>,
    store: &Store,
    filter: &PassageFilter,
    commits: &[(Retriever, RankedList)],
    limit: usize,
) -> Result<Vec<Fused>, Error> {
    let near = nearest(commits);
    if near.is_empty() {
        return Ok(fused);
    }
    let passages: Vec<PassageId> = near.iter().map(|(id, _)| *id).collect();
    let touched = history::touched(store, filter.project, &passages).await?;
    let mut files = file_scores(&near, &touched);
    files.truncate(limit);
    let ids: Vec<FileId> = files.iter().map(|(file, _)| *file).collect();
    let found: Vec<PassageId> = fused.iter().map(|fused| fused.id).collect();
    let passages = history::representatives(store, filter, &ids, &found).await?;
    Ok(with_history(fused, &files, &passages))
}

/// The nearest commits, best first, the best of them 1.
fn nearest(commits: &[(Retriever, RankedList)]) -> RankedList {
    let fused = fuse(commits);
    let best = fused.first().map_or(0.0, |fused| fused.score);
    if best <= 0.0 {
        return RankedList::new();
    }
    fused.into_iter().take(NEAREST).map(|fused| (fused.id, fused.score / best)).collect()
}

/// What the commits say of each file that they touched, best first, the best of them 1. Squared, so
/// that many distant commits do not outweigh a near one.
fn file_scores(near: &RankedList, touched: &[(PassageId, FileId)]) -> Vec<(FileId, f32)> {
    let nearness: HashMap<PassageId, f32> = near.iter().copied().collect();
    let mut scores: HashMap<FileId, f32> = HashMap::new();
    for (commit, file) in touched {
        let near = nearness.get(commit).copied().unwrap_or_default();
        *scores.entry(*file).or_default() += near * near;
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

/// Gives each file's score to the best of its passages.
fn with_history(
    mut fused: Vec<Fused>,
    files: &[(FileId, f32)],
    passages: &[(FileId, PassageId)],
) -> Vec<Fused> {
    // Where no word and no vector found anything, the scale is that of a best hit of the words.
    let best = fused.first().map_or(1.0, |fused| fused.score);
    let mut position: HashMap<PassageId, usize> =
        fused.iter().enumerate().map(|(at, fused)| (fused.id, at)).collect();
    let mut of_file: HashMap<FileId, PassageId> = HashMap::new();
    for (file, passage) in passages {
        let rank = |id: &PassageId| position.get(id).copied().unwrap_or(usize::MAX);
        let best = of_file.entry(*file).or_insert(*passage);
        if rank(passage) < rank(best) {
            *best = *passage;
        }
    }
    for (index, (file, score)) in files.iter().enumerate() {
        let Some(id) = of_file.get(file).copied() else { continue };
        let at = *position.entry(id).or_insert_with(|| {
            fused.push(Fused { id, retrievers: Vec::new(), score: 0.0 });
            fused.len() - 1
        });
        let share = leg_weight(Retriever::History) * score * best;
        let rank = LegRank {
            retriever: Retriever::History,
            rank: index + 1,
            score: *score,
            contribution: share,
        };
        fused[at].retrievers.push(rank);
        fused[at].score += share;
    }
    sort(&mut fused);
    fused
}

#[cfg(test)]
mod tests {
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
    fn commit_words_count_twice_as_much_as_vectors() {
        let words = vec![(passage(1), 10.0), (passage(2), 5.0)];
        let meaning = vec![(passage(2), 0.9), (passage(3), 0.5), (passage(1), 0.1)];
        let found = nearest(&[(Retriever::Keyword, words), (Retriever::Vector, meaning)]);
        // 1 + 0, .5 + .5, 0 + .25
        let scores: HashMap<_, _> = found.into_iter().collect();
        assert!(near(scores[&passage(1)], 1.0) && near(scores[&passage(2)], 1.0), "{scores:?}");
        assert!(near(scores[&passage(3)], 0.25), "{scores:?}");
    }

    #[test]
    fn only_the_nearest_commits_count() {
        let words: RankedList =
            (1..=80_u16).map(|n| (passage(n.into()), f32::from(100 - n))).collect();
        assert_eq!(nearest(&[(Retriever::Keyword, words)]).len(), NEAREST);
        assert!(nearest(&[(Retriever::Keyword, Vec::new())]).is_empty());
    }

    #[test]
    fn one_near_commit_outweighs_three_at_half_the_distance() {
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
    fn a_file_lifts_its_best_passage_and_no_other() {
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
    fn history_speaks_in_searches_over_code_alone() {
        let all = PassageFilter::project(ProjectId::generate());
        let code = PassageFilter { sources: vec![SourceKind::Code], ..all.clone() };
        assert!(applies(&code));
        assert!(applies(&PassageFilter { languages: vec!["ruby".into()], ..code.clone() }));
        let both =
            PassageFilter { sources: vec![SourceKind::Code, SourceKind::Doc], ..all.clone() };
        let tagged = PassageFilter { tags: vec!["cart".into()], ..code };
        assert!([all, both, tagged].iter().all(|filter| !applies(filter)));
    }
}
