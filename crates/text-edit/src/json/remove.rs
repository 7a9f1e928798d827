//! Removal of members and elements.

use std::ops::Range;

use crate::edit::{Edited, Splice};
use crate::error::EditError;
use crate::json::add::{comma_after, has_comment};
use crate::json::document::{Document, Node};
use crate::json::format::begins_line;
use crate::json::{Matches, apply_json, targets};
use crate::view::View;

/// Removes the members or elements at a path, with their commas. Comments stay. The edited file has
/// at most `max_bytes`.
pub fn remove(
    view: &View<'_>,
    path: &str,
    matches: Matches,
    max_bytes: usize,
) -> Result<Edited, EditError> {
    let document = Document::parse(view)?;
    let targets = targets(&document, path, matches)?;
    let text = view.file().text();
    let mut containers: Vec<(&Node, Vec<usize>)> = Vec::new();
    for target in &targets {
        let (parent, at) = target.parent.ok_or(EditError::Root)?;
        match containers.iter_mut().find(|(node, _)| node.span == parent.span) {
            Some((_, removed)) => removed.push(at),
            None => containers.push((parent, vec![at])),
        }
    }
    let ranges = containers.iter().flat_map(|(node, removed)| ranges(text, node, removed));
    let ranges = joined(ranges.collect());
    let splices: Vec<Splice> =
        ranges.into_iter().map(|text| Splice { text, new: String::new() }).collect();
    apply_json(view, &splices, max_bytes)
}

/// Returns the bytes to remove from an array or object, for the items at these positions.
fn ranges(text: &str, container: &Node, removed: &[usize]) -> Vec<Range<usize>> {
    let items = container.items();
    let inside = container.span.start + 1..container.span.end - 1;
    let is_removed = |at: &usize| removed.contains(at);
    let last_kept = (0..items.len()).rev().find(|at| !is_removed(at));
    // The items after the last one that stays, with what is between them.
    let first_of_tail = last_kept.map_or(0, |at| at + 1);
    let tail = match (last_kept, items.last()) {
        _ if first_of_tail == items.len() => None,
        (Some(kept), Some(last)) => Some(items[kept].end..last.end),
        _ => Some(inside.clone()),
    };
    let tail = tail.filter(|_| {
        let gaps = gaps(&inside, &items).into_iter();
        let gaps = gaps.skip(first_of_tail);
        let count = items.len() - first_of_tail + usize::from(last_kept.is_none());
        !gaps.take(count).any(|gap| has_comment(&text[gap]))
    });
    let single_end = if tail.is_some() { first_of_tail } else { items.len() };
    let single = (0..single_end).filter(is_removed);
    let mut ranges = Vec::new();
    for at in single {
        let (item, comma) = single_item(text, &items[at], inside.end);
        ranges.push(item);
        ranges.extend(comma);
    }
    // Without a trailing comma before, there is none afterwards.
    let has_trailing = items.last().and_then(|last| comma_after(text, last.end, inside.end));
    if let (None, Some(kept), None) = (&tail, last_kept, has_trailing) {
        let comma = comma_after(text, items[kept].end, inside.end);
        ranges.extend(comma.map(|comma| comma..comma + 1));
    }
    ranges.extend(tail);
    ranges
}

/// Returns the bytes before each item, and those after the last one.
fn gaps(inside: &Range<usize>, items: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut start = inside.start;
    let mut gaps = Vec::with_capacity(items.len() + 1);
    for item in items {
        gaps.push(start..item.start);
        start = item.end;
    }
    gaps.push(start..inside.end);
    gaps
}

/// Returns the bytes of an item with its comma: whole lines, if nothing else is on them. If a
/// comment is between them, it stays, and the comma is apart.
fn single_item(
    text: &str,
    item: &Range<usize>,
    end: usize,
) -> (Range<usize>, Option<Range<usize>>) {
    let mut after = item.end;
    if let Some(comma) = comma_after(text, item.end, end) {
        if has_comment(&text[item.end..comma]) {
            return (item.clone(), Some(comma..comma + 1));
        }
        after = comma + 1;
    }
    after += spaces(&text[after..end]);
    if !begins_line(text, item.start) {
        return (item.start..after, None);
    }
    let line_start = text[..item.start].trim_end_matches([' ', '\t']).len();
    let range = match &text.as_bytes()[after..end] {
        [b'\r', b'\n', ..] => line_start..after + 2,
        [b'\r' | b'\n', ..] => line_start..after + 1,
        _ => item.start..after,
    };
    (range, None)
}

fn spaces(text: &str) -> usize {
    text.len() - text.trim_start_matches([' ', '\t']).len()
}

/// Returns the ranges in order, with those joined that touch.
fn joined(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut().filter(|last| range.start <= last.end) {
            Some(last) => last.end = last.end.max(range.end),
            None => joined.push(range),
        }
    }
    joined
}
