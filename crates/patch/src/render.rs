//! A clean unified diff of an applied patch.

use crate::apply::{Applied, Replacement};
use crate::lines::{ending, split};
use crate::path::quoted;
use crate::types::{FilePatch, Operation};

/// Unchanged lines around a change.
const CONTEXT: usize = 3;
/// Says that the line before has no LF.
const NO_NEWLINE: &[u8] = b"\n\\ No newline at end of file\n";

/// Returns the change of a file as `git diff` writes it, without the object names. `before` is the
/// content of [`FilePatch::old_path`].
pub fn render(file: &FilePatch, before: Option<&[u8]>, applied: &Applied) -> Vec<u8> {
    let lines = split(before.unwrap_or_default());
    let mut diff = header(file, !applied.replacements.is_empty()).into_bytes();
    // New lines minus old lines before the group.
    let mut drift = 0_isize;
    for group in groups(&applied.replacements) {
        let (hunk, change) = hunk(&lines, group, drift);
        diff.extend(hunk);
        drift += change;
    }
    diff
}

fn header(file: &FilePatch, has_hunks: bool) -> String {
    let old = file.source.as_deref().unwrap_or(&file.path);
    let (a, b) = (quoted("a/", old), quoted("b/", &file.path));
    let mut header = format!("diff --git {a} {b}\n");
    let mode = if file.is_executable { "100755" } else { "100644" };
    match file.operation {
        Operation::Modify => {}
        Operation::Create => header.push_str(&format!("new file mode {mode}\n")),
        Operation::Delete => header.push_str("deleted file mode 100644\n"),
        Operation::Rename | Operation::Copy => {
            let verb = if file.operation == Operation::Copy { "copy" } else { "rename" };
            let (from, to) = (quoted("", old), quoted("", &file.path));
            header.push_str(&format!("{verb} from {from}\n{verb} to {to}\n"));
        }
    }
    if has_hunks {
        let of = |is_missing: bool, path: String| {
            // As git does: a tab separates a path with spaces from what might follow.
            let end = if path.contains(' ') { "\t" } else { "" };
            if is_missing { "/dev/null".to_owned() } else { path + end }
        };
        let old = of(file.operation == Operation::Create, a);
        let new = of(file.operation == Operation::Delete, b);
        header.push_str(&format!("--- {old}\n+++ {new}\n"));
    }
    header
}

/// Returns the changes whose unchanged lines touch each other.
fn groups(replacements: &[Replacement]) -> impl Iterator<Item = &[Replacement]> {
    replacements.chunk_by(|a, b| b.range.start - a.range.end <= 2 * CONTEXT)
}

/// Returns a hunk, and the number of lines by which the file grows.
fn hunk(lines: &[&[u8]], group: &[Replacement], drift: isize) -> (Vec<u8>, isize) {
    let (Some(first), Some(last)) = (group.first(), group.last()) else {
        return (Vec::new(), 0);
    };
    let start = first.range.start.saturating_sub(CONTEXT);
    let end = (last.range.end + CONTEXT).min(lines.len());
    let mut body = Vec::new();
    let mut next = start;
    let (mut removed, mut added) = (0, 0);
    for change in group {
        let (unchanged, old) = (&lines[next..change.range.start], &lines[change.range.clone()]);
        push(&mut body, b' ', unchanged);
        push(&mut body, b'-', old);
        push(&mut body, b'+', &change.lines);
        (removed, added) = (removed + old.len(), added + change.lines.len());
        next = change.range.end;
    }
    push(&mut body, b' ', &lines[next..end]);
    let old_count = end - start;
    let new_count = old_count - removed + added;
    let new_start = start.saturating_add_signed(drift);
    let head = format!("@@ -{} +{} @@\n", range(start, old_count), range(new_start, new_count));
    let change = added.cast_signed() - removed.cast_signed();
    ([head.into_bytes(), body].concat(), change)
}

/// Returns the range of a hunk's header. Without lines, it names the line before.
fn range(start: usize, count: usize) -> String {
    match count {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        _ => format!("{},{count}", start + 1),
    }
}

fn push(body: &mut Vec<u8>, sign: u8, lines: &[impl AsRef<[u8]>]) {
    for line in lines.iter().map(AsRef::as_ref) {
        body.push(sign);
        body.extend(line);
        if !ending(line).ends_with(b"\n") {
            body.extend(NO_NEWLINE);
        }
    }
}
