//! Packing of lines into chunks that are as large as allowed and end where a cut costs least.

use std::ops::Range;

use super::boundaries::{ATTACHED, WITHIN_DEFINITION};
use crate::text::Lines;

/// Size limits of a chunk.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Maximum bytes of text, including line ends between lines.
    pub bytes: usize,
    /// Maximum number of lines.
    pub lines: usize,
    /// Maximum number of lines of the previous chunk to repeat when a definition is cut.
    pub overlap: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 2048, lines: 150, overlap: 3 }
    }
}

/// Lines of a chunk, 0-based.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    /// First line, including the overlap.
    pub start: usize,
    /// One past the last line.
    pub end: usize,
    /// Lines at the top that repeat the end of the previous chunk.
    pub overlap: usize,
    /// Bytes within the line, if the chunk is a part of one long line.
    pub part: Option<Range<usize>>,
}

/// Splits the lines into chunks. `costs[i]` is the cost of a cut before line `i`.
///
/// A line that is longer than a chunk may be is split into separate chunks without overlap.
pub(crate) fn pack(lines: &Lines<'_>, costs: &[u32], limits: Limits) -> Vec<Span> {
    let mut spans = Vec::new();
    let (mut start, mut overlap) = (0, 0);
    while start < lines.count() {
        if lines.get(start).len() > limits.bytes {
            spans.extend(parts(lines.get(start), limits.bytes).map(|part| Span {
                start,
                end: start + 1,
                overlap: 0,
                part: Some(part),
            }));
            (start, overlap) = (start + 1, 0);
            continue;
        }
        if lines.span_len(start - overlap, start + 1) > limits.bytes {
            overlap = 0;
        }
        let from = start - overlap;
        let furthest = furthest(lines, from, start, limits);
        let is_last = furthest == lines.count() || lines.get(furthest).len() > limits.bytes;
        let end =
            if is_last { furthest } else { cheapest(lines, costs, from, start, furthest, limits) };
        spans.push(Span { start: from, end, overlap, part: None });
        let cuts_a_unit = end < lines.count() && costs[end] >= WITHIN_DEFINITION;
        overlap = if cuts_a_unit { overlap_before(lines, start, end, limits) } else { 0 };
        start = end;
    }
    spans
}

/// Returns the end of the longest chunk that starts at `from` and includes line `start`.
fn furthest(lines: &Lines<'_>, from: usize, start: usize, limits: Limits) -> usize {
    let max_end = lines.count().min(from + limits.lines);
    let fits = |end: &usize| lines.span_len(from, *end) <= limits.bytes;
    (start + 1..=max_end).take_while(fits).last().unwrap_or(start + 1)
}

/// Chooses the end of a chunk that cannot hold all remaining lines.
///
/// A cut between definitions is preferred. It should leave the chunk at least three quarters full,
/// else a quarter, else an eighth. Among such cuts the cheapest is chosen, and the last of equal
/// cost. A smaller chunk is accepted only if the next definition then fits into one chunk.
/// Otherwise the definition is cut where the nesting is lowest, in the second half of the chunk.
fn cheapest(
    lines: &Lines<'_>,
    costs: &[u32],
    from: usize,
    start: usize,
    furthest: usize,
    limits: Limits,
) -> usize {
    let fills = |cut: usize, eighths: usize| {
        lines.span_len(from, cut) * 8 >= limits.bytes * eighths
            || (cut - from) * 8 >= limits.lines * eighths
    };
    let best = |eighths: usize| {
        let cuts = (start + 1..=furthest).rev().filter(move |cut| fills(*cut, eighths));
        cuts.min_by_key(|cut| costs[*cut])
    };
    let is_between = |cut: &usize| costs[*cut] < ATTACHED;
    let small = (start + 1..=furthest)
        .rev()
        .filter(|cut| costs[*cut] < WITHIN_DEFINITION)
        .min_by_key(|cut| costs[*cut] >= ATTACHED);
    best(6)
        .filter(is_between)
        .or_else(|| best(2).filter(is_between))
        .or_else(|| best(1).filter(is_between))
        .or_else(|| small.filter(|cut| next_unit_fits(lines, costs, *cut, limits)))
        .or_else(|| best(4))
        .unwrap_or(furthest)
}

/// Returns whether the lines up to the next cut between definitions fit into one chunk.
fn next_unit_fits(lines: &Lines<'_>, costs: &[u32], cut: usize, limits: Limits) -> bool {
    let end = furthest(lines, cut, cut, limits);
    end == lines.count() || (cut + 1..=end).any(|next| costs[next] < ATTACHED)
}

/// Returns how many last lines the next chunk repeats: at most a quarter of a chunk.
fn overlap_before(lines: &Lines<'_>, start: usize, end: usize, limits: Limits) -> usize {
    (1..=limits.overlap.min(end - start))
        .take_while(|count| lines.span_len(end - count, end) <= limits.bytes / 4)
        .last()
        .unwrap_or(0)
}

/// Splits a long line into parts of at most `max` bytes: at white space if there is some near the
/// end, and never within a character.
fn parts(line: &str, max: usize) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        if start == line.len() {
            return None;
        }
        let max_end = line.floor_char_boundary(start + max.max(4));
        let end = if max_end == line.len() {
            max_end
        } else {
            after_last_space(line, start + (max_end - start) / 2, max_end)
        };
        let part = start..end;
        start = end;
        Some(part)
    })
}

fn after_last_space(line: &str, low: usize, high: usize) -> usize {
    let low = line.ceil_char_boundary(low);
    line[low..high].rfind([' ', '\t', ',', ';']).map_or(high, |offset| low + offset + 1)
}
