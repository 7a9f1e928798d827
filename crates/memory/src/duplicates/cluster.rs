//! Clustering records that say the same.

use std::collections::HashMap;

use mc_store::duplicates::{DuplicateCandidate, Member};

use super::minhash;
use crate::judge::{ParsedNote, compare, mergeable};

/// Most members of a cluster; further ones are found once these are merged.
pub const MEMBERS_MAX: usize = 32;

/// Records that were decided about together, by their content at that time.
#[derive(Debug, Default)]
pub struct Decided(HashMap<Member, Vec<usize>>);

impl Decided {
    /// Indexes decisions, each about several members.
    pub fn new(decisions: Vec<Vec<Member>>) -> Self {
        let mut decided: HashMap<Member, Vec<usize>> = HashMap::new();
        for (at, members) in decisions.into_iter().enumerate() {
            for member in members {
                decided.entry(member).or_default().push(at);
            }
        }
        Self(decided)
    }

    fn includes_pair(&self, a: &DuplicateCandidate, b: &DuplicateCandidate) -> bool {
        let decisions = |note: &DuplicateCandidate| self.0.get(&member(note));
        match (decisions(a), decisions(b)) {
            (Some(a), Some(b)) => a.iter().any(|decision| b.contains(decision)),
            _ => false,
        }
    }
}

/// A record, and others that say the same.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterMatch {
    /// Index of the record that would stay.
    pub keeper: usize,
    /// Indices of the others, each with the share of words in common with the keeper.
    pub others: Vec<(usize, f32)>,
}

/// Clusters records that say the same. The keeper has the highest trust, then the most use, then
/// the greatest age. Each other member equals it by the judge's comparison, so no chain of
/// small differences links unlike records. Takes seconds for many records.
pub fn clusters(notes: &[DuplicateCandidate], decided: &Decided) -> Vec<ClusterMatch> {
    let order = best_first(notes);
    let bands: Vec<_> =
        order.iter().map(|at| minhash::bands(&ParsedNote::read(&notes[*at].content))).collect();
    let pairs = minhash::candidate_pairs(&bands);
    let mut is_taken = vec![false; notes.len()];
    let mut clusters = Vec::new();
    for near in pairs.chunk_by(|a, b| a.0 == b.0) {
        let keeper = order[near[0].0 as usize];
        if is_taken[keeper] {
            continue;
        }
        let near = near.iter().map(|(_, other)| order[*other as usize]);
        let free: Vec<_> = near.filter(|other| !is_taken[*other]).collect();
        let mut others = duplicates_of(&notes[keeper], free, notes, decided);
        others.truncate(MEMBERS_MAX - 1);
        if others.is_empty() {
            continue;
        }
        is_taken[keeper] = true;
        for (other, _) in &others {
            is_taken[*other] = true;
        }
        clusters.push(ClusterMatch { keeper, others });
    }
    clusters
}

/// Returns the indices of the records, preferred keepers first.
fn best_first(notes: &[DuplicateCandidate]) -> Vec<usize> {
    let mut order: Vec<_> = (0..notes.len()).collect();
    let priority = |note: &DuplicateCandidate| (note.trust, note.use_count, note.recall_count);
    order.sort_by(|a, b| {
        let (a, b) = (&notes[*a], &notes[*b]);
        priority(b).cmp(&priority(a)).then(a.id.cmp(&b.id))
    });
    order
}

fn duplicates_of(
    keeper: &DuplicateCandidate,
    candidates: Vec<usize>,
    notes: &[DuplicateCandidate],
    decided: &Decided,
) -> Vec<(usize, f32)> {
    let parsed = ParsedNote::read(&keeper.content);
    let same = |at: usize| {
        let other = &notes[at];
        if !mergeable(keeper.kind, other.kind) || decided.includes_pair(keeper, other) {
            return None;
        }
        let comparison = compare(&parsed, &ParsedNote::read(&other.content));
        comparison.difference.is_none().then_some((at, comparison.jaccard))
    };
    candidates.into_iter().filter_map(same).collect()
}

