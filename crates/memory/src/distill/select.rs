//! Selecting the units of a note that is too long.

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

/// Joins units to a text of at most `max` characters: all if they fit, else the last sentence,
/// which often states the rule, and those that tell most for their length, in order.
pub fn within(units: &[Unit], max: usize) -> String {
    let whole = join(units);
    if whole.chars().count() <= max {
        return whole;
    }
    let last = units.iter().rposition(|unit| !unit.is_code);
    let mut ranked: Vec<_> =
        units.iter().enumerate().map(|(at, unit)| (at, score(at, unit))).collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let others = ranked.into_iter().map(|(at, _)| at).filter(|at| Some(*at) != last);
    let mut kept: Vec<usize> = Vec::new();
    let mut room = max;
    for at in last.into_iter().chain(others) {
        // One character separates a unit from the one before.
        let cost = units[at].text.chars().count() + 1;
        if cost <= room {
            room -= cost;
            kept.push(at);
        }
    }
    if kept.is_empty() {
        return cut(&whole, max);
    }
    kept.sort_unstable();
    join(kept.into_iter().map(|at| &units[at]))
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
