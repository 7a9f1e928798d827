//! What a run did: the modules that acted, warnings and durations.

use std::time::Duration;

use mc_contract::operations::rag::{ModuleTiming, RagModule};
use tokio::time::Instant;

use crate::models::ModelFailure;

/// Record of a run.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    /// `profile:<name>` and the modules that acted, in order.
    pub applied: Vec<String>,
    /// Sentences for the caller.
    pub warnings: Vec<String>,
    /// Durations, in order.
    pub timings: Vec<ModuleTiming>,
    /// Modules that were left out because no chat model may be asked, and why.
    without_model: Vec<RagModule>,
    no_model: Option<String>,
}

impl Journal {
    /// Records that a module had an effect.
    pub fn applied(&mut self, module: RagModule) {
        self.applied.push(module.as_str().to_owned());
    }

    /// Adds a warning.
    pub fn warn(&mut self, warning: impl Into<String>) {
        self.warnings.push(warning.into());
    }

    /// Records that the model of a module gave no answer that can be used.
    pub fn model_failed(&mut self, module: RagModule, failure: &ModelFailure) {
        match failure {
            ModelFailure::Unavailable(reason) => {
                self.without_model.push(module);
                self.no_model.get_or_insert_with(|| reason.clone());
            }
            ModelFailure::Failed(reason) => {
                self.warn(format!("{module} was left out: {reason}"));
            }
        }
    }

    /// Runs a step and records its duration.
    pub async fn timed<T>(&mut self, step: &str, work: impl Future<Output = T>) -> T {
        let started = Instant::now();
        let result = work.await;
        self.took(step, started.elapsed());
        result
    }

    /// Records the duration of a step.
    pub fn took(&mut self, step: &str, duration: Duration) {
        let duration_ms = duration.as_secs_f64() * 1_000.0;
        self.timings.push(ModuleTiming { module: step.to_owned(), duration_ms });
    }

    /// Adds the warning about modules without a chat model, and logs what acted.
    pub fn finish(mut self) -> Self {
        if let Some(reason) = self.no_model.take() {
            let modules: Vec<_> = self.without_model.iter().map(|module| module.as_str()).collect();
            self.warn(format!("left out without a chat model: {} ({reason})", modules.join(", ")));
        }
        tracing::info!(
            rag.applied_modules = self.applied.join(" "),
            rag.warnings = self.warnings.len(),
            "repository search"
        );
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_without_a_model_share_one_warning() {
        let mut journal = Journal::default();
        let none = ModelFailure::Unavailable("none is configured".to_owned());
        journal.model_failed(RagModule::Rewrite, &none);
        journal.model_failed(RagModule::Summary, &none);
        journal.model_failed(RagModule::Translation, &ModelFailure::Failed("late".to_owned()));
        assert_eq!(
            journal.finish().warnings,
            [
                "query.translation was left out: late",
                "left out without a chat model: query.rewrite, generation.summary (none is \
                 configured)",
            ]
        );
    }
}
