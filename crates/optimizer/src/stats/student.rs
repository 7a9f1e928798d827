//! Student's t-distribution.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Returns the value that is exceeded with probability `tail`, for `0 < tail <= 0.5`, with `df`
/// degrees of freedom (at least 1).
pub fn student_quantile(tail: f64, df: f64) -> f64 {
    let standard = StudentsT::new(0.0, 1.0, df);
    // The distribution is symmetric, and small tails have more digits than values near 1.
    standard.map_or(f64::INFINITY, |standard| -standard.inverse_cdf(tail))
}
