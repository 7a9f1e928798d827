//! The diff of an edit, as a model sees it.

mod compare;

use similar::udiff::UnifiedHunkHeader;
use similar::{ChangeTag, DiffOp, group_diff_ops};

use crate::limits::{MAX_DIFF_BYTES, MAX_QUOTED_BYTES, cut};
use crate::view::View;

pub(super) use compare::compare;

/// Unchanged lines around a change.
const CONTEXT: usize = 3;

/// A diff.
pub(super) struct Diff {
    pub text: String,
    pub added: usize,
    pub removed: usize,
}

/// Returns the diff of two views.
pub(super) fn unified(before: &View<'_>, after: &View<'_>) -> Diff {
    let (old, new) = (lines(before), lines(after));
    let ops = compare(&old, &new);
    let (mut added, mut removed) = (0, 0);
    for op in &ops {
        if !matches!(op, DiffOp::Equal { .. }) {
            removed += op.old_range().len();
            added += op.new_range().len();
        }
    }
    Diff { text: render(ops, &old, &new), added, removed }
}

/// Returns the shown lines, with `\n` at the end of those with a line ending.
fn lines<'v>(view: &'v View<'_>) -> Vec<&'v str> {
    let shown = view.shown();
    let with_ending = |line: &std::ops::Range<usize>| {
        let end = line.end + usize::from(shown[line.end..].starts_with('\n'));
        &shown[line.start..end]
    };
    view.shown_lines().iter().map(with_ending).collect()
}

fn render(ops: Vec<DiffOp>, old: &[&str], new: &[&str]) -> String {
    let mut text = String::new();
    for hunk in group_diff_ops(ops, CONTEXT) {
        text.push_str(&format!("{}\n", UnifiedHunkHeader::new(&hunk)));
        for change in hunk.iter().flat_map(|op| op.iter_changes(old, new)) {
            push_change(&mut text, change.tag(), change.value());
            if text.len() > MAX_DIFF_BYTES {
                text.truncate(cut(&text, MAX_DIFF_BYTES).len());
                text.push_str("\n[the rest of the diff is left out]\n");
                return text;
            }
        }
    }
    text
}

fn push_change(text: &mut String, tag: ChangeTag, line: &str) {
    let content = line.strip_suffix('\n').unwrap_or(line);
    let shown = cut(content, 2 * MAX_QUOTED_BYTES);
    let rest = if shown.len() < content.len() { "…" } else { "" };
    for (at, part) in shown.split('\n').enumerate() {
        // The continuation of a line after a form feed or the like.
        let mark = if at == 0 { tag.to_string() } else { " ".to_owned() };
        text.push_str(&format!("{mark}{part}"));
        text.push_str(if at + 1 < shown.split('\n').count() { "\n" } else { rest });
    }
    text.push('\n');
    if content.len() == line.len() {
        text.push_str("\\ No newline at end of file\n");
    }
}
