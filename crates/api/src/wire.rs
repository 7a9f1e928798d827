//! Values of the wire that belong to no single route.

/// Rounds a score to two decimals: more would cost tokens and say nothing.
pub fn rounded(score: f32) -> f64 {
    (f64::from(score) * 100.0).round() / 100.0
}
