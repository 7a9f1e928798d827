//! The diff between a record and a proposal to change it.

use std::collections::HashMap;
use std::fmt::Write;
use std::time::Instant;

use similar::udiff::UnifiedHunkHeader;
use similar::{Algorithm, DiffableStr, capture_diff_slices_deadline, group_diff_ops};

/// Most lines of both texts, from the first to the last change, of which the smallest diff is
/// searched. The search takes time in proportion to their square, and a record can have thousands
/// of lines.
const MAX_LINES: usize = 80;
/// Unchanged lines around a change.
const CONTEXT: usize = 3;

/// Returns the unified diff of two texts.
///
/// If they have more than [`MAX_LINES`] lines from the first to the last change, all of these are
/// shown as replaced.
pub fn unified(before: &str, after: &str) -> String {
    let (old, new) = (before.tokenize_lines(), after.tokenize_lines());
    // Lines are compared by numbers, however few they are, so that the time grows with the texts.
    let mut numbers = HashMap::with_capacity(old.len() + new.len());
    let mut number = |line| {
        let next = numbers.len();
        *numbers.entry(line).or_insert(next)
    };
    let [old_numbers, new_numbers]: [Vec<usize>; 2] =
        [&old, &new].map(|lines| lines.iter().map(|line| number(*line)).collect());
    let is_coarse = changed_lines(&old_numbers, &new_numbers) > MAX_LINES;
    // Without time, only the lines before the first and after the last change are compared.
    let deadline = is_coarse.then(Instant::now);
    let parts =
        capture_diff_slices_deadline(Algorithm::Myers, &old_numbers, &new_numbers, deadline);
    let mut text = String::new();
    for hunk in group_diff_ops(parts, CONTEXT) {
        if text.is_empty() {
            text.push_str("--- now\n+++ proposed\n");
        }
        let _ = writeln!(text, "{}", UnifiedHunkHeader::new(&hunk));
        for line in hunk.iter().flat_map(|part| part.iter_changes(&old[..], &new[..])) {
            let _ = write!(text, "{}{}", line.tag(), line.value());
            if !line.value().ends_with(['\n', '\r']) {
                text.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
    text
}

/// Returns the number of lines of both texts, from the first to the last change.
fn changed_lines(old: &[usize], new: &[usize]) -> usize {
    let before = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[before..], &new[before..]);
    let after = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    old.len() + new.len() - 2 * after
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns this many lines, of which every other one begins with the mark.
    fn lines(count: usize, mark: &str) -> String {
        (0..count).map(|at| format!("{}{at}\n", if at % 2 == 1 { mark } else { "" })).collect()
    }

    fn removed(diff: &str) -> usize {
        diff.lines().filter(|line| line.starts_with('-')).count() - 1
    }

    #[test]
    fn diff_has_the_changed_lines() {
        assert_eq!(
            unified("a\nb\nc\n", "a\nB\nc\n"),
            "--- now\n+++ proposed\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"
        );
        assert_eq!(unified("a\n", "a\n"), "");
        assert_eq!(
            unified("a", "b\n"),
            "--- now\n+++ proposed\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n"
        );
        let half = MAX_LINES / 2;
        assert_eq!(removed(&unified(&lines(half, ""), &lines(half, "b"))), half / 2);
    }

    #[test]
    fn texts_of_many_lines_are_replaced_from_the_first_change_to_the_last() {
        let (before, after) = (lines(1_000, ""), lines(1_000, "b"));
        let diff = unified(&before, &after);
        assert!(diff.starts_with("--- now\n+++ proposed\n@@ -1,1000 +1,1000 @@\n 0\n-1\n-2\n"));
        assert_eq!(removed(&diff), 999);
        assert_eq!(unified(&before, &before), "");
        let [old, new] = [&before, &after].map(|text| text.replace('\n', "\r"));
        assert_eq!(unified(&old, &new).matches("\r-").count(), 999, "other line breaks");
        let one_change = before.replace("\n500\n", "\nhalf\n");
        assert_eq!(removed(&unified(&before, &one_change)), 1);
    }
}
