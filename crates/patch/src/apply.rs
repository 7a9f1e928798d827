//! Applies the patch of a file to its content.

use std::ops::Range;

use crate::conflict::{Conflict, Reason};
use crate::lines::{ending, split, without_ending};
use crate::place::{Grade, Match, Placed, Target, find, find_exactly};
use crate::types::{FilePatch, Hunk, LineKind, Operation};
use crate::whitespace::{Adjustment, Level};

/// Number of hunks without a place after which the others are not searched.
const FAILURES_MAX: usize = 10;

/// What a hunk may differ in from the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tolerance {
    /// Nothing: it is at its line, byte for byte.
    Exact,
    /// Its line, whitespace, and unchanged lines ([`Grade`]).
    Tolerant,
}

/// Lines that replace others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    /// Indexes of the replaced lines, from 0; empty if lines are inserted.
    pub range: Range<usize>,
    /// The new lines, with their endings.
    pub lines: Vec<Vec<u8>>,
}

/// The result for a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// New content; `None` if the file is deleted.
    pub content: Option<Vec<u8>>,
    /// Changes of the old content, from its start.
    pub replacements: Vec<Replacement>,
    /// Where each hunk was applied, in the order of the patch.
    pub hunks: Vec<Placed>,
}

impl Applied {
    /// Returns the least exact grade.
    pub fn grade(&self) -> Grade {
        self.hunks.iter().map(|hunk| hunk.grade).max().unwrap_or(Grade::Exact)
    }
}

/// Applies the patch of a file to the content of [`FilePatch::old_path`], `None` if there is no
/// such file. All hunks are applied, or none. The caller checks that the target of a rename or copy
/// does not exist.
pub fn apply(
    file: &FilePatch,
    before: Option<&[u8]>,
    tolerance: Tolerance,
) -> Result<Applied, Conflict> {
    let conflict = |reason| Conflict { hunk: None, reason };
    if let Some(refusal) = file.refusal {
        return Err(conflict(Reason::Refused(refusal)));
    }
    let before = match (file.operation, before) {
        (Operation::Create, Some(_)) => return Err(conflict(Reason::Exists)),
        (Operation::Create, None) => &[],
        (_, None) => return Err(conflict(Reason::Missing)),
        (_, Some(before)) => before,
    };
    let target = Target::new(split(before));
    let matches = matches(&target, &file.hunks, tolerance)?;
    let (mut replacements, last) = replacements(&target, &file.hunks, &matches)?;
    let is_exact = last.is_none_or(|last| matches[last].grade <= Grade::Offset);
    complete_endings(&target.lines, &mut replacements, is_exact);
    let content = changed(&target.lines, &replacements);
    let placed = file.hunks.iter().zip(&matches).map(|(hunk, found)| Placed {
        line: found.start + 1,
        grade: found.grade,
        offset: hunk.position.and_then(|position| found.start.checked_signed_diff(position)),
    });
    let hunks = placed.collect();
    if file.operation == Operation::Delete {
        if !content.is_empty() {
            return Err(conflict(Reason::NotEmpty));
        }
        return Ok(Applied { content: None, replacements, hunks });
    }
    Ok(Applied { content: Some(content), replacements, hunks })
}

/// Returns the places of all hunks.
fn matches(
    target: &Target<'_>,
    hunks: &[Hunk],
    tolerance: Tolerance,
) -> Result<Vec<Match>, Conflict> {
    let find = |hunk: &Hunk, drift| match tolerance {
        Tolerance::Exact => find_exactly(target, hunk).ok_or(Reason::NotFound(None)),
        Tolerance::Tolerant => find(target, hunk, drift),
    };
    let mut matches = Vec::with_capacity(hunks.len());
    let mut failures = Vec::new();
    for (index, hunk) in hunks.iter().enumerate() {
        let found = find(hunk, None);
        // The hunks around an ambiguous one may decide.
        if let Err(reason) = &found
            && !matches!(reason, Reason::Ambiguous(_))
        {
            failures.push(Conflict { hunk: Some(index + 1), reason: reason.clone() });
        }
        if failures.len() == FAILURES_MAX {
            return Err(failures.swap_remove(0));
        }
        matches.push(found);
    }
    for index in 0..hunks.len() {
        let is_open = match &matches[index] {
            Ok(found) => !found.is_only && found.grade != Grade::Context,
            Err(reason) => matches!(reason, Reason::Ambiguous(_)),
        };
        let drift = if is_open { drift_around(hunks, &matches, index) } else { None };
        if let Some(drift) = drift.filter(|_| tolerance == Tolerance::Tolerant) {
            matches[index] = find(&hunks[index], Some(drift));
        }
    }
    let numbered = matches.into_iter().enumerate();
    numbered
        .map(|(index, found)| found.map_err(|reason| Conflict { hunk: Some(index + 1), reason }))
        .collect()
}