pub(super) fn member(note: &DuplicateCandidate) -> Member {
    Member { id: note.id, content_hash: note.content_hash.clone() }
}

#[cfg(test)]
mod tests {
    use mc_domain::{RecordId, RecordKind, Trust};

    use super::*;
    use crate::normalize::content_hash;

    const RETRY: &str =
        "The payments worker retries a failed charge 3 times with jitter before it gives up";
    const RETOLD: &str = "Please note: before it gives up, the payments worker \
        retries failed charges three times with jitter";
    const OTHER: &str =
        "Cart sessions expire after the delay that the shop owner sets in the panel";

    fn note(content: &str) -> DuplicateCandidate {
        DuplicateCandidate {
            id: RecordId::generate(),
            kind: RecordKind::Fact,
            content: content.to_owned(),
            content_hash: content_hash(content),
            trust: Trust::Team,
            use_count: 0,
            recall_count: 0,
        }
    }

    fn found(notes: &[DuplicateCandidate]) -> Vec<(usize, Vec<usize>)> {
        let clusters = clusters(notes, &Decided::default()).into_iter();
        clusters
            .map(|one| (one.keeper, one.others.iter().map(|(other, _)| *other).collect()))
            .collect()
    }

    #[test]
    fn keeper_is_chosen_by_trust_then_use_then_age() {
        let (first, second) = (note(RETRY), note(RETOLD));
        let notes = [first.clone(), note(OTHER), second.clone()];
        assert_eq!(found(&notes), [(0, vec![2])]);
        let used = DuplicateCandidate { use_count: 1, ..second.clone() };
        assert_eq!(found(&[first.clone(), used.clone()]), [(1, vec![0])]);
        let confirmed = DuplicateCandidate { trust: Trust::Confirmed, ..first };
        assert_eq!(found(&[confirmed, used]), [(0, vec![1])]);
    }

    #[test]
    fn notes_that_differ_in_an_identifier_or_negation_stay_apart() {
        for (a, b) in [
            (RETRY, RETRY.replace('3', "4")),
            (
                "Decision E0123 about retries of payments",
                "Decision E0124 about retries of payments".into(),
            ),
            ("Retries of payments are enabled", "Retries of payments are not enabled".into()),
            (
                "Use delay_unit for the timers of carts",
                "Use delay_type for the timers of carts".into(),
            ),
            (
                "Orders service calls payments service",
                "Payments service calls orders service".into(),
            ),
        ] {
            assert_eq!(found(&[note(a), note(&b)]), [], "{a} / {b}");
        }
    }

    #[test]
    fn example_is_no_duplicate_of_a_fact() {
        let example = DuplicateCandidate { kind: RecordKind::Fewshot, ..note(RETOLD) };
        assert_eq!(found(&[note(RETRY), example]), []);
        let rule = DuplicateCandidate { kind: RecordKind::Rule, ..note(RETOLD) };
        assert_eq!(found(&[note(RETRY), rule]).len(), 1);
    }

    #[test]
    fn decided_pair_is_not_clustered_until_one_changes() {
        let (a, b) = (note(RETRY), note(RETOLD));
        let decided = Decided::new(vec![vec![member(&a), member(&b)]]);
        assert_eq!(clusters(&[a.clone(), b.clone()], &decided), []);
        let retold = RETOLD.replace("jitter", "some jitter");
        let changed =
            DuplicateCandidate { content_hash: content_hash(&retold), content: retold, ..b };
        assert_eq!(clusters(&[a, changed], &decided).len(), 1);
    }

    #[test]
    fn chain_of_small_differences_is_not_one_cluster() {
        let base = "The nightly export of shops writes totals to the bucket of the finance team";
        let more = format!("{base} before breakfast");
        let most = format!("{more}, then mails a summary");
        let notes = [note(base), note(&more), note(&most)];
        let clusters = found(&notes);
        assert!(clusters.iter().all(|(_, others)| others.len() == 1), "{clusters:?}");
    }
}
