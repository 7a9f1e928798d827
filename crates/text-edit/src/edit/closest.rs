//! The place that is most similar to a text that was not found.

use std::collections::{HashMap, HashSet};

use crate::error::Closest;
use crate::limits::{Limits, MAX_QUOTED_BYTES, cut};
use crate::view::View;

/// Lines around the place.
const CONTEXT: usize = 2;
/// Limits of the lines in an error.
const LIMITS: Limits = Limits { max_line_bytes: MAX_QUOTED_BYTES, max_bytes: 4 * 1024 };
/// Most lines of a request that are compared.
const MAX_REQUESTED_LINES: usize = 200;
/// Most lines of the file with the same text that are compared.
const MAX_EQUAL_LINES: usize = 100;
/// Least share of common words of similar lines.
const MIN_SHARED_WORDS: f64 = 0.5;

/// Returns the place that has most lines of `old`, apart from white space at their ends, or whose
/// first line has most words of that of `old`; `None` if nothing is similar.
pub(super) fn find(view: &View<'_>, old: &str) -> Option<Box<Closest>> {
    let shown: Vec<&str> =
        view.shown_lines().iter().map(|line| &view.shown()[line.clone()]).collect();
    let requested: Vec<&str> = old.lines().take(MAX_REQUESTED_LINES).collect();
    let first = by_equal_lines(&shown, &requested).or_else(|| by_words(&shown, &requested))?;
    let last = (first + requested.len()).min(shown.len()) - 1;
    let differs = |at: &usize| shown.get(first + at) != requested.get(*at);
    // Without a differing line, the request has other text before or after its lines.
    let differing = (0..requested.len()).find(differs).unwrap_or(0);
    let quoted =
        |line: Option<&&str>| line.map_or("", |line| cut(line, MAX_QUOTED_BYTES)).to_owned();
    Some(Box::new(Closest {
        first_line: first + 1,
        last_line: last + 1,
        differing_line: first + differing + 1,
        shown: quoted(shown.get(first + differing)),
        requested: quoted(requested.get(differing)),
        around: view.lines_around(first + 1, last + 1, CONTEXT, LIMITS),
    }))
}

/// Returns the first line of the place with most equal lines.
fn by_equal_lines(shown: &[&str], requested: &[&str]) -> Option<usize> {
    let mut lines: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, line) in shown.iter().enumerate() {
        let known = lines.entry(line.trim()).or_default();
        if known.len() < MAX_EQUAL_LINES {
            known.push(at);
        }
    }
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for (at, line) in requested.iter().enumerate() {
        // An empty line is everywhere.
        let equal = lines.get(line.trim()).filter(|_| !line.trim().is_empty());
        for found in equal.into_iter().flatten() {
            if let Some(first) = found.checked_sub(at) {
                *votes.entry(first).or_default() += 1;
            }
        }
    }
    let best = votes.into_iter().max_by_key(|(first, votes)| (*votes, std::cmp::Reverse(*first)));
    best.map(|(first, _)| first)
}

/// Returns the first line of the place whose line shares most words with the first line of the
/// request that is not blank.
fn by_words(shown: &[&str], requested: &[&str]) -> Option<usize> {
    let (at, line) = requested.iter().enumerate().find(|(_, line)| !line.trim().is_empty())?;
    let wanted = words(line);
    let mut best = None;
    for (found, line) in shown.iter().enumerate() {
        let words = words(line);
        let common = words.intersection(&wanted).count();
        let share = 2.0 * common as f64 / (words.len() + wanted.len()).max(1) as f64;
        let least = best.map_or(MIN_SHARED_WORDS, |(_, share): (usize, f64)| share);
        let is_better = if best.is_none() { share >= least } else { share > least };
        if common > 0 && is_better {
            best = Some((found, share));
        }
    }
    best.map(|(found, _)| found.saturating_sub(at))
}

fn words(line: &str) -> HashSet<&str> {
    let line = cut(line, MAX_QUOTED_BYTES);
    line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect()
}
