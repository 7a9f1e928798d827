//! The time of one parser for one family, at four lengths.

use mc_processor_time::thread_time;
use serde::Serialize;

use super::parsers::Parser;
use crate::growth::families::Family;
use crate::growth::measure::fitted_exponent;
use crate::harness::stats::Spread;

/// Factors of the lengths of a pair.
pub const FACTORS: &[usize] = &[1, 2, 4, 8];
/// Factor of the longest text.
const LARGEST: usize = 8;
/// Duration in seconds above which a run is not repeated, since noise is a small part of it.
const NO_REPEAT_SECONDS: f64 = 0.01;
/// Duration in seconds above which no longer text is measured, once there are two points.
const ABORT_SECONDS: f64 = 2.0;
/// Most calls of a parser in one run.
const MAX_CALLS: usize = 10_000;
/// Further measurements of a pair above the limit.
const REPETITIONS: usize = 3;

/// Settings of a measurement.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// The first length of the smallest text to try, in bytes.
    pub first_bytes: usize,
    /// Length that no text exceeds, in bytes.
    pub max_bytes: usize,
    /// Time that the smallest text has to take, in seconds.
    pub min_seconds: f64,
    /// Factors of the lengths, ascending.
    pub factors: &'static [usize],
    /// Runs, of which the median counts.
    pub runs: usize,
    /// Exponent that no pair may reach.
    pub max_exponent: f64,
}

/// The time of a text.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Point {
    /// Length of the text, in bytes.
    pub bytes: usize,
    /// Processor time, in seconds.
    pub seconds: f64,
}

/// The times of one pair, shortest text first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Growth {
    /// At least two points.
    pub points: Vec<Point>,
    /// 1 for linear time, 2 for quadratic time.
    pub exponent: f64,
}

impl Growth {
    /// Fits the exponent to the points.
    pub fn of(points: Vec<Point>) -> Self {
        let pairs: Vec<_> = points.iter().map(|point| (point.bytes, point.seconds)).collect();
        Self { exponent: fitted_exponent(&pairs), points }
    }

    /// Returns the point of the longest text.
    pub fn last(&self) -> Point {
        self.points[self.points.len() - 1]
    }

    /// Returns the time for a megabyte at the length of the longest text, in milliseconds.
    pub fn milliseconds_per_megabyte(&self) -> f64 {
        let Point { bytes, seconds } = self.last();
        seconds * 1e3 / (bytes.max(1) as f64 / 1e6)
    }
}

impl Plan {
    /// Measures a pair.
    pub fn growth(&self, parser: &Parser, family: &Family) -> Growth {
        let (bytes, calls) = self.smallest(parser, family);
        let mut points = Vec::new();
        for factor in self.factors {
            let text = family.text(bytes * factor);
            let seconds = self.median(parser, &parser.input(&text), calls);
            points.push(Point { bytes: text.len(), seconds });
            if seconds > ABORT_SECONDS && points.len() > 1 {
                break;
            }
        }
        Growth::of(points)
    }

    /// Measures a pair again, up to three times, until its exponent is below the limit. The
    /// smallest exponent counts, because other load adds time, above all to the longer texts.
    pub fn repeat(&self, parser: &Parser, family: &Family, growth: &mut Growth) {
        for _ in 0..REPETITIONS {
            if growth.exponent < self.max_exponent {
                return;
            }
            let again = self.growth(parser, family);
            if again.exponent < growth.exponent {
                *growth = again;
            }
        }
    }

    /// Returns the length n of the smallest text, and the number of calls in a run, which is that
    /// of the smallest text with a part of the family.
    fn smallest(&self, parser: &Parser, family: &Family) -> (usize, usize) {
        let largest = (parser.max_bytes.min(self.max_bytes) / LARGEST).max(1);
        let mut bytes = self.first_bytes.min(largest);
        // The first call may compile expressions, which takes as long as a long text.
        seconds(parser, &parser.input(&family.text(bytes)), 1);
        loop {
            // A short text may have no room for a part of the family; it would take no time.
            let mut texts = self.factors.iter().map(|factor| family.text(bytes * factor));
            let text = texts.find(|text| !text.is_empty()).unwrap_or_default();
            let input = parser.input(&text);
            let first = seconds(parser, &input, 1);
            let seconds = if first < NO_REPEAT_SECONDS {
                first.min(seconds(parser, &input, 1))
            } else {
                first
            };
            let missing = self.min_seconds / seconds.max(1e-9);
            if missing <= 1.0 {
                return (bytes, 1);
            }
            if bytes == largest {
                return (bytes, rounded_up(missing).clamp(1, MAX_CALLS));
            }
            bytes = (bytes * rounded_up(missing.clamp(2.0, 8.0))).min(largest);
        }
    }

    /// Returns the median time of one call, in seconds.
    fn median(&self, parser: &Parser, input: &str, calls: usize) -> f64 {
        // The first call for a length gets memory from the system.
        let first = seconds(parser, input, 1);
        if first > ABORT_SECONDS {
            return first;
        }
        let runs = if first > NO_REPEAT_SECONDS { 1 } else { self.runs };
        let times = (0..runs).map(|_| seconds(parser, input, calls));
        Spread::of(times).median / calls as f64
    }
}

/// Returns the processor time of several calls together, in seconds, with that of child processes.
fn seconds(parser: &Parser, input: &str, calls: usize) -> f64 {
    let start = thread_time();
    for _ in 0..calls {
        parser.parse(input);
    }
    thread_time().saturating_sub(start).as_secs_f64()
}

/// Returns the number, rounded up. It is positive.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast saturates")]
fn rounded_up(number: f64) -> usize {
    number.ceil() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn growth(of: impl Fn(f64) -> f64) -> Growth {
        let point = |factor: usize| Point {
            bytes: 1_000 * factor,
            seconds: of(1_000.0 * factor as f64) / 1e6,
        };
        Growth::of(FACTORS.iter().copied().map(point).collect())
    }

    #[test]
    fn exponent_is_that_of_the_growth() {
        let is = |growth: &Growth, wanted: f64| (growth.exponent - wanted).abs() < 1e-6;
        assert!(is(&growth(|bytes| bytes), 1.0));
        assert!(is(&growth(|bytes| 7.0 * bytes * bytes), 2.0));
        assert!(is(&growth(|_| 3.0), 0.0));
        let n_log_n = growth(|bytes| bytes * bytes.ln()).exponent;
        assert!((1.0..1.3).contains(&n_log_n), "{n_log_n}");
    }

    #[test]
    fn texts_of_one_length_have_no_growth() {
        let point = |seconds| Point { bytes: 10, seconds };
        assert!(Growth::of(vec![point(0.1), point(0.9)]).exponent.abs() < 1e-9);
    }

    #[test]
    fn empty_text_does_not_change_the_exponent() {
        let mut points = growth(|bytes| bytes).points;
        points.push(Point { bytes: 0, seconds: 1e-8 });
        let exponent = Growth::of(points).exponent;
        assert!((exponent - 1.0).abs() < 1e-9, "{exponent}");
    }

    #[test]
    fn time_for_a_megabyte_is_that_of_the_longest_text() {
        let time = growth(|bytes| bytes).milliseconds_per_megabyte();
        assert!((time - 1_000.0).abs() < 1e-6, "{time}");
    }
}
