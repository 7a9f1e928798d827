//! Packs lines into chunks: as full as they may be, cut where it costs least.

use std::ops::Range;

use super::boundaries::{CLINGING, UNCLEAN};
use crate::text::Lines;

/// How large a chunk may be.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of text, line ends between lines included.
    pub bytes: usize,
    /// Lines.
    pub lines: usize,
    /// Lines of the chunk before that are repeated when a definition is cut.
    pub overlap: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 2048, lines: 150, overlap: 3 }
    }
}

/// The place of one chunk, by 0-based lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    /// First line, overlap included.
    pub start: usize,
    /// One past the last line.
    pub end: usize,
    /// Lines at the top that the chunk before has as well.
    pub overlap: usize,
    /// Set where the chunk is a part of one long line: the bytes within it.
    pub part: Option<Range<usize>>,
}

/// Cuts the lines into chunks. `costs[i]` is the cost of a cut before line `i`.
///
/// A line that is longer than a chunk may be is split on character boundaries into chunks of its
/// own, without overlap.
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
        let cuts_a_unit = end < lines.count() && costs[end] >= UNCLEAN;
        overlap = if cuts_a_unit { overlap_before(lines, start, end, limits) } else { 0 };
        start = end;
    }
    spans
}

/// The end of the longest chunk that opens at `from` and holds line `start`.
fn furthest(lines: &Lines<'_>, from: usize, start: usize, limits: Limits) -> usize {
    let most = lines.count().min(from + limits.lines);
    let fits = |end: &usize| lines.span_len(from, *end) <= limits.bytes;
    (start + 1..=most).take_while(fits).last().unwrap_or(start + 1)
}

/// Where to end a chunk that can't hold all that is left.
///
/// First wanted is a cut between definitions that leaves a chunk three quarters full, then one that
/// leaves it a quarter full, then any; among them the cheapest, and of these the latest. A chunk of
/// next to nothing is worth it only where it keeps what follows in one piece. Otherwise what
/// follows is cut where it nests least, in the upper half.
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
    let is_between = |cut: &usize| costs[*cut] < CLINGING;
    let small = (start + 1..=furthest)
        .rev()
        .filter(|cut| costs[*cut] < UNCLEAN)
        .min_by_key(|cut| costs[*cut] >= CLINGING);
    best(6)
        .filter(is_between)
        .or_else(|| best(2).filter(is_between))
        .or_else(|| best(1).filter(is_between))
        .or_else(|| small.filter(|cut| next_unit_fits(lines, costs, *cut, limits)))
        .or_else(|| best(4))
        .unwrap_or(furthest)
}

/// Whether what stands after `cut`, up to the next cut that goes through no definition, makes one
/// chunk.
fn next_unit_fits(lines: &Lines<'_>, costs: &[u32], cut: usize, limits: Limits) -> bool {
    let end = furthest(lines, cut, cut, limits);
    end == lines.count() || (cut + 1..=end).any(|next| costs[next] < CLINGING)
}

/// How many lines before `end` the next chunk repeats: none that are only partly its neighbour's,
/// and at most a quarter of a chunk.
fn overlap_before(lines: &Lines<'_>, start: usize, end: usize, limits: Limits) -> usize {
    (1..=limits.overlap.min(end - start))
        .take_while(|count| lines.span_len(end - count, end) <= limits.bytes / 4)
        .last()
        .unwrap_or(0)
}

/// Splits a long line into parts of at most `max` bytes, at white space where there is some near
/// the end, never within a character.
fn parts(line: &str, max: usize) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        if at == line.len() {
            return None;
        }
        let hard = line.floor_char_boundary(at + max.max(4));
        let end = if hard == line.len() {
            hard
        } else {
            after_last_space(line, at + (hard - at) / 2, hard)
        };
        let part = at..end;
        at = end;
        Some(part)
    })
}

fn after_last_space(line: &str, low: usize, high: usize) -> usize {
    let low = line.ceil_char_boundary(low);
    line[low..high].rfind([' ', '\t', ',', ';']).map_or(high, |place| low + place + 1)
}
