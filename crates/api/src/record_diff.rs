//! The diff between a record and a proposal to change it.

use std::time::Duration;

use similar::{DiffTag, TextDiff};

/// Most lines of both texts, from the first to the last change, of which the smallest diff is
/// searched. The search takes time in proportion to their square, and a record can have thousands
/// of lines.
const MAX_LINES: usize = 150;

/// Returns the unified diff of two texts.
///
/// If they have more than [`MAX_LINES`] lines from the first to the last change, all of these are
/// shown as replaced.
pub fn unified(before: &str, after: &str) -> String {
    // Without time, only the lines before the first and after the last change are compared.
    let coarse = TextDiff::configure().timeout(Duration::ZERO).diff_lines(before, after);
    let changes = coarse.ops().iter().filter(|part| part.tag() != DiffTag::Equal);
    let lines: usize = changes.map(|part| part.old_range().len() + part.new_range().len()).sum();
    let diff = if lines > MAX_LINES { coarse } else { TextDiff::from_lines(before, after) };
    diff.unified_diff().header("now", "proposed").to_string()
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
