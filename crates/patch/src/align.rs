//! Finds a hunk whose unchanged lines differ slightly from those of the file.
//!
//! The old lines are aligned with the lines of the file so that the cost of the differences is
//! lowest. Removed lines must be in the file, but for their whitespace. The place must be much
//! better than any other.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use crate::conflict::Reason;
use crate::lines::{is_blank, weight};
use crate::place::{Grade, Match, Target};
use crate::types::{Hunk, HunkLine, LineKind};
use crate::whitespace::Level;

/// Cost of a line with other whitespace at its end, or elsewhere.
const END_COST: u32 = 2;
const WORDS_COST: u32 = 5;
/// Cost of an unchanged line that the file does not have, and of one of the file that the hunk does
/// not have.
const MISSING_COST: u32 = 60;
/// The same for a line without text.
const BLANK_COST: u32 = 10;
/// Cost of a line that has nothing in common with the one of the file.
const DIFFERENT_COST: u32 = 100;
/// Minimum share of common words of lines that are paired, in percent.
const SIMILAR_MIN: u32 = 50;
/// Cost that is accepted, at least and for each line.
const ACCEPTED: (u32, u32) = (70, 30);
/// Difference from the cost of the next best place.
const MARGIN: u32 = 40;
/// Minimum letters and digits of the lines that are equal but for whitespace.
const EQUAL_WEIGHT_MIN: usize = 10;
/// Lines with more occurrences do not say where to search.
const OCCURRENCES_MAX: usize = 50;
/// Lines of the file around a hunk in which it is searched.
const MARGIN_LINES: usize = 6;
/// Lines of a hunk that are aligned, at most.
const OLD_LINES_MAX: usize = 2_000;
/// Bytes of a line that are compared, if it differs.
const COMPARED_BYTES: usize = 400;

/// A cost that is not accepted.
const NEVER: u32 = u32::MAX / 4;

/// Finds the only place at which the old lines fit well enough; `None` if there is none.
pub(crate) fn align(target: &Target<'_>, hunk: &Hunk) -> Result<Option<Match>, Reason> {
    let old: Vec<_> = hunk.old_lines().collect();
    if old.len() > OLD_LINES_MAX {
        return Ok(None);
    }
    let windows = windows(target, &old);
    let pairs: usize = windows.iter().map(|window| window.len() * old.len()).sum();
    let Some(left) = target.pairs_left.get().checked_sub(pairs) else { return Ok(None) };
    target.pairs_left.set(left);
    let mut places: Vec<(Alignment, Range<usize>)> = Vec::new();
    let side = Side::of_hunk(hunk);
    for window in windows {
        let ends = Grid::fill(&Side::of_window(target, &window), &side).ends();
        places.extend(ends.into_iter().map(|end| (end.moved(window.start), window.clone())));
    }
    places.sort_by_key(|(place, _)| (place.cost, place.start()));
    let lines = ACCEPTED.1 * u32::try_from(old.len()).unwrap_or(u32::MAX / ACCEPTED.1);
    let Some((best, window)) = places.first().cloned() else { return Ok(None) };
    let is_good = best.cost <= ACCEPTED.0.max(lines)
        && best.has_all_removed(&old)
        && best.has_enough_text(&old)
        && best.is_anchored(hunk);
    if !is_good {
        return Ok(None);
    }
    let close = places.iter().filter(|(place, _)| place.cost < best.cost + MARGIN);
    let mut starts: Vec<usize> = close
        .filter(|(place, _)| !place.overlaps(&best))
        .map(|(place, _)| place.start() + 1)
        .collect();
    if starts.is_empty()
        && !has_other_changes(hunk, side, (window.start, Side::of_window(target, &window)), &best)
    {
        let start = best.start();
        let found = Match { start, lines: best.lines, grade: Grade::Context, is_only: true };
        return Ok(Some(found));
    }
    starts.push(best.start() + 1);
    starts.sort_unstable();
    starts.dedup();
    Err(Reason::Ambiguous(starts))
}

