//! Where the old lines of a hunk are in a file.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Range;

use crate::align::align;
use crate::conflict::{Divergence, Reason};
use crate::lines::{indentation, is_blank, weight};
use crate::types::{Hunk, HunkLine, LineKind};
use crate::whitespace::Level;

/// Letters and digits that a hunk needs in its old lines to be found at another line than its own.
const WEIGHT_MIN: usize = 4;
/// Letters and digits of a line that few other lines have.
pub(crate) const TEXT_WEIGHT_MIN: usize = 8;
/// Places of one hunk that are distinguished.
const PLACES_MAX: usize = 64;
/// Occurrences of a line from which all lines are searched at once.
const OCCURRENCES_MAX: usize = 64;
/// Pairs of lines of a file that are aligned, for all its hunks.
const PAIRS_MAX: usize = 1_000_000;

/// How a hunk was found, from the most exact way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Grade {
    /// At its line, or, if it names none, as the only such text.
    Exact,
    /// As the only such text, at another line, or with wrong line counts.
    Offset,
    /// With other whitespace.
    Whitespace,
    /// With unchanged lines that are slightly different, missing, or too many.
    Context,
}

impl Grade {
    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Offset => "offset",
            Self::Whitespace => "whitespace",
            Self::Context => "context",
        }
    }
}

/// Where a hunk was applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    /// Number of its first line in the old file, from 1.
    pub line: usize,
    /// How it was found.
    pub grade: Grade,
    /// Lines between the place and the one that the hunk names; `None` if it names none.
    pub offset: Option<isize>,
}

/// Place of the old lines of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Match {
    /// Index of each old line in the file, ascending; `None` for one that the file does not have.
    pub lines: Vec<Option<usize>>,
    /// Index at which a hunk without old lines is inserted, else that of the first line.
    pub start: usize,
    /// How it was found.
    pub grade: Grade,
    /// Whether the file has the lines only there, whatever the whitespace.
    pub is_only: bool,
}

impl Match {
    fn consecutive(start: usize, count: usize, grade: Grade, is_only: bool) -> Self {
        Self { lines: (start..start + count).map(Some).collect(), start, grade, is_only }
    }
}

/// Lines of a file as numbers: equal lines have equal numbers.
struct Numbered<'a> {
    numbers: Vec<usize>,
    /// Number and occurrences of each key.
    by_key: HashMap<Cow<'a, [u8]>, (usize, Vec<usize>)>,
}

/// A file in which hunks are searched.
pub(crate) struct Target<'a> {
    /// Its lines.
    pub lines: Vec<&'a [u8]>,
    by_level: [Numbered<'a>; 3],
    /// Pairs of lines that may still be aligned.
    pub pairs_left: Cell<usize>,
}

impl<'a> Target<'a> {
    pub fn new(lines: Vec<&'a [u8]>) -> Self {
        let by_level = Level::ALL.map(|level| {
            let mut numbered = Numbered { numbers: Vec::new(), by_key: HashMap::new() };
            for (index, line) in lines.iter().enumerate() {
                let next = numbered.by_key.len();
                let known = numbered.by_key.entry(level.key(line));
                let (number, occurrences) = known.or_insert_with(|| (next, Vec::new()));
                occurrences.push(index);
                numbered.numbers.push(*number);
            }
            numbered
        });
        Self { lines, by_level, pairs_left: Cell::new(PAIRS_MAX) }
    }

    /// Returns the indexes of the lines that are equal to this one.
    pub fn equal_to(&self, line: &[u8], level: Level) -> &[usize] {
        let found = self.by_level[level as usize].by_key.get(level.key(line).as_ref());
        found.map_or(&[], |(_, occurrences)| occurrences)
    }

    /// Returns whether all lines are at `start`, byte for byte.
    fn has_at(&self, start: usize, lines: &[&HunkLine]) -> bool {
        let end = start.checked_add(lines.len());
        let found = end.and_then(|end| self.lines.get(start..end));
        found.is_some_and(|found| found.iter().zip(lines).all(|(own, line)| *own == line.text))
    }

