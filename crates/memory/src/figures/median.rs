//! The median of a sample and its interval.

/// The fewest values of which the median has a 95 % interval: of five, the whole range holds it in
/// 93.75 % of all samples only.
const VALUES_MIN: usize = 6;

/// Probability that the interval misses the median on one side.
const TAIL: f64 = 0.025;

/// A median with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct MedianInterval {
    /// The median.
    pub median: f64,
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
}

/// Returns the median of sorted values, and the interval between two of them that holds the median
/// of the distribution with a probability of at least 95 %, whatever the distribution. `None` for
/// too few values.
pub(super) fn median_interval(sorted: &[f64]) -> Option<MedianInterval> {
    let count = sorted.len();
    if count < VALUES_MIN {
        return None;
    }
    let rank = low_rank(count);
    let median = f64::midpoint(sorted[(count - 1) / 2], sorted[count / 2]);
    Some(MedianInterval { median, low: sorted[rank - 1], high: sorted[count - rank] })
}

/// Returns the highest rank, from 1, below which fewer than `rank` of `count` values lie with a
/// probability of at most [`TAIL`]: the number of values below the median is binomial.
fn low_rank(count: usize) -> usize {
    // In logarithms: 0.5 to the power of the count would be 0 for more than 1,074 values.
    let mut term = -(count as f64) * std::f64::consts::LN_2;
    let mut below = term.exp();
    let mut rank = 1;
    for value in 1..count {
        term += ((count - value + 1) as f64 / value as f64).ln();
        below += term.exp();
        if below > TAIL {
            break;
        }
        rank = value + 1;
    }
    rank
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_has_the_ranks_of_the_sign_test() {
        // From tables of the sign test, 5 % on both sides: n, and the rank of the lower bound.
        for (count, rank) in
            [(6, 1), (8, 1), (9, 2), (11, 2), (12, 3), (15, 4), (20, 6), (25, 8), (50, 18)]
        {
            assert_eq!(low_rank(count), rank, "{count}");
        }
        let large = low_rank(10_000);
        assert!((4_900..4_905).contains(&large), "{large}");
    }

    #[test]
    fn median_of_an_even_sample_is_between_two_values() {
        let six = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
        let expected = MedianInterval { median: 6.0, low: 1.0, high: 32.0 };
        assert_eq!(median_interval(&six), Some(expected));
        let nine = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 90.0];
        let expected = MedianInterval { median: 5.0, low: 2.0, high: 8.0 };
        assert_eq!(median_interval(&nine), Some(expected));
        assert_eq!(median_interval(&six[..5]), None);
    }
}