/// Returns whether the changes of a hunk would be between other lines of the file if the old lines
/// were paired in another way that is nearly as good.
fn has_other_changes(
    hunk: &Hunk,
    old: Side<'_>,
    (start, file): (usize, Side<'_>),
    best: &Alignment,
) -> bool {
    let forward = Grid::fill(&file, &old);
    let backward = Grid::fill(&file.reversed(), &old.reversed());
    let (rows, columns) = (forward.rows - 1, forward.columns - 1);
    // The numbers of old lines before each change, and after it.
    let mut index = 0;
    let mut boundaries = Vec::new();
    for lines in hunk.lines.chunk_by(|a, b| {
        (a.kind == b.kind) || a.kind != LineKind::Context && b.kind != LineKind::Context
    }) {
        let is_change = lines[0].kind != LineKind::Context;
        boundaries.extend(is_change.then_some(index));
        index += lines.iter().filter(|line| line.kind != LineKind::Added).count();
        boundaries.extend(is_change.then_some(index));
    }
    boundaries.into_iter().any(|row| {
        let place = best.boundary(row).map(|place| place.saturating_sub(start));
        (0..=columns).filter(|column| Some(*column) != place).any(|column| {
            let cost = forward.cost(row, column) + backward.cost(rows - row, columns - column);
            cost < best.cost + MARGIN
        })
    })
}

/// Returns the parts of the file around lines that are equal to one of the hunk.
fn windows(target: &Target<'_>, old: &[&HunkLine]) -> Vec<Range<usize>> {
    let mut windows = Vec::new();
    for (index, line) in old.iter().enumerate().filter(|(_, line)| !is_blank(&line.text)) {
        let places = target.equal_to(&line.text, Level::Words);
        if places.len() > OCCURRENCES_MAX {
            continue;
        }
        windows.extend(places.iter().map(|place| {
            let start = place.saturating_sub(index + MARGIN_LINES);
            let end = place + (old.len() - index) + MARGIN_LINES;
            (start, end.min(target.lines.len()))
        }));
    }
    windows.sort_unstable();
    let mut joined: Vec<Range<usize>> = Vec::new();
    for (start, end) in windows {
        match joined.last_mut() {
            Some(last) if start <= last.end => last.end = last.end.max(end),
            _ => joined.push(start..end),
        }
    }
    joined
}

/// A way to pair the old lines with lines of the file.
#[derive(Debug, Clone)]
struct Alignment {
    cost: u32,
    lines: Vec<Option<usize>>,
    /// Whether each line is in the file, but for its whitespace.
    is_exact: Vec<bool>,
}

impl Alignment {
    /// Returns the index of the first line of the file.
    fn start(&self) -> usize {
        self.lines.iter().flatten().next().copied().unwrap_or_default()
    }

    fn end(&self) -> usize {
        self.lines.iter().flatten().next_back().map_or(0, |last| last + 1)
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.start() < other.end() && other.start() < self.end()
    }

    /// Returns the alignment with the lines of the file from this index on.
    fn moved(mut self, start: usize) -> Self {
        self.lines.iter_mut().flatten().for_each(|index| *index += start);
        self
    }

    /// Returns the index of the line of the file that follows this number of old lines.
    fn boundary(&self, row: usize) -> Option<usize> {
        let (before, after) = self.lines.split_at(row.min(self.lines.len()));
        let last = before.iter().rev().flatten().next();
        last.map(|last| last + 1).or_else(|| after.iter().flatten().next().copied())
    }

    /// Returns whether the file has each removed line, but for its whitespace.
    fn has_all_removed(&self, old: &[&HunkLine]) -> bool {
        self.is_exact
            .iter()
            .zip(old)
            .all(|(is_exact, line)| *is_exact || line.kind == LineKind::Context)
    }

    /// Returns whether each inserted line is between the lines of the file that are around it in
    /// the hunk: not only below one of them, since the file may have others in between.
    fn is_anchored(&self, hunk: &Hunk) -> bool {
        let mut index = 0;
        hunk.lines.chunk_by(|a, b| (a.kind == LineKind::Added) == (b.kind == LineKind::Added)).all(
            |lines| {
                if lines.iter().any(|line| line.kind != LineKind::Added) {
                    index += lines.len();
                    return true;
                }
                let (above, below) = self.lines.split_at(index);
                let last = above.iter().rev().flatten().next();
                let first = below.iter().flatten().next();
                match (last, first) {
                    (Some(last), Some(first)) => last + 1 == *first,
                    (last, first) => {
                        (above.is_empty() || last.is_some())
                            && (below.is_empty() || first.is_some())
                    }
                }
            },
        )
    }

    /// Returns whether the lines that are equal but for whitespace have enough text to be no
    /// coincidence.
    fn has_enough_text(&self, old: &[&HunkLine]) -> bool {
        let equal = self.is_exact.iter().zip(old).filter(|(is_exact, _)| **is_exact);
        let weights: Vec<usize> = equal.map(|(_, line)| weight(&line.text)).collect();
        let has_several = weights.iter().filter(|weight| **weight > 2).count() > 1;
        let total: usize = weights.iter().sum();
        has_several && total >= EQUAL_WEIGHT_MIN || total >= 2 * EQUAL_WEIGHT_MIN
    }
}

/// How a cell of the grid is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Move {
    /// The alignment starts here.
    Start,
    /// The line of the hunk is the line of the file.
    Pair,
    /// The file does not have the line of the hunk.
    SkipOld,
    /// The hunk does not have the line of the file.
    SkipFile,
}

