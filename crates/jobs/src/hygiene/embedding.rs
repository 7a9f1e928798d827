//! Passages without a vector of the model in use: counted, queued, and tried again where they
//! failed.

use mc_memory::Error;
use mc_store::Store;
use mc_store::hygiene::{FINDINGS_MAX, HygieneTarget, Outcome};
use mc_store::vectors::{self, FailedPassage, Model, Progress};
use serde_json::{Value, json};

/// The model in use.
#[derive(Debug, Clone)]
pub struct Embedding {
    /// Under which its vectors are kept.
    pub model: Model,
    /// Whether texts leave this machine for it; those of projects that forbid it have no vectors of
    /// it.
    pub is_remote: bool,
}

pub(super) async fn run(
    store: &Store,
    given: &HygieneTarget,
    Embedding { model, is_remote }: &Embedding,
) -> Result<Outcome, Error> {
    let mut outcome = Outcome::default();
    let progress = vectors::progress(store, given.project, model, *is_remote).await?;
    count(&progress, &mut outcome);
    if !progress.may_embed {
        return Ok(outcome);
    }
    let most = i64::try_from(FINDINGS_MAX).unwrap_or(i64::MAX);
    for failing in vectors::list_failed(store, given.project, most).await? {
        outcome.found(finding(&failing));
    }
    if !given.is_dry_run {
        let queued = vectors::enqueue_missing_in(store, given.project, model).await?;
        outcome.count("queued", queued);
        outcome.count("retried", vectors::retry_failed(store, given.project).await?);
    }
    Ok(outcome)
}

fn count(progress: &Progress, outcome: &mut Outcome) {
    let Progress { passages, missing, waiting, failed_count: failing, of_others, may_embed } =
        *progress;
    outcome.count("passages", passages.unsigned_abs());
    outcome.count("previous_model_vectors", of_others.unsigned_abs());
    if may_embed {
        outcome.count("missing_vectors", missing.unsigned_abs());
        outcome.count("waiting", waiting.unsigned_abs());
        outcome.count("failed_vectors", failing.unsigned_abs());
    } else {
        // Nobody should wait for them.
        outcome.count("excluded_by_policy", missing.unsigned_abs());
    }
}

/// Where it is, and why it has no vector; never what it says.
fn finding(failing: &FailedPassage) -> Value {
    let error = failing.last_error.as_deref().unwrap_or_default();
    json!({
        "passage": failing.passage,
        "source": failing.source,
        "place": failing.location,
        "record": failing.record,
        "attempts": failing.attempts,
        "error": mc_sanitizer::mask(error).text.as_str(),
    })
}
