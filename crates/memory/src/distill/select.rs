//! Selecting the units of a note that is too long.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::markdown::Unit;
use crate::judge::ParsedNote;
use crate::text::{as_f32, cut, regex};

static TELLING: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)\b(because|cause[sd]?|root cause|fix(?:ed|es)?|must|never|always|instead|",
        r"otherwise|decided|decision|rule|workaround|breaks?|fails?|причин\w*|потому|нельзя|",
        r"всегда|никогда|вместо|иначе|решени\w*|решили|исправ\w*|ломается|падает)\b",
    ))
});

/// Units that are kept, by their position in the note.
struct Kept<'a> {
    units: &'a [Unit],
    positions: BTreeSet<usize>,
    /// Characters left.
    room: usize,
}

impl<'a> Kept<'a> {
    fn new(units: &'a [Unit], max: usize) -> Self {
        Self { units, positions: BTreeSet::new(), room: max }
    }

    /// Keeps a unit if it fits and leaves `reserve` characters. Returns whether it is kept.
    fn keep(&mut self, position: usize, reserve: usize) -> bool {
        if self.positions.contains(&position) {
            return true;
        }
        let Some(unit) = self.units.get(position) else { return false };
        let cost = cost(unit);
        let fits = cost + reserve <= self.room;
        if fits {
            self.room -= cost;
            self.positions.insert(position);
        }
        fits
    }
}

/// Joins units to a text of at most `max` characters: all if they fit, else the last sentence,
/// which often states the rule, and those that tell most for their length, in order.
pub fn within(units: &[Unit], max: usize) -> String {
    let whole = join(units);
    if whole.chars().count() <= max {
        return whole;
    }
    let kept = by_rules(units, &ranked(units), max);
    if kept.is_empty() {
        return cut(&whole, max);
    }
    join(at(units, &kept))
}

/// Selects the units that a model chose, the most important one first, as far as they fit into
/// `max` characters. Returns their positions; `None` if no chosen unit fits.
///
/// The rules are the floor: the last sentence stays, and so do units with a word of cause, rule or
/// decision that the rules select, up to half of `max`. No choice drops them.
pub fn chosen(units: &[Unit], choice: &[usize], max: usize) -> Option<BTreeSet<usize>> {
    let ranked = ranked(units);
    let of_rules = by_rules(units, &ranked, max);
    let mut kept = Kept::new(units, max);
    if let Some(last) = last_sentence(units) {
        kept.keep(last, 0);
    }
    let is_floor = |at: &usize| of_rules.contains(at) && TELLING.is_match(&units[*at].text);
    for position in ranked.into_iter().filter(is_floor) {
        kept.keep(position, max / 2);
    }
    let mut has_choice = false;
    for position in choice {
        has_choice |= kept.keep(*position, 0);
    }
    has_choice.then_some(kept.positions)
}

/// Returns the positions of the units that fit into `max` characters alone, those that tell most
/// first, after the last sentence.
pub fn candidates(units: &[Unit], max: usize) -> Vec<usize> {
    let mut ranked = ranked(units);
    ranked.retain(|at| cost(&units[*at]) <= max);
    ranked
}

/// Returns the units at these positions.
pub fn at<'a>(units: &'a [Unit], positions: &BTreeSet<usize>) -> impl Iterator<Item = &'a Unit> {
    positions.iter().filter_map(|position| units.get(*position))
}

/// Joins units to a text.
pub fn join<'a>(units: impl IntoIterator<Item = &'a Unit>) -> String {
    let mut text = String::new();
    for unit in units {
        if !text.is_empty() {
            text.push(if unit.starts_line { '\n' } else { ' ' });
        }
        text.push_str(&unit.text);
    }
    text
}

/// Returns the positions that the rules keep.
fn by_rules(units: &[Unit], ranked: &[usize], max: usize) -> BTreeSet<usize> {
    let mut kept = Kept::new(units, max);
    for position in ranked {
        kept.keep(*position, 0);
    }
    kept.positions
}

/// Returns all positions: the last sentence first, then those that tell most for their length.
fn ranked(units: &[Unit]) -> Vec<usize> {
    let last = last_sentence(units);
    let mut ranked: Vec<_> =
        units.iter().enumerate().map(|(at, unit)| (at, score(at, unit))).collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let others = ranked.into_iter().map(|(at, _)| at).filter(|at| Some(*at) != last);
    last.into_iter().chain(others).collect()
}

fn last_sentence(units: &[Unit]) -> Option<usize> {
    units.iter().rposition(|unit| !unit.is_code)
}

/// Returns the characters that a unit takes; one separates it from the unit before.
fn cost(unit: &Unit) -> usize {
    unit.text.chars().count() + 1
}

/// Scores how much a unit tells per character: names, numbers, words of cause, a bonus at the top.
fn score(at: usize, unit: &Unit) -> f32 {
    let note = ParsedNote::read(&unit.text);
    let content = as_f32(note.words.len()) + 3.0 * as_f32(note.marks.len());
    let telling = 4.0 * as_f32(TELLING.find_iter(&unit.text).count());
    let top = if at < 2 { 6.0 } else { 0.0 };
    // A long code block seldom says more than its sentence.
    let code = if unit.is_code { 0.5 } else { 1.0 };
    // 40 characters of ballast keep two-word sentences from winning by their shortness.
    code * (content + telling + top) / (40.0 + as_f32(unit.text.chars().count()))
}
