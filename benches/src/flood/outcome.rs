//! The outcome of one attack, compared with the budgets.

use super::attack::Attack;
use super::attacker::Totals;
use super::caller::Recalls;
use crate::harness::report::short;
use crate::harness::stats::Times;

/// The budgets, which hold during every attack.
const MAX_P99_MS: f64 = 200.0;
const MAX_MEMORY_MB: f64 = 600.0;

/// The columns of [`Outcome::to_row`].
pub const HEADER: [&str; 12] = [
    "attack",
    "description",
    "result",
    "attacker's requests",
    "responses",
    "cores used",
    "recalls",
    "with a late retriever",
    "p50, ms",
    "p99, ms",
    "max, ms",
    "memory peak, MB",
];

/// What an attacker did, and what it did to the service.
pub struct Outcome {
    /// The attack.
    pub attack: Attack,
    /// What the attacker did.
    pub attacked: Totals,
    /// The recalls of the other caller.
    pub recalls: Recalls,
    /// Peak of the service's resident memory, in MB.
    pub peak_mb: f64,
}

impl Outcome {
    /// Returns the number of recalls that failed.
    pub fn failed(&self) -> f64 {
        self.recalls.failures.len() as f64
    }

    /// Returns the number of deliveries that failed.
    pub fn failed_deliveries(&self) -> f64 {
        self.recalls.failed_deliveries.len() as f64
    }

    /// Returns the time within which a share of the recalls succeeded, in milliseconds.
    pub fn percentile(&self, share: f64) -> f64 {
        if self.recalls.times.is_empty() {
            return f64::INFINITY;
        }
        Times::of(self.recalls.times.iter().copied()).percentile(share)
    }

    /// Returns the budgets that were exceeded, and other reasons why the attack did not fail.
    pub fn complaints(&self) -> Vec<String> {
        let (p99, failures) = (self.percentile(0.99), &self.recalls.failures);
        let mut complaints = Vec::new();
        if let Some(first) = failures.first() {
            complaints.push(format!("{} recalls failed, the first: {first}", failures.len()));
        }
        let failures = &self.recalls.failed_deliveries;
        if let Some(first) = failures.first() {
            complaints.push(format!("{} deliveries failed, the first: {first}", failures.len()));
        }
        if p99 >= MAX_P99_MS {
            complaints.push(format!("p99 {} ms, not below {MAX_P99_MS}", short(p99)));
        }
        if self.peak_mb >= MAX_MEMORY_MB {
            let peak = short(self.peak_mb);
            complaints.push(format!("memory peak {peak} MB, not below {MAX_MEMORY_MB}"));
        }
        if self.attack.workers() > 0 && self.attacked.sent == 0 {
            complaints.push("the attacker sent nothing".to_owned());
        }
        let succeeded = self.attacked.responses.keys().any(|status| (200..300).contains(status));
        if self.attack.is_valid() && !succeeded {
            complaints
                .push("no request of the attacker succeeded, though all are valid".to_owned());
        }
        complaints
    }

    /// Returns `withstood`, or the complaints.
    pub fn verdict(&self) -> String {
        let complaints = self.complaints();
        if complaints.is_empty() { "withstood".to_owned() } else { complaints.join("; ") }
    }

    /// Returns the cells of the table.
    pub fn to_row(&self) -> Vec<String> {
        let (attacked, recalls) = (&self.attacked, &self.recalls);
        let responses =
            attacked.responses.iter().map(|(status, count)| format!("{count} x {status}"));
        vec![
            self.attack.name(),
            self.attack.description(),
            self.verdict(),
            attacked.sent.to_string(),
            responses.collect::<Vec<_>>().join(", "),
            short(attacked.cores),
            (recalls.times.len() + recalls.failures.len()).to_string(),
            recalls.degraded.to_string(),
            short(self.percentile(0.5)),
            short(self.percentile(0.99)),
            short(self.percentile(1.0)),
            short(self.peak_mb),
        ]
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn outcome(recall: Duration, failures: &[&str], peak_mb: f64, status: u16) -> Outcome {
        Outcome {
            attack: Attack::CostlySearches,
            attacked: Totals { sent: 1, responses: [(status, 1)].into(), cores: 0.5 },
            recalls: Recalls {
                times: vec![recall],
                failures: failures.iter().map(|text| (*text).to_owned()).collect(),
                ..Recalls::default()
            },
            peak_mb,
        }
    }

    #[test]
    fn an_attack_within_every_budget_is_withstood() {
        let withstood = outcome(Duration::from_millis(199), &[], 599.0, 200);
        assert_eq!(withstood.verdict(), "withstood");
        assert_eq!(withstood.to_row().len(), HEADER.len());
    }

    #[test]
    fn each_exceeded_budget_is_named() {
        let fast = Duration::from_millis(1);
        for (outcome, complaint) in [
            (outcome(fast, &["refused"], 100.0, 200), "1 recalls failed, the first: refused"),
            (outcome(Duration::from_millis(200), &[], 100.0, 200), "p99 200 ms, not below 200"),
            (outcome(fast, &[], 600.0, 200), "memory peak 600 MB, not below 600"),
            (outcome(fast, &[], 100.0, 400), "no request of the attacker succeeded"),
        ] {
            let complaints = outcome.complaints();
            assert_eq!(complaints.len(), 1, "{complaints:?}");
            assert!(complaints[0].starts_with(complaint), "{complaints:?}");
        }
    }

    #[test]
    fn a_failed_delivery_exceeds_the_budget() {
        let mut outcome = outcome(Duration::ZERO, &[], 100.0, 200);
        outcome.recalls.failed_deliveries.push("refused".to_owned());
        assert_eq!(outcome.verdict(), "1 deliveries failed, the first: refused");
    }

    #[test]
    fn no_recall_at_all_exceeds_the_budget() {
        let mut outcome = outcome(Duration::ZERO, &[], 100.0, 200);
        outcome.recalls.times.clear();
        assert_eq!(outcome.verdict(), "p99 inf ms, not below 200");
    }
}