/// The lines of one side, in a direction.
struct Side<'a> {
    keys: Vec<Keys<'a>>,
    words: HashSet<Vec<u8>>,
    /// Of a hunk, by the number of lines before: whether the file may have a further line there.
    gaps: Vec<bool>,
}

impl<'a> Side<'a> {
    fn new(lines: impl Iterator<Item = &'a [u8]>) -> Self {
        let keys: Vec<_> = lines.map(Keys::of).collect();
        let words = keys.iter().map(|keys| keys.words.to_vec()).collect();
        Self { keys, words, gaps: Vec::new() }
    }

    fn of_window(target: &Target<'a>, window: &Range<usize>) -> Self {
        Self::new(target.lines[window.clone()].iter().copied())
    }

    fn of_hunk(hunk: &'a Hunk) -> Self {
        let mut side = Self::new(hunk.old_lines().map(|line| &line.text[..]));
        for (keys, line) in side.keys.iter_mut().zip(hunk.old_lines()) {
            keys.is_removed = line.kind == LineKind::Removed;
        }
        Self { gaps: gaps(hunk), ..side }
    }

    fn reversed(mut self) -> Self {
        self.keys.reverse();
        self.gaps.reverse();
        self
    }
}

/// Lowest costs: row by the number of old lines, column by the number of lines of the file.
struct Grid {
    columns: usize,
    rows: usize,
    cells: Vec<(u32, Move)>,
    /// Whether a pair of lines is equal but for whitespace.
    equal: Vec<bool>,
}

impl Grid {
    fn fill(file: &Side<'_>, old: &Side<'_>) -> Self {
        let (rows, columns) = (old.keys.len() + 1, file.keys.len() + 1);
        let (cells, equal) = (vec![(0, Move::Start); rows * columns], vec![false; rows * columns]);
        let mut grid = Self { columns, rows, cells, equal };
        for row in 1..rows {
            for column in 0..columns {
                grid.cells[row * columns + column] = grid.best(file, old, row, column);
            }
        }
        grid
    }

    fn best(&mut self, file: &Side<'_>, old: &Side<'_>, row: usize, column: usize) -> (u32, Move) {
        let own = &old.keys[row - 1];
        let skip_old = self.cost(row - 1, column) + missing_cost(own.bytes);
        let mut best = (skip_old, Move::SkipOld);
        let Some(found) = column.checked_sub(1).map(|index| &file.keys[index]) else { return best };
        // A line that is elsewhere as it is, is not meant here.
        let is_elsewhere = file.words.contains(&*own.words) || old.words.contains(&*found.words);
        // The place where a removed line should be competes with others, and is refused later.
        let may_differ = own.is_removed || !is_elsewhere;
        let pair = self.cost(row - 1, column - 1) + own.pair_cost(found, may_differ);
        self.equal[row * self.columns + column] = own.words == found.words;
        let skip_file = self.cost(row, column - 1) + missing_cost(found.bytes);
        let skip_file = if old.gaps[row] { skip_file } else { NEVER };
        for candidate in [(skip_file, Move::SkipFile), (pair, Move::Pair)] {
            if candidate.0 <= best.0 {
                best = candidate;
            }
        }
        (best.0.min(NEVER), best.1)
    }

