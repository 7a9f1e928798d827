//! The pairs of a parser and a family: their choice, their measurement, and its outcome.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Result, ensure};
use serde::Serialize;

use super::measure::{Growth, Plan, Point};
use super::parsers::Parser;
use crate::growth::families::Family;
use crate::harness::report::short;
use crate::harness::say;

/// Parts of the names of the chosen parsers and families; all if empty.
#[derive(Debug, Clone, Copy)]
pub struct Selection<'a> {
    /// Parts of names of parsers.
    pub parsers: &'a [String],
    /// Parts of names of families.
    pub families: &'a [String],
}

/// A parser and a family.
#[derive(Clone, Copy)]
pub struct Pair<'a> {
    /// The parser.
    pub parser: &'a Parser,
    /// The family.
    pub family: &'a Family,
}

/// Result of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The exponent is below the limit.
    Linear,
    /// The exponent is above the limit.
    AboveLimit,
}

impl Outcome {
    fn of(plan: &Plan, growth: &Growth) -> Self {
        if growth.exponent < plan.max_exponent { Self::Linear } else { Self::AboveLimit }
    }
}

/// A measured pair.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measurement<'a> {
    /// Name of the parser.
    pub parser: &'a str,
    /// Name of the family.
    pub family: &'a str,
    /// Result of the pair.
    pub outcome: Outcome,
    /// The times.
    #[serde(flatten)]
    pub growth: Growth,
}

impl Measurement<'_> {
    /// Describes the pair in one line.
    pub fn to_line(&self) -> String {
        let point =
            |point: &Point| format!("{} ms at {} bytes", short(point.seconds * 1e3), point.bytes);
        let points: Vec<String> = self.growth.points.iter().map(point).collect();
        let (parser, family, exponent) = (self.parser, self.family, self.growth.exponent);
        format!("- {parser}, {family}: exponent {exponent:.2} ({})", points.join(", "))
    }
}

impl Selection<'_> {
    /// Returns the chosen parsers.
    pub fn parsers<'a>(&self, parsers: &'a [Parser]) -> impl Iterator<Item = &'a Parser> {
        parsers.iter().filter(|parser| is_chosen(&parser.name, self.parsers))
    }

    /// Returns the chosen pairs, parser by parser: each with the families of text and its own.
    pub fn pairs<'a>(
        &self,
        parsers: &'a [Parser],
        families: &'a [Family],
    ) -> Result<Vec<Pair<'a>>> {
        let pairs: Vec<Pair<'a>> = self
            .parsers(parsers)
            .flat_map(|parser| {
                let families = families.iter().chain(&parser.own_families);
                families.map(move |family| Pair { parser, family })
            })
            .filter(|pair| is_chosen(&pair.family.name, self.families))
            .collect();
        check_choice(&pairs, parsers)?;
        Ok(pairs)
    }
}

fn is_chosen(name: &str, parts: &[String]) -> bool {
    parts.is_empty() || parts.iter().any(|part| name.contains(part.as_str()))
}

/// Fails with the names of all parsers if nothing is chosen.
pub fn check_choice(chosen: &[Pair<'_>], parsers: &[Parser]) -> Result<()> {
    let names: Vec<&str> = parsers.iter().map(|parser| parser.name.as_str()).collect();
    ensure!(
        !chosen.is_empty(),
        "--parser and --family match no pair; give parts of other names. The parsers are: {}",
        names.join(", ")
    );
    Ok(())
}

/// Measures all pairs, on several threads. Prints the name of each parser.
pub fn measure<'a>(plan: &Plan, pairs: &[Pair<'a>], threads: usize) -> Vec<Measurement<'a>> {
    let announce = |index| {
        if is_first_of_its_parser(pairs, index) {
            say(&pairs[index].parser.name);
        }
    };
    measure_and(plan, pairs, threads, announce)
}

/// Measures all pairs, on several threads. Calls `start` with the index of each pair.
pub fn measure_and<'a>(
    plan: &Plan,
    pairs: &[Pair<'a>],
    threads: usize,
    start: impl Fn(usize) + Sync,
) -> Vec<Measurement<'a>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut measured = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(pair) = pairs.get(index) else { return measured };
            start(index);
            let _stop = StopOnPanic { pair: *pair, next: &next, end: pairs.len() };
            measured.push((index, plan.growth(pair.parser, pair.family)));
        }
    };
    let mut measured: Vec<(usize, Growth)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let join = |worker: thread::ScopedJoinHandle<'_, Vec<(usize, Growth)>>| {
            worker.join().expect("a parser panicked; the output names it")
        };
        workers.into_iter().flat_map(join).collect()
    });
    measured.sort_by_key(|(index, _)| *index);
    pairs
        .iter()
        .zip(measured)
        .map(|(pair, (_, growth))| Measurement {
            parser: &pair.parser.name,
            family: &pair.family.name,
            outcome: Outcome::of(plan, &growth),
            growth,
        })
        .collect()
}

/// Measures the pairs above the limit again, on one thread.
pub fn repeat(plan: &Plan, pairs: &[Pair<'_>], measured: &mut [Measurement<'_>]) {
    for (pair, found) in pairs.iter().zip(measured) {
        if found.outcome == Outcome::AboveLimit {
            say(&format!("again: {}, {}", found.parser, found.family));
            plan.repeat(pair.parser, pair.family, &mut found.growth);
            found.outcome = Outcome::of(plan, &found.growth);
        }
    }
}

fn is_first_of_its_parser(pairs: &[Pair<'_>], index: usize) -> bool {
    index == 0 || !std::ptr::eq(pairs[index - 1].parser, pairs[index].parser)
}

/// Prints the pair if its parser panics, and makes the other threads stop after their pairs.
struct StopOnPanic<'a> {
    pair: Pair<'a>,
    next: &'a AtomicUsize,
    end: usize,
}

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.next.store(self.end, Ordering::Relaxed);
            let Pair { parser, family } = self.pair;
            say(&format!("{} panicked on {}", parser.name, family.name));
        }
    }
}
