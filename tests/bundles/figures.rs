//! Figures over many questions: means, and the reliability of confidences.

use serde::Serialize;

use super::judge::Row;

/// Number of bins of confidences.
const BINS: usize = 10;

/// The figures of a set.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figures {
    /// Number of questions.
    pub questions: usize,
    /// Share of fully correct questions.
    pub useful: f64,
    /// Share of required notes; mean over questions.
    pub must: f64,
    /// Share of required phrases that are readable; mean over questions.
    pub complete: f64,
    /// Share of questions in which the right note is first.
    pub first: f64,
    /// Share of unwanted items; mean over bundles that are not empty.
    pub noise: f64,
    /// Share of unwanted characters; mean over bundles that are not empty.
    pub noise_chars: f64,
    /// Empty questions with an empty or nearly empty response.
    pub empty_right: Of,
    /// Other questions with an empty response.
    pub wrongly_empty: Of,
    /// Characters / 4 of the median bundle.
    pub tokens: f64,
    /// Median request time, in milliseconds.
    pub ms: f64,
}

/// A number of some questions out of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Of {
    /// The number.
    pub some: usize,
    /// The total.
    pub all: usize,
}

/// Bundles of similar confidence.
#[derive(Debug, PartialEq, Serialize)]
pub struct Bin {
    /// The minimum confidence.
    pub from: f64,
    /// Number of bundles.
    pub bundles: usize,
    /// Their mean confidence.
    pub confidence: f64,
    /// The share of fully correct ones.
    pub useful: f64,
}

impl Figures {
    /// Computes the figures of at least one question.
    pub fn of<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Self {
        let rows: Vec<_> = rows.into_iter().collect();
        let (vague, asked): (Vec<_>, Vec<_>) =
            rows.iter().copied().partition(|row: &&Row| row.empty);
        let share =
            |figure: fn(&Row) -> Option<f64>| mean(asked.iter().filter_map(|row| figure(row)));
        Self {
            questions: rows.len(),
            useful: mean(rows.iter().map(|row| f64::from(u8::from(row.useful)))),
            must: share(|row| row.must),
            complete: share(|row| row.complete),
            first: share(|row| row.first),
            noise: share(|row| row.noise),
            noise_chars: share(|row| row.noise_chars),
            empty_right: Of::count(&vague, |row| row.useful),
            wrongly_empty: Of::count(&asked, |row| row.got.is_empty()),
            tokens: median(asked.iter().map(|row| row.tokens)),
            ms: median(rows.iter().map(|row| row.ms)),
        }
    }
}

impl Of {
    fn count(rows: &[&Row], is_meant: fn(&Row) -> bool) -> Self {
        Self { some: rows.iter().filter(|row| is_meant(row)).count(), all: rows.len() }
    }
}

/// Groups bundles that are not empty by tenths of their confidence; empty tenths are left out.
pub fn reliability<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Vec<Bin> {
    let mut bins = vec![Vec::new(); BINS];
    for row in rows.into_iter().filter(|row| !row.got.is_empty()) {
        let Some(confidence) = row.confidence else { continue };
        let bin = (0..BINS).rev().find(|bin| confidence >= lowest(*bin)).unwrap_or_default();
        bins[bin].push((confidence, f64::from(u8::from(row.useful))));
    }
    let filled = bins.into_iter().enumerate().filter(|(_, bundles)| !bundles.is_empty());
    filled.map(|(bin, bundles)| Bin::of(lowest(bin), &bundles)).collect()
}

fn lowest(bin: usize) -> f64 {
    bin as f64 / BINS as f64
}

impl Bin {
    fn of(from: f64, bundles: &[(f64, f64)]) -> Self {
        Self {
            from,
            bundles: bundles.len(),
            confidence: mean(bundles.iter().map(|(confidence, _)| *confidence)),
            useful: mean(bundles.iter().map(|(_, useful)| *useful)),
        }
    }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0_usize), |(sum, count), value| (sum + value, count + 1));
    if count == 0 { 0.0 } else { sum / count as f64 }
}

/// Returns the median; of an even number, the mean of the middle two.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        count if count % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}
