//! Checks that an edit changes no masked text, and writes no shown form of other text.

use std::ops::Range;

use mc_prompt_guard::{neutralize, original_bracket};

use crate::edit::Splice;
use crate::error::EditError;
use crate::mapped_text::Kind;
use crate::view::View;
use crate::view::mask::{MAX_PLACEHOLDER_BYTES, Mask, PLACEHOLDER};
use crate::view::neutral::REPLACEMENT;

/// Returns the error of an edit that would change a mask.
pub(super) fn masked(view: &View<'_>, mask: &Mask) -> EditError {
    EditError::Masked {
        line: view.line_number(mask.text.start),
        class: mask.class.as_str(),
        category: mask.category,
    }
}

/// Checks the replaced text.
pub(super) fn before(view: &View<'_>, splices: &[Splice]) -> Result<(), EditError> {
    if let Some(mask) = splices.iter().find_map(|splice| view.mask_in(&splice.text)) {
        return Err(masked(view, mask));
    }
    if let Some(at) = splices.iter().find_map(|splice| hidden_end(view, splice)) {
        return Err(EditError::HiddenPosition { line: view.line_number(at) });
    }
    let writes_replacement = splices.iter().any(|splice| splice.new.contains(REPLACEMENT));
    if writes_replacement && shows_replacement(view) {
        return Err(EditError::ShownForm { form: REPLACEMENT });
    }
    Ok(())
}

/// Checks the new text, which is at `ranges` of the edited text.
pub(super) fn after(view: &View<'_>, ranges: &[Range<usize>]) -> Result<(), EditError> {
    for range in ranges {
        check_placeholders(view, range)?;
    }
    check_brackets(view, ranges)
}

/// Returns the end of a splice that is inside of characters which are shown as one, such as a
/// terminal sequence with a line break in it. The new text would not be shown there.
fn hidden_end(view: &View<'_>, splice: &Splice) -> Option<usize> {
    let segments = &view.mapped().segments;
    [splice.text.start, splice.text.end].into_iter().find(|at| {
        let next = segments.partition_point(|segment| segment.text.end <= *at);
        segments
            .get(next)
            .is_some_and(|segment| segment.kind != Kind::Verbatim && segment.text.start < *at)
    })
}

/// Whether an invisible character is shown as the replacement character.
fn shows_replacement(view: &View<'_>) -> bool {
    let mapped = view.mapped();
    mapped.segments.iter().any(|segment| {
        segment.kind != Kind::Verbatim && mapped.shown[segment.shown.clone()].contains(REPLACEMENT)
    })
}

/// Fails if the new text is a part of a placeholder, or joins the parts of one.
fn check_placeholders(view: &View<'_>, range: &Range<usize>) -> Result<(), EditError> {
    let text = view.file().text();
    let start = text.floor_char_boundary(range.start.saturating_sub(MAX_PLACEHOLDER_BYTES));
    let end = text.ceil_char_boundary((range.end + MAX_PLACEHOLDER_BYTES).min(text.len()));
    for found in PLACEHOLDER.find_iter(&text[start..end]) {
        let (from, to) = (start + found.start(), start + found.end());
        let is_touched = from < range.end && range.start < to;
        let is_joined = range.is_empty() && from < range.start && range.start < to;
        if is_touched || is_joined {
            return Err(EditError::Placeholder { placeholder: found.as_str().to_owned() });
        }
    }
    Ok(())
}

/// Fails if the new text has a bracket that is the shown form of another one, which belongs to a
/// special token.
fn check_brackets(view: &View<'_>, ranges: &[Range<usize>]) -> Result<(), EditError> {
    let (text, mapped) = (view.file().text(), view.mapped());
    let is_shown_form = |c| original_bracket(c).is_some();
    let has_bracket = |range: &&Range<usize>| text[(*range).clone()].contains(is_shown_form);
    let Some(first) = ranges.iter().find(has_bracket) else { return Ok(()) };
    let last = ranges.iter().rfind(has_bracket).unwrap_or(first);
    let (first, last) = (view.file().line_at(first.start), view.file().line_at(last.end));
    let lines = view.shown_lines();
    let start = lines[first].start;
    let shown = &mapped.shown[start..lines[last].end];
    let restored: String = shown.chars().map(|c| original_bracket(c).unwrap_or(c)).collect();
    let neutral = neutralize(&restored);
    let changes = shown.char_indices().zip(restored.chars()).zip(neutral.chars());
    for (((at, shown), restored), neutral) in changes {
        if shown == restored || neutral != shown {
            continue;
        }
        let at = start + at;
        let origin = mapped.text_range(&(at..at + shown.len_utf8()), false).start;
        let next = ranges.partition_point(|range| range.end <= origin);
        let is_new = ranges.get(next).is_some_and(|range| range.contains(&origin));
        if is_new && text[origin..].starts_with(shown) {
            return Err(EditError::ShownForm { form: shown });
        }
    }
    Ok(())
}