/// Returns the number of lines by which the nearest hunks before and after have moved, if those
/// that were found moved by the same.
fn drift_around(hunks: &[Hunk], matches: &[Result<Match, Reason>], index: usize) -> Option<isize> {
    let drift = |index: usize| {
        let found = matches[index].as_ref().ok().filter(|found| found.is_only)?;
        let position = hunks[index].position?;
        found.start.checked_signed_diff(position)
    };
    let before = (0..index).rev().find_map(drift);
    let after = (index + 1..hunks.len()).find_map(drift);
    match (before, after) {
        (Some(before), Some(after)) => (before == after).then_some(before),
        (before, after) => before.or(after),
    }
}

/// Returns the changes of all hunks, from the start of the file, and the index of the hunk that
/// makes the last one.
fn replacements(
    target: &Target<'_>,
    hunks: &[Hunk],
    matches: &[Match],
) -> Result<(Vec<Replacement>, Option<usize>), Conflict> {
    let mut all = Vec::new();
    for (index, (hunk, found)) in hunks.iter().zip(matches).enumerate() {
        let conflict = |reason| Conflict { hunk: Some(index + 1), reason };
        let changes = of_hunk(target, hunk, found).ok_or_else(|| conflict(Reason::Indentation))?;
        all.extend(changes.into_iter().map(|change| (index, change)));
    }
    all.sort_by_key(|(_, change)| (change.range.start, change.range.end));
    for pair in all.windows(2) {
        let ((_, first), (index, second)) = (&pair[0], &pair[1]);
        // It is not clear which lines come first.
        let is_same_place = first.range.end == second.range.start
            && (first.range.is_empty() || second.range.is_empty());
        if is_same_place || second.range.start < first.range.end {
            return Err(Conflict { hunk: Some(index + 1), reason: Reason::Overlap });
        }
    }
    let last = all.last().map(|(index, _)| *index);
    Ok((all.into_iter().map(|(_, change)| change).collect(), last))
}

/// Returns the changes of a hunk; `None` if its indentation can't be adjusted.
fn of_hunk(target: &Target<'_>, hunk: &Hunk, found: &Match) -> Option<Vec<Replacement>> {
    let adjustment = if found.grade > Grade::Offset {
        let old = hunk.old_lines().zip(&found.lines);
        let pairs = old.filter_map(|(line, index)| Some((&line.text[..], target.lines[(*index)?])));
        let is_equal =
            |(line, own): &(&[u8], &[u8])| Level::Words.key(line) == Level::Words.key(own);
        Some(Adjustment::of(pairs.filter(is_equal))?)
    } else {
        None
    };
    let added = |text: &[u8]| match &adjustment {
        Some(adjustment) => adjustment.adjusted(text),
        None => text.to_owned(),
    };
    let mut old = found.lines.iter();
    let mut next = found.start;
    let mut changes: Vec<Replacement> = Vec::new();
    for line in &hunk.lines {
        let index = match line.kind {
            LineKind::Added => next,
            // A line that the file does not have is an unchanged one.
            _ => match old.next().copied().flatten() {
                Some(index) => index,
                None => continue,
            },
        };
        if line.kind != LineKind::Context {
            if changes.last().is_none_or(|last| last.range.end != index) {
                changes.push(Replacement { range: index..index, lines: Vec::new() });
            }
            if let Some(last) = changes.last_mut() {
                if line.kind == LineKind::Added {
                    last.lines.push(added(&line.text));
                } else {
                    last.range.end = index + 1;
                }
            }
        }
        if line.kind != LineKind::Added {
            next = index + 1;
        }
    }
    Some(changes)
}

/// Gives each line but the last one of the file an ending. If a hunk is not exactly what the file
/// has, a missing LF at the end of the file stays missing.
fn complete_endings(lines: &[&[u8]], replacements: &mut [Replacement], is_exact: bool) {
    let usual = lines.first().map(|line| ending(line)).filter(|ending| !ending.is_empty());
    let usual = usual.unwrap_or(b"\n");
    let Some(last) = replacements.last_mut() else { return };
    let reaches_end = last.range.end == lines.len();
    if let Some(line) = lines.last().filter(|line| ending(line).is_empty() && reaches_end) {
        if last.range.is_empty() {
            last.range.start -= 1;
            last.lines.insert(0, [line, usual].concat());
        }
        if let Some(line) = last.lines.last_mut().filter(|_| !is_exact) {
            line.truncate(without_ending(line).len());
        }
    }
    let end = if reaches_end { last.lines.pop() } else { None };
    for line in replacements.iter_mut().flat_map(|change| &mut change.lines) {
        if ending(line).is_empty() {
            line.extend(usual);
        }
    }
    if let Some(last) = replacements.last_mut() {
        last.lines.extend(end);
    }
}

/// Returns the content with the changes.
fn changed(lines: &[&[u8]], replacements: &[Replacement]) -> Vec<u8> {
    let mut content = Vec::new();
    let mut next = 0;
    for change in replacements {
        content.extend(lines[next..change.range.start].concat());
        content.extend(change.lines.concat());
        next = change.range.end;
    }
    content.extend(lines[next..].concat());
    content
}

#[cfg(test)]
mod tests;
