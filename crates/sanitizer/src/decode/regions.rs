//! The parts of a text around characters that a decoder changes.

use std::ops::Range;

/// Maximum bytes of a region before its first change and after its last one. Lines are mostly
/// shorter, and end it.
const MAX_CONTEXT: usize = 1024;

/// Maximum distance of changes in one region, in bytes.
const MAX_DISTANCE: usize = 256;

/// Returns the lines around the offsets of `changes`, which ascend: sorted, disjoint, cut at
/// character boundaries. Changes that are close together are in one region.
pub(super) fn regions<'t>(
    text: &'t str,
    changes: impl Iterator<Item = usize> + 't,
) -> impl Iterator<Item = Range<usize>> + 't {
    let mut changes = changes.peekable();
    let mut before = 0;
    std::iter::from_fn(move || {
        let first = changes.next()?;
        let start = start_of(text, first).max(before);
        let mut end = end_of(text, first);
        while let Some(next) = changes.next_if(|next| *next < end + MAX_DISTANCE) {
            // The end of the region may cut what this change belongs to.
            if next + MAX_DISTANCE > end {
                end = end.max(end_of(text, next));
            }
        }
        before = end;
        Some(start..end)
    })
}

fn start_of(text: &str, at: usize) -> usize {
    let near = text.floor_char_boundary(at.saturating_sub(MAX_CONTEXT));
    text[near..at].rfind('\n').map_or(near, |line_break| near + line_break + 1)
}

/// Returns the end of the line from `at` on, if it is near.
pub(super) fn end_of(text: &str, at: usize) -> usize {
    let near = text.ceil_char_boundary((at + MAX_CONTEXT).min(text.len()));
    text[at..near].find('\n').map_or(near, |line_break| at + line_break)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn region_has_the_lines_of_its_changes() {
        let text = format!("one\ntwo % a\nthree\n{}\nfour % b\nfive", "x".repeat(600));
        let changes = text.match_indices('%').map(|(at, _)| at);
        let found: Vec<&str> = regions(&text, changes).map(|region| &text[region]).collect();
        assert_eq!(found, ["two % a", "four % b"]);
    }

    #[test]
    fn regions_of_a_long_line_are_disjoint() {
        let text = "ж% ".repeat(3000) + &"ж".repeat(3000) + "%";
        let changes = text.match_indices('%').map(|(at, _)| at);
        let found: Vec<Range<usize>> = regions(&text, changes).collect();
        assert_eq!(found.len(), 2);
        assert!(found[0].end >= 12_000 && found[0].end <= found[1].start, "{found:?}");
        assert_eq!(found[1].end, text.len());
    }
}