    /// Returns the first indexes at which all lines are, ascending.
    fn places(&self, lines: &[&HunkLine], level: Level) -> Vec<usize> {
        let Numbered { numbers, by_key } = &self.by_level[level as usize];
        let known = |line: &&HunkLine| by_key.get(level.key(&line.text).as_ref());
        let known: Option<Vec<_>> = lines.iter().map(known).collect();
        let Some(known) = known.filter(|known| !known.is_empty()) else { return Vec::new() };
        let wanted: Vec<usize> = known.iter().map(|(number, _)| *number).collect();
        let rarest = known.iter().enumerate().min_by_key(|(_, (_, found))| found.len());
        let Some((offset, (_, occurrences))) = rarest else { return Vec::new() };
        if occurrences.len() > OCCURRENCES_MAX {
            return search(numbers, &wanted);
        }
        let starts = occurrences.iter().filter_map(|index| index.checked_sub(offset));
        starts.filter(|start| numbers[*start..].starts_with(&wanted)).take(PLACES_MAX).collect()
    }
}

/// Returns the first indexes at which `wanted` is, in time proportional to both lengths (Knuth,
/// Morris and Pratt).
fn search(numbers: &[usize], wanted: &[usize]) -> Vec<usize> {
    // Length of the longest start of `wanted` that ends at each index, and is not all of it.
    let mut borders = vec![0; wanted.len()];
    let advance = |borders: &[usize], mut length: usize, number: usize| {
        while length > 0 && (length == wanted.len() || wanted[length] != number) {
            length = borders[length - 1];
        }
        if wanted[length] == number { length + 1 } else { 0 }
    };
    for index in 1..wanted.len() {
        borders[index] = advance(&borders, borders[index - 1], wanted[index]);
    }
    let mut length = 0;
    let ends = numbers.iter().enumerate().filter(|(_, number)| {
        length = advance(&borders, length, **number);
        length == wanted.len()
    });
    ends.map(|(end, _)| end + 1 - wanted.len()).take(PLACES_MAX).collect()
}

/// Finds the place of a hunk at its line, exactly as it is. As `git apply` demands, one without
/// unchanged lines after the change is at the end of the file.
pub(crate) fn find_exactly(target: &Target<'_>, hunk: &Hunk) -> Option<Match> {
    let old: Vec<_> = hunk.old_lines().collect();
    let position = hunk.position.filter(|_| !hunk.is_recounted)?;
    // Without old lines, only an empty file says where the new ones belong.
    let is_clear = !old.is_empty() || target.lines.is_empty();
    let is_at_end = position.checked_add(old.len()) == Some(target.lines.len());
    let is_exact =
        is_clear && (hunk.has_context_after() || is_at_end) && target.has_at(position, &old);
    is_exact.then(|| {
        let is_only = target.places(&old, Level::Words).len() < 2;
        Match::consecutive(position, old.len(), Grade::Exact, is_only)
    })
}

/// Finds the only place of a hunk. `drift` is the number of lines by which the hunks around it have
/// moved, if all moved by the same.
pub(crate) fn find(
    target: &Target<'_>,
    hunk: &Hunk,
    drift: Option<isize>,
) -> Result<Match, Reason> {
    let exactly = find_exactly(target, hunk);
    let is_clear = |found: &Match| {
        found.is_only
            || drift.is_none_or(|drift| drift == 0) && is_below_section(target, hunk, found)
    };
    if let Some(found) = exactly.filter(is_clear) {
        return Ok(found);
    }
    let old: Vec<_> = hunk.old_lines().collect();
    if old.is_empty() && target.lines.is_empty() {
        return Ok(Match::consecutive(0, 0, Grade::Exact, true));
    }
    if old.iter().map(|line| weight(&line.text)).sum::<usize>() < WEIGHT_MIN {
        return Err(Reason::NoContext);
    }
    if is_applied(target, hunk) {
        return Err(Reason::AlreadyApplied);
    }
    let places = Level::ALL.map(|level| target.places(&old, level));
    let [exact, _, everywhere] = &places;
    if let Some(start) = only(target, hunk, &places, drift) {
        let grade = match (exact.contains(&start), hunk.position) {
            (true, None) if !hunk.is_recounted => Grade::Exact,
            (true, _) => Grade::Offset,
            (false, _) => Grade::Whitespace,
        };
        return Ok(Match::consecutive(start, old.len(), grade, everywhere.len() == 1));
    }
    if !everywhere.is_empty() {
        return Err(Reason::Ambiguous(everywhere.iter().map(|place| place + 1).collect()));
    }
    align(target, hunk)?.ok_or_else(|| Reason::NotFound(divergence(target, hunk, &old)))
}

