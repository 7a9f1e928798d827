//! Many questions: means, and what a confidence is worth.

use serde::Serialize;

use super::judge::Row;

/// Into which confidences are put together.
const BINS: usize = 10;

/// The figures of a set.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figures {
    /// How many.
    pub questions: usize,
    /// Share of questions that are fully right.
    pub useful: f64,
    /// Share of the notes that have to be there; mean over questions.
    pub must: f64,
    /// Share of the phrases that have to be readable; mean over questions.
    pub complete: f64,
    /// Share of questions in which the right note leads.
    pub first: f64,
    /// Share of items that nobody asked for; mean over bundles that are not empty.
    pub noise: f64,
    /// The same by characters.
    pub noise_chars: f64,
    /// Empty questions that got nothing, or next to it.
    pub empty_right: Of,
    /// Other questions that got nothing.
    pub wrongly_empty: Of,
    /// Characters / 4 of a bundle, the median.
    pub tokens: f64,
    /// Of a request, in milliseconds, the median.
    pub ms: f64,
}

/// Some of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Of {
    /// How many are meant.
    pub some: usize,
    /// Of how many.
    pub all: usize,
}

/// Bundles that were about as sure.
#[derive(Debug, PartialEq, Serialize)]
pub struct Bin {
    /// The least confidence.
    pub from: f64,
    /// How many bundles.
    pub bundles: usize,
    /// Their mean confidence.
    pub confidence: f64,
    /// The share that was fully right.
    pub useful: f64,
}

impl Figures {
    /// Of at least one question.
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

/// What a confidence is worth: bundles that hold something, by tenths of their confidence; tenths without any are
/// left out.
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

/// Between the two in the middle where there are two.
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
