//! Comparison of the arms by the success rates of developers.

use super::count::Developer;
use crate::arms::Arm;
use crate::stats::student_quantile;

/// Largest correlation that is assumed between dialogs of one developer.
const MAX_CORRELATION: f64 = 0.9;

/// Gain of the canary over the parent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Estimate {
    /// Difference of the success rates.
    pub(super) gain: f64,
    /// Its standard error.
    pub(super) error: f64,
    degrees: f64,
}

impl Estimate {
    /// Returns the interval that the true gain is above with probability `1 - alpha`, and below
    /// with the same.
    pub(super) fn interval(self, alpha: f64) -> (f64, f64) {
        if alpha <= 0.0 {
            return (-1.0, 1.0);
        }
        let margin = student_quantile(alpha.min(0.5), self.degrees) * self.error;
        ((self.gain - margin).max(-1.0), (self.gain + margin).min(1.0))
    }
}

/// Compares the arms. Returns none unless both have developers, and three in all.
pub(super) fn compare(developers: &[Developer]) -> Option<Estimate> {
    let correlation = correlation(developers);
    let weighted: Vec<_> = developers
        .iter()
        .map(|found| (found.arm, rate(found), weight(found, correlation)))
        .collect();
    let canary = weighted_mean(&weighted, Arm::Canary)?;
    let parent = weighted_mean(&weighted, Arm::Parent)?;
    let degrees = developers.len().checked_sub(2).filter(|degrees| *degrees > 0)? as f64;
    let center = |arm| if arm == Arm::Canary { canary.0 } else { parent.0 };
    let squares: f64 = weighted.iter().map(|(arm, x, w)| w * (x - center(*arm)).powi(2)).sum();
    let variance = (squares / degrees).max(least_variance(developers));
    let error = (variance * (1.0 / canary.1 + 1.0 / parent.1)).sqrt();
    Some(Estimate { gain: canary.0 - parent.0, error, degrees })
}

fn rate(developer: &Developer) -> f64 {
    f64::from(developer.succeeded) / f64::from(developer.dialogs.max(1))
}

/// Returns the number of independent dialogs that tell as much as those of a developer.
fn weight(developer: &Developer, correlation: f64) -> f64 {
    let dialogs = f64::from(developer.dialogs);
    dialogs / (1.0 + (dialogs - 1.0).max(0.0) * correlation)
}

/// Returns the weighted mean of an arm and the sum of the weights.
fn weighted_mean(weighted: &[(Arm, f64, f64)], arm: Arm) -> Option<(f64, f64)> {
    let own = weighted.iter().filter(|(found, ..)| *found == arm);
    let total: f64 = own.clone().map(|(_, _, weight)| weight).sum();
    (total > 0.0).then(|| (own.map(|(_, rate, weight)| rate * weight).sum::<f64>() / total, total))
}

/// Returns the variance of a single dialog. Rates of developers cannot vary less than those of
/// independent dialogs, even if they are equal by chance.
fn least_variance(developers: &[Developer]) -> f64 {
    let sum = |count: fn(&Developer) -> u32| developers.iter().map(count).map(f64::from).sum();
    let (succeeded, dialogs): (f64, f64) =
        (sum(|found| found.succeeded), sum(|found| found.dialogs));
    let rate = (succeeded + 1.0) / (dialogs + 2.0);
    rate * (1.0 - rate)
}

/// Returns the correlation between dialogs of one developer, by an analysis of variance within the
/// arms.
fn correlation(developers: &[Developer]) -> f64 {
    let count = |found: &Developer| f64::from(found.dialogs);
    let dialogs: f64 = developers.iter().map(count).sum();
    let (between_degrees, within_degrees) =
        (developers.len() as f64 - 2.0, dialogs - developers.len() as f64);
    if between_degrees < 1.0 || within_degrees < 1.0 {
        return 0.0;
    }
    let pooled: Vec<_> =
        developers.iter().map(|found| (found.arm, rate(found), count(found))).collect();
    let center = |arm| weighted_mean(&pooled, arm).map_or(0.0, |(mean, _)| mean);
    let (canary, parent) = (center(Arm::Canary), center(Arm::Parent));
    let deviation = |arm, rate: f64| rate - if arm == Arm::Canary { canary } else { parent };
    let between: f64 = pooled.iter().map(|(arm, x, n)| n * deviation(*arm, *x).powi(2)).sum();
    let within: f64 = pooled.iter().map(|(_, x, n)| n * x * (1.0 - x)).sum();
    let (between, within) = (between / between_degrees, within / within_degrees);
    let squares: f64 = developers.iter().map(|found| count(found).powi(2)).sum();
    let size = (dialogs - squares / dialogs) / (developers.len() as f64 - 1.0);
    let total = between + (size - 1.0) * within;
    if total > 0.0 { ((between - within) / total).clamp(0.0, MAX_CORRELATION) } else { 0.0 }
}
