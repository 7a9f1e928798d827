//! The task `prompt`: decides on a new version of the system prompt, or searches one and lets a
//! tenth of the developers try it.

use std::sync::Arc;

use mc_chat::ChatModels;
use mc_memory::Error;
use mc_memory::prompts::night::{self, Night, NightSettings};
use mc_optimizer::{CanaryDecision, Decision, NightReport};
use mc_store::Store;
use mc_store::hygiene::{HygieneTarget, Outcome};
use serde_json::json;

pub(super) async fn run(
    store: &Store,
    chat: &Arc<ChatModels>,
    settings: &NightSettings,
    target: &HygieneTarget,
) -> Result<Outcome, Error> {
    let night = night::run(store, chat, settings, target).await?;
    Ok(outcome(&night))
}

fn outcome(night: &Night) -> Outcome {
    let Night { canary, search, material: (errors, examples), started, reason } = night;
    let mut outcome = Outcome::default();
    if let Some((version, report)) = canary {
        let (promoted, rolled_back) = match report.decision {
            CanaryDecision::Promote { .. } => (1, 0),
            CanaryDecision::RollBack { .. } => (0, 1),
            CanaryDecision::Continue { .. } => (0, 0),
        };
        outcome.count("canary_dialogs", report.canary.dialogs.into());
        outcome.count("parent_dialogs", report.parent.dialogs.into());
        outcome.count("promoted", promoted);
        outcome.count("rolled_back", rolled_back);
        outcome.found(json!({ "canary": version, "report": report }));
    }
    if let Some(report) = search {
        count_search(&mut outcome, report);
        outcome.count("frequent_errors", *errors as u64);
        outcome.count("examples", *examples as u64);
        outcome.count("canaries_started", started.iter().count() as u64);
        outcome.found(json!({ "search": report }));
    }
    if let Some(version) = started {
        outcome.found(json!({ "started_canary": version }));
    }
    if let Some(reason) = reason {
        outcome.found(json!({ "reason": reason }));
    }
    outcome
}

fn count_search(outcome: &mut Outcome, report: &NightReport) {
    outcome.count("training_cases", report.cases.training as u64);
    outcome.count("held_out_cases", report.cases.held_out as u64);
    outcome.count("evaluations", report.spending.spent as u64);
    outcome.count("failed_evaluations", report.spending.failed as u64);
    outcome.count("candidates", report.candidates as u64);
    outcome.count("finalists", report.finalists.len() as u64);
    outcome.count("proposed", report.proposed().iter().count() as u64);
    if let Decision::Keep { reason } = &report.decision {
        outcome.found(json!({ "reason": reason.to_string() }));
    }
}
