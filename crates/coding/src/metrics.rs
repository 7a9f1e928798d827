//! Metrics of patches.

use std::time::Duration;

use mc_metrics::{Counter, Family, Histogram, Labels, Metrics};

/// Limits of the buckets, in seconds.
const BUCKETS: [f64; 10] = [0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 180.0, 600.0];

/// Metrics of patches.
#[derive(Debug, Clone)]
pub struct PatchMetrics {
    attempts: Family<Labels, Counter>,
    successes: Family<Labels, Counter>,
    tokens: Family<Labels, Counter>,
    failed_commands: Family<Labels, Counter>,
    durations: Family<Labels, Histogram, fn() -> Histogram>,
}

impl PatchMetrics {
    /// Registers the metrics.
    pub fn new(metrics: &Metrics) -> Self {
        let new_histogram: fn() -> Histogram = || Histogram::new(BUCKETS);
        let counter = |name, help| metrics.register(name, help, Family::default());
        Self {
            attempts: counter("coding_patch_attempt", "Patches that were requested"),
            successes: counter("coding_patch_success", "Patches that were proposed and apply"),
            tokens: counter("coding_patch_tokens", "Tokens of chat models for patches"),
            failed_commands: counter(
                "coding_patch_compile_fail",
                "Commands of dry runs that failed",
            ),
            durations: metrics.register(
                "coding_patch_duration_seconds",
                "Duration of work on patches",
                Family::new_with_constructor(new_histogram),
            ),
        }
    }

    /// Counts a request for a patch: `model`, or `client` if it came with a diff.
    pub fn count_attempt(&self, source: &str) {
        self.attempts.get_or_create(&label("source", source)).inc();
    }

    /// Counts a proposed patch.
    pub fn count_success(&self, source: &str) {
        self.successes.get_or_create(&label("source", source)).inc();
    }

    /// Counts the tokens of a request for a run of this kind.
    pub fn count_tokens(&self, run: &'static str, prompt: u64, completion: u64) {
        for (kind, tokens) in [("prompt", prompt), ("completion", completion)] {
            let labels = vec![("run", run.to_owned()), ("kind", kind.to_owned())];
            self.tokens.get_or_create(&labels).inc_by(tokens);
        }
    }

    /// Counts a command of a dry run that failed, by its program.
    pub fn count_failed_command(&self, program: &str) {
        self.failed_commands.get_or_create(&label("program", program)).inc();
    }

    /// Counts the duration of a run of this kind.
    pub fn observe(&self, kind: &str, duration: Duration) {
        self.durations.get_or_create(&label("kind", kind)).observe(duration.as_secs_f64());
    }
}

fn label(name: &'static str, value: &str) -> Labels {
    vec![(name, value.to_owned())]
}
