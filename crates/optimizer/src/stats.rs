//! Statistics: paired comparisons on held-out cases, and Student's distribution for canaries.

mod student;
#[cfg(test)]
mod tests;

use crate::random::Random;

pub use student::student_quantile;

/// Maximum number of pairs with a difference for which every pattern of signs is counted.
const MAX_EXACT_PAIRS: usize = 14;

/// Random patterns of signs otherwise.
const SIGN_PATTERNS: u32 = 20_000;

/// Samples of the bootstrap.
const BOOTSTRAP_SAMPLES: usize = 2_000;

/// Returns the one-sided p-value of a sign-flip test: the probability of a sum of differences that
/// is at least as large as the observed one, if the sign of each difference were a coin toss.
///
/// It is exact for up to 14 differences that are not 0, and otherwise from 20,000 random patterns,
/// of which the observed one is counted as one more, so that the test keeps its level.
pub fn sign_flip_p(differences: &[f64], seed: u64) -> f64 {
    let nonzero: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
    // Sums of the same numbers in another order may differ in their last bits.
    let observed = nonzero.iter().sum::<f64>() - 1e-9;
    if nonzero.len() <= MAX_EXACT_PAIRS {
        let patterns = 1_u64 << nonzero.len();
        let count = (0..patterns).filter(|bits| signed_sum(&nonzero, *bits) >= observed).count();
        return count as f64 / patterns as f64;
    }
    let mut random = Random::new(seed, "sign flips");
    let is_as_large = |_: &u32| {
        let sums = nonzero.chunks(64).map(|part| signed_sum(part, random.bits()));
        sums.sum::<f64>() >= observed
    };
    let count = (0..SIGN_PATTERNS).filter(is_as_large).count();
    (count as f64 + 1.0) / (f64::from(SIGN_PATTERNS) + 1.0)
}

/// Returns the sum, with the sign of each number changed if its bit is set.
fn signed_sum(numbers: &[f64], bits: u64) -> f64 {
    let signed = |(index, number): (usize, &f64)| {
        if bits >> index & 1 == 1 { -number } else { *number }
    };
    numbers.iter().enumerate().map(signed).sum()
}

/// Returns the p-values adjusted for their number by Holm's method, in the same order.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut largest: f64 = 0.0;
    for (rank, index) in order.iter().enumerate() {
        let factor = (p_values.len() - rank) as f64;
        largest = largest.max((factor * p_values[*index]).min(1.0));
        adjusted[*index] = largest;
    }
    adjusted
}

/// Returns the 95 % percentile bootstrap interval of a mean, or none without numbers.
pub fn bootstrap_interval(numbers: &[f64], seed: u64) -> Option<(f64, f64)> {
    if numbers.is_empty() {
        return None;
    }
    let mut random = Random::new(seed, "bootstrap");
    let mut sample_mean = || {
        let drawn = (0..numbers.len()).map(|_| numbers[random.below(numbers.len())]);
        drawn.sum::<f64>() / numbers.len() as f64
    };
    let mut means: Vec<f64> = (0..BOOTSTRAP_SAMPLES).map(|_| sample_mean()).collect();
    means.sort_by(f64::total_cmp);
    let tail = BOOTSTRAP_SAMPLES / 40;
    Some((means[tail], means[BOOTSTRAP_SAMPLES - 1 - tail]))
}

/// Returns the mean, or none without numbers.
pub fn mean(numbers: &[f64]) -> Option<f64> {
    (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
}
