//! The parts of a replacement that change the file.

use std::ops::Range;

use similar::DiffOp;

use crate::edit::{Splice, check, diff};
use crate::error::EditError;
use crate::line::LineEnding;
use crate::mapped_text::{Kind, MappedText};
use crate::view::View;

/// A range of the shown text and what replaces it.
type Change<'n> = (Range<usize>, &'n str);

/// Returns the splices that replace a range of the shown text by `new`, in which `\n` is the only
/// line ending.
///
/// What the old and the new text share at their start and end, and equal lines between, keep their
/// bytes. So do equal words of lines that are shown with other characters. `new` may therefore
/// repeat the shown form of other characters. Masked text may only be at the start or the end: in
/// the middle, equal placeholders would not show which of them belongs to which line.
pub(super) fn splices(
    view: &View<'_>,
    mapped: &MappedText,
    shown: Range<usize>,
    new: &str,
    ending: LineEnding,
) -> Result<Vec<Splice>, EditError> {
    let (core, core_new) = trimmed(&mapped.shown, shown.clone(), new);
    let core_text = mapped.text_range(&core, core.start > shown.start);
    let mask = view.mask_in(&core_text).or_else(|| {
        let is_masked = !core.is_empty() && mapped.kind(&core) == Kind::Masked;
        is_masked.then(|| view.masks().iter().find(|mask| mask.text.end > core_text.start))?
    });
    if let Some(mask) = mask {
        return Err(check::masked(view, mask));
    }
    let is_after = |change: &Range<usize>| change.start > shown.start;
    // Changes that touch are joined, so that line endings at their ends stay apart.
    let mut joined: Vec<(Range<usize>, String)> = Vec::new();
    for (range, new) in changes(mapped, core, core_new) {
        let text = mapped.text_range(&range, is_after(&range));
        match joined.last_mut().filter(|(last, _)| last.end == text.start) {
            Some((last, before)) => {
                last.end = text.end;
                before.push_str(new);
            }
            None => joined.push((text, new.to_owned())),
        }
    }
    let text = view.file().text();
    Ok(joined.into_iter().map(|(range, new)| splice(text, range, &new, ending)).collect())
}

/// Returns the line ending of new lines in place of a range of the text: its own, or else the most
/// frequent one of the file.
pub(super) fn ending_at(view: &View<'_>, text: Range<usize>) -> LineEnding {
    let own = LineEnding::first_in(&view.file().text()[text]);
    own.unwrap_or_else(|| view.file().main_line_ending())
}

/// Returns the splice that replaces a range of the text by `new`, with the line ending. The line
/// endings at its ends stay apart from those around it.
pub(super) fn splice(text: &str, range: Range<usize>, new: &str, ending: LineEnding) -> Splice {
    let mut new = new.replace('\n', ending.as_str());
    let (before, after) = (&text[..range.start], &text[range.end..]);
    let follows_cr = before.ends_with('\r');
    if new.is_empty() {
        let joins = follows_cr && after.starts_with('\n') && !range.is_empty();
        new.push_str(if joins { "\n" } else { "" });
    } else if follows_cr && new.starts_with('\n') {
        new.insert(0, '\r');
    }
    if new.ends_with('\r') && after.starts_with('\n') {
        new.push('\n');
    }
    Splice { text: range, new }
}

/// Returns the range and the new text without what they share at their start and end.
fn trimmed<'n>(shown: &str, range: Range<usize>, new: &'n str) -> Change<'n> {
    let old = &shown[range.clone()];
    let pairs = old.chars().zip(new.chars());
    let prefix: usize = pairs.take_while(|(old, new)| old == new).map(|(c, _)| c.len_utf8()).sum();
    let pairs = old[prefix..].chars().rev().zip(new[prefix..].chars().rev());
    let suffix: usize = pairs.take_while(|(old, new)| old == new).map(|(c, _)| c.len_utf8()).sum();
    (range.start + prefix..range.end - suffix, &new[prefix..new.len() - suffix])
}

/// Returns the changes between a range of the shown text and `new`: by lines, and by words where
/// the file has other characters than are shown.
fn changes<'n>(mapped: &MappedText, range: Range<usize>, new: &'n str) -> Vec<Change<'n>> {
    let shown = mapped.shown.as_str();
    let has_lines = shown[range.clone()].contains('\n') && new.contains('\n');
    let lines = if has_lines {
        compared(shown, range, new, |text| text.split_inclusive('\n').collect())
    } else {
        vec![(range, new)]
    };
    let by_words = lines.into_iter().flat_map(|(range, new)| {
        if mapped.kind(&range) == Kind::Verbatim || new.is_empty() {
            vec![(range, new)]
        } else {
            compared(shown, range, new, words)
        }
    });
    by_words.filter(|(old, new)| !old.is_empty() || !new.is_empty()).collect()
}

/// Returns the changes between the parts of a range of the shown text and those of `new`.
fn compared<'n>(
    shown: &str,
    range: Range<usize>,
    new: &'n str,
    split: impl for<'t> Fn(&'t str) -> Vec<&'t str>,
) -> Vec<Change<'n>> {
    let (old_parts, new_parts) = (split(&shown[range.clone()]), split(new));
    let (old_starts, new_starts) = (starts(&old_parts), starts(&new_parts));
    let change = |old: Range<usize>, parts: Range<usize>| {
        let old = range.start + old_starts[old.start]..range.start + old_starts[old.end];
        trimmed(shown, old, &new[new_starts[parts.start]..new_starts[parts.end]])
    };
    let mut changes = Vec::new();
    for op in diff::compare(&old_parts, &new_parts) {
        let (old, new) = (op.old_range(), op.new_range());
        match op {
            DiffOp::Equal { .. } => {}
            _ if old.len() == new.len() => {
                changes.extend(old.zip(new).map(|(old, new)| change(old..old + 1, new..new + 1)));
            }
            _ => changes.push(change(old, new)),
        }
    }
    changes
}

/// Returns the words of a text, and each other character.
fn words(text: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let end = if is_word(c) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else {
            c.len_utf8()
        };
        let (word, after) = rest.split_at(end);
        words.push(word);
        rest = after;
    }
    words
}

/// Returns the start of each part, and the end of the last one.
fn starts(parts: &[&str]) -> Vec<usize> {
    let mut starts = vec![0];
    let mut at = 0;
    for part in parts {
        at += part.len();
        starts.push(at);
    }
    starts
}