/// Returns whether the line that the hunk names as its head is above a place, if the file has it.
fn is_below_section(target: &Target<'_>, hunk: &Hunk, found: &Match) -> bool {
    let heads = target.equal_to(&hunk.section, Level::Words);
    is_blank(&hunk.section) || heads.first().is_none_or(|first| *first < found.start)
}

/// Returns the place that a hunk means, of those by level, each of which has those of the level
/// before: the only one, whatever the whitespace; the only one below the line that the hunk names;
/// the one as far from its line as the hunks around it, or at its line; or the only one with the
/// most exact whitespace.
fn only(
    target: &Target<'_>,
    hunk: &Hunk,
    places: &[Vec<usize>; 3],
    drift: Option<isize>,
) -> Option<usize> {
    let [_, _, everywhere] = places;
    if let [place] = everywhere[..] {
        return Some(place);
    }
    let closest = places.iter().find(|places| !places.is_empty())?;
    let blocks = blocks(target, &hunk.section);
    let mut below = closest.iter().filter(|place| blocks.iter().any(|block| block.contains(place)));
    if let (Some(place), None) = (below.next(), below.next()) {
        return Some(*place);
    }
    let is_certain = hunk.has_context_after() || drift.is_some();
    let expected = hunk.position.filter(|_| is_certain);
    let expected = expected.and_then(|place| place.checked_add_signed(drift.unwrap_or_default()));
    if let Some(place) = expected.filter(|place| everywhere.contains(place)) {
        let is_below = blocks.is_empty() || blocks.iter().any(|block| block.contains(&place));
        // Elsewhere, the text is more exactly that of the hunk.
        return Some(place).filter(|place| closest.contains(place) && is_below);
    }
    // Closing lines, such as `end`, are the same elsewhere but for their indentation.
    let has_text = hunk.old_lines().any(|line| weight(&line.text) >= TEXT_WEIGHT_MIN);
    match (&closest[..], has_text) {
        ([place], true) => Some(*place),
        _ => None,
    }
}

/// Returns the lines of the blocks that a section starts.
fn blocks(target: &Target<'_>, section: &[u8]) -> Vec<Range<usize>> {
    if is_blank(section) {
        return Vec::new();
    }
    let heads = target.equal_to(section, Level::Words).iter().take(PLACES_MAX);
    let block = |start: &usize| {
        let depth = indentation(target.lines[*start]).len();
        let is_end = |line: &&[u8]| !is_blank(line) && indentation(line).len() <= depth;
        let length = target.lines[start + 1..].iter().position(is_end);
        start + 1..length.map_or(target.lines.len(), |length| start + 1 + length)
    };
    heads.map(block).collect()
}

/// Returns whether the file has the new lines of a hunk already, at exactly one place.
fn is_applied(target: &Target<'_>, hunk: &Hunk) -> bool {
    let new: Vec<_> = hunk.new_lines().collect();
    let has_added = new.iter().any(|line| line.kind == LineKind::Added && !is_blank(&line.text));
    let has_context = new.iter().any(|line| line.kind == LineKind::Context);
    has_added && has_context && target.places(&new, Level::End).len() == 1
}

/// Returns the first difference at the place where most of the first lines are equal.
fn divergence(target: &Target<'_>, hunk: &Hunk, old: &[&HunkLine]) -> Option<Divergence> {
    let equal_from = |start: usize| {
        let lines = target.lines[start..].iter().zip(old);
        lines
            .take_while(|(own, line)| Level::Words.key(own) == Level::Words.key(&line.text))
            .count()
    };
    let first = old.iter().position(|line| weight(&line.text) >= WEIGHT_MIN)?;
    let starts = target.equal_to(&old[first].text, Level::Words).iter().take(PLACES_MAX);
    let starts = starts.filter_map(|index| index.checked_sub(first)).chain(hunk.position);
    let starts = starts.filter(|start| *start < target.lines.len());
    let (equal, start) = starts.map(|start| (equal_from(start), start)).max()?;
    let expected = old.get(equal)?.text.clone();
    let found = target.lines.get(start + equal).map(|line| (*line).to_owned());
    Some(Divergence { line: start + equal + 1, expected, found })
}
