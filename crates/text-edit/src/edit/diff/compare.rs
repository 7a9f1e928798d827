//! Comparison of two lists of lines or words.

use std::collections::HashMap;

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Most lines of which the smallest diff is searched, since the time grows with their square.
const MAX_SEARCHED: usize = 400;

/// Equal parts of two lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    old: usize,
    new: usize,
    len: usize,
}

/// Returns the differences of two lists, in order.
///
/// Long lists are divided at lines that both have once. Between these, more than [`MAX_SEARCHED`]
/// lines count as replaced. So the time grows with the lists.
pub(crate) fn compare(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    // Numbers are compared, however long the lines are.
    let mut numbers = HashMap::with_capacity(old.len() + new.len());
    let mut number = |line| {
        let next = numbers.len();
        *numbers.entry(line).or_insert(next)
    };
    let old: Vec<usize> = old.iter().map(|line| number(*line)).collect();
    let new: Vec<usize> = new.iter().map(|line| number(*line)).collect();
    let mut runs = Vec::new();
    let (mut old_at, mut new_at) = (0, 0);
    for (old_end, new_end) in anchors(&old, &new) {
        push_runs(&old[old_at..old_end], &new[new_at..new_end], (old_at, new_at), &mut runs);
        runs.push(Run { old: old_end, new: new_end, len: 1 });
        (old_at, new_at) = (old_end + 1, new_end + 1);
    }
    push_runs(&old[old_at..], &new[new_at..], (old_at, new_at), &mut runs);
    runs.push(Run { old: old.len(), new: new.len(), len: 0 });
    with_changes(&runs)
}

/// Returns the positions of lines that both lists have exactly once and in the same order; none if
/// the lists are short.
fn anchors(old: &[usize], new: &[usize]) -> Vec<(usize, usize)> {
    if old.len() + new.len() <= MAX_SEARCHED {
        return Vec::new();
    }
    let positions = |lines: &[usize]| {
        let mut positions: HashMap<usize, Option<usize>> = HashMap::new();
        for (at, line) in lines.iter().enumerate() {
            positions.entry(*line).and_modify(|known| *known = None).or_insert(Some(at));
        }
        positions
    };
    let (in_old, in_new) = (positions(old), positions(new));
    let common = old.iter().filter_map(|line| {
        let once = |positions: &HashMap<usize, Option<usize>>| *positions.get(line)?;
        Some((once(&in_old)?, once(&in_new)?))
    });
    longest_increasing(&common.collect::<Vec<_>>())
}

/// Returns the longest part of the pairs in which the second numbers increase.
fn longest_increasing(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // The pair that ends the best sequence of each length, and the pair before each pair.
    let mut ends: Vec<usize> = Vec::new();
    let mut before = vec![None; pairs.len()];
    for (at, (_, second)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| pairs[*end].1 < *second);
        before[at] = length.checked_sub(1).map(|last| ends[last]);
        if length == ends.len() {
            ends.push(at);
        } else {
            ends[length] = at;
        }
    }
    let mut found = Vec::with_capacity(ends.len());
    let mut next = ends.last().copied();
    while let Some(at) = next {
        found.push(pairs[at]);
        next = before[at];
    }
    found.reverse();
    found
}

/// Appends the equal runs of a part of the lists that begins at `start`.
fn push_runs(old: &[usize], new: &[usize], start: (usize, usize), runs: &mut Vec<Run>) {
    let run = |old: usize, new: usize, len| Run { old: start.0 + old, new: start.1 + new, len };
    let prefix = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    runs.push(run(0, 0, prefix));
    let (old_rest, new_rest) = (&old[prefix..], &new[prefix..]);
    let pairs = old_rest.iter().rev().zip(new_rest.iter().rev());
    let suffix = pairs.take_while(|(old, new)| old == new).count();
    let old_rest = &old_rest[..old_rest.len() - suffix];
    let new_rest = &new_rest[..new_rest.len() - suffix];
    if old_rest.len() + new_rest.len() <= MAX_SEARCHED {
        for op in capture_diff_slices(Algorithm::Myers, old_rest, new_rest) {
            if let DiffOp::Equal { old_index, new_index, len } = op {
                runs.push(run(prefix + old_index, prefix + new_index, len));
            }
        }
    }
    runs.push(run(old.len() - suffix, new.len() - suffix, suffix));
}

/// Returns equal runs, joined where they touch, with the changes between them. Those of the library
/// may have positions that are out of order.
fn with_changes(runs: &[Run]) -> Vec<DiffOp> {
    let mut ops: Vec<DiffOp> = Vec::with_capacity(2 * runs.len());
    let (mut old_index, mut new_index) = (0, 0);
    for run in runs {
        let (old_len, new_len) = (run.old - old_index, run.new - new_index);
        ops.extend(match (old_len, new_len) {
            (0, 0) => None,
            (_, 0) => Some(DiffOp::Delete { old_index, old_len, new_index }),
            (0, _) => Some(DiffOp::Insert { old_index, new_index, new_len }),
            _ => Some(DiffOp::Replace { old_index, old_len, new_index, new_len }),
        });
        (old_index, new_index) = (run.old + run.len, run.new + run.len);
        match ops.last_mut() {
            _ if run.len == 0 => {}
            Some(DiffOp::Equal { len, .. }) => *len += run.len,
            _ => ops.push(DiffOp::Equal { old_index: run.old, new_index: run.new, len: run.len }),
        }
    }
    ops
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the changed lines of both lists, and checks that the differences are complete.
    fn changes(old: &[&str], new: &[&str]) -> (usize, usize) {
        let (mut old_at, mut new_at, mut changes) = (0, 0, (0, 0));
        for op in compare(old, new) {
            let (old_range, new_range) = (op.old_range(), op.new_range());
            assert_eq!((old_range.start, new_range.start), (old_at, new_at), "{op:?}");
            (old_at, new_at) = (old_range.end, new_range.end);
            if let DiffOp::Equal { .. } = op {
                assert_eq!(old[old_range], new[new_range]);
            } else {
                changes = (changes.0 + old_range.len(), changes.1 + new_range.len());
            }
        }
        assert_eq!((old_at, new_at), (old.len(), new.len()));
        changes
    }

    #[test]
    fn short_lists_have_the_smallest_diff() {
        assert_eq!(changes(&["a", "b", "c"], &["a", "x", "c"]), (1, 1));
        assert_eq!(changes(&["a", "b", "a", "b"], &["b", "a"]), (2, 0));
        assert_eq!(changes(&[], &["a"]), (0, 1));
        assert_eq!(changes(&["a"], &[]), (1, 0));
        assert_eq!(changes(&[], &[]), (0, 0));
        assert_eq!(changes(&["a"], &["a"]), (0, 0));
    }

    #[test]
    fn long_lists_keep_lines_that_are_unique() {
        let lines: Vec<String> = (0..5_000).map(|line| line.to_string()).collect();
        let old: Vec<&str> = lines.iter().map(String::as_str).collect();
        let mut new = old.clone();
        new[1] = "x";
        new[4_000] = "y";
        new.insert(2_000, "z");
        assert_eq!(changes(&old, &new), (2, 3));
        let reversed: Vec<&str> = old.iter().rev().copied().collect();
        assert_eq!(changes(&old, &reversed), (4_999, 4_999), "one line stays");
        let (old, new) = (vec!["a"; 1_000], [vec!["b"], vec!["a"; 1_000], vec!["c"]].concat());
        assert_eq!(changes(&old, &new), (1_000, 1_002), "no line is unique");
    }
}
