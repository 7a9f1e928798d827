//! Statistics of repeated measurements.

use std::time::Duration;

use serde::Serialize;

/// A measure over several runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// The median; of an even number, the lower of the middle two.
    pub median: f64,
    /// The minimum.
    pub min: f64,
    /// The maximum.
    pub max: f64,
    /// Number of runs.
    pub runs: usize,
}

impl Spread {
    /// Computes the spread of at least one value.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let values = sorted(values.into_iter().collect());
        let (first, last) = (values[0], values[values.len() - 1]);
        Self { median: at(&values, 0.5), min: first, max: last, runs: values.len() }
    }
}

/// Times of single requests within one run, in milliseconds.
#[derive(Debug, Clone)]
pub struct Times(Vec<f64>);

impl Times {
    /// Creates it of at least one request.
    pub fn of(times: impl IntoIterator<Item = Duration>) -> Self {
        Self(sorted(times.into_iter().map(|time| time.as_secs_f64() * 1_000.0).collect()))
    }

    /// Joins the requests of several runs.
    pub fn together<'a>(runs: impl IntoIterator<Item = &'a Self>) -> Self {
        Self(sorted(runs.into_iter().flat_map(|run| run.0.iter().copied()).collect()))
    }

    /// Returns the time within which a share of the requests completed (nearest rank).
    pub fn percentile(&self, share: f64) -> f64 {
        at(&self.0, share)
    }
}

/// Returns the value of the nearest rank.
fn at(sorted: &[f64], share: f64) -> f64 {
    let rank = (share * sorted.len() as f64).ceil();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank in a list")]
    let rank = rank.max(1.0) as usize;
    sorted[rank.min(sorted.len()) - 1]
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    assert!(!values.is_empty(), "nothing was measured");
    values.sort_by(f64::total_cmp);
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_has_median_minimum_and_maximum() {
        let spread = Spread::of([3.0, 1.0, 9.0, 2.0, 4.0]);
        assert_eq!(spread, Spread { median: 3.0, min: 1.0, max: 9.0, runs: 5 });
    }

    #[test]
    fn percentiles_are_measured_values() {
        let times = Times::of((1..=100).map(Duration::from_millis));
        let is = |share, wanted: f64| (times.percentile(share) - wanted).abs() < 1e-9;
        assert!(is(0.5, 50.0) && is(0.95, 95.0) && is(0.99, 99.0) && is(1.0, 100.0), "{times:?}");
        assert!(is(0.0, 1.0), "{times:?}");
        let slower = Times::of((101..=200).map(Duration::from_millis));
        let all = Times::together([&slower, &times]).percentile(0.5);
        assert!((all - 100.0).abs() < 1e-9, "{all}");
    }
}