    fn cost(&self, row: usize, column: usize) -> u32 {
        self.cells[row * self.columns + column].0
    }

    /// Returns the best alignment for each line at which one ends.
    fn ends(&self) -> Vec<Alignment> {
        let last = self.rows - 1;
        let columns = (0..self.columns).filter(|column| self.cost(last, *column) < NEVER);
        columns.map(|column| self.traced(column)).filter(|found| found.end() > 0).collect()
    }

    fn traced(&self, mut column: usize) -> Alignment {
        let mut row = self.rows - 1;
        let cost = self.cost(row, column);
        let (mut lines, mut is_exact) = (vec![None; row], vec![false; row]);
        while row > 0 {
            match self.cells[row * self.columns + column].1 {
                Move::Start => break,
                Move::Pair => {
                    lines[row - 1] = Some(column - 1);
                    is_exact[row - 1] = self.equal[row * self.columns + column];
                    (row, column) = (row - 1, column - 1);
                }
                Move::SkipOld => row -= 1,
                Move::SkipFile => column -= 1,
            }
        }
        Alignment { cost, lines, is_exact }
    }
}

/// Returns, by the number of old lines before, whether the file may have a further line there: only
/// between two unchanged lines. Elsewhere it would not be clear what the hunk does with it.
fn gaps(hunk: &Hunk) -> Vec<bool> {
    let mut gaps = vec![false];
    let pairs = hunk.lines.iter().zip(hunk.lines.iter().skip(1).map(Some).chain([None]));
    for (line, next) in pairs.filter(|(line, _)| line.kind != LineKind::Added) {
        let is_context = |line: &HunkLine| line.kind == LineKind::Context;
        gaps.push(is_context(line) && next.is_some_and(is_context));
    }
    gaps
}

/// Returns the cost of a line that the other side does not have.
fn missing_cost(line: &[u8]) -> u32 {
    if is_blank(line) { BLANK_COST } else { MISSING_COST }
}

/// What is compared of a line.
struct Keys<'a> {
    bytes: &'a [u8],
    is_removed: bool,
    end: Cow<'a, [u8]>,
    words: Cow<'a, [u8]>,
}

impl<'a> Keys<'a> {
    fn of(line: &'a [u8]) -> Self {
        Self {
            bytes: line,
            is_removed: false,
            end: Level::End.key(line),
            words: Level::Words.key(line),
        }
    }

    /// Returns the cost of taking a line of the hunk for a line of the file.
    fn pair_cost(&self, found: &Self, may_differ: bool) -> u32 {
        if self.bytes == found.bytes {
            0
        } else if self.end == found.end {
            END_COST
        } else if self.words == found.words {
            WORDS_COST
        } else if may_differ && !self.words.is_empty() && !found.words.is_empty() {
            let similar = similarity(&self.words, &found.words);
            if similar < SIMILAR_MIN { NEVER } else { DIFFERENT_COST - similar }
        } else {
            NEVER
        }
    }
}

/// Returns the share of pairs of adjacent bytes that two lines have in common, in percent.
fn similarity(a: &[u8], b: &[u8]) -> u32 {
    let [a, b] = [a, b].map(|line| {
        let line = &line[..line.len().min(COMPARED_BYTES)];
        let mut pairs: Vec<_> = line.windows(2).map(|pair| [pair[0], pair[1]]).collect();
        pairs.sort_unstable();
        pairs
    });
    let (mut left, mut right, mut common) = (0, 0, 0_usize);
    while let (Some(x), Some(y)) = (a.get(left), b.get(right)) {
        match x.cmp(y) {
            std::cmp::Ordering::Less => left += 1,
            std::cmp::Ordering::Greater => right += 1,
            std::cmp::Ordering::Equal => (left, right, common) = (left + 1, right + 1, common + 1),
        }
    }
    let total = (a.len() + b.len()).max(1);
    u32::try_from(200 * common / total).unwrap_or(100)
}
