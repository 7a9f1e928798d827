//! The processor time of a thread, and its growth.

use rustix::time::{ClockId, clock_gettime};

/// Resolution of the clock, in seconds. A shorter time counts as this one.
const RESOLUTION: f64 = 1e-9;

/// Returns the processor time of this thread, in seconds, so that other threads do not count.
pub fn thread_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Returns the exponent of the growth of the time: 1 for linear time, 2 for quadratic time.
///
/// A point has a length in bytes and a time in seconds. The exponent is the slope of the straight
/// line through the logarithms of the points, by least squares; 0 if all lengths are equal. An
/// empty text does not count: it has no logarithm, and parsers return at once.
pub fn fitted_exponent(points: &[(usize, f64)]) -> f64 {
    let logarithms: Vec<(f64, f64)> = points
        .iter()
        .filter(|(bytes, _)| *bytes > 0)
        .map(|(bytes, seconds)| (*bytes as f64, seconds.max(RESOLUTION)))
        .map(|(bytes, seconds)| (bytes.ln(), seconds.ln()))
        .collect();
    let count = logarithms.len() as f64;
    let mean_x = logarithms.iter().map(|(x, _)| x).sum::<f64>() / count;
    let mean_y = logarithms.iter().map(|(_, y)| y).sum::<f64>() / count;
    let covariance: f64 = logarithms.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let variance: f64 = logarithms.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    if variance > f64::EPSILON { covariance / variance } else { 0.0 }
}
