//! The task `embedding`: queues passages without a vector, and retries failed ones.

use mc_memory::Error;
use mc_store::Store;
use mc_store::hygiene::{FINDINGS_MAX, HygieneTarget, Outcome};
use mc_store::vectors::{self, FailedPassage, Model, Progress};
use serde_json::{Value, json};

/// The active embedding model.
#[derive(Debug, Clone)]
pub struct Embedding {
    /// The model under which its vectors are stored.
    pub model: Model,
    /// Whether texts are sent to another machine, which the policy of a project may forbid.
    pub is_remote: bool,
}

pub(super) async fn run(
    store: &Store,
    target: &HygieneTarget,
    Embedding { model, is_remote }: &Embedding,
) -> Result<Outcome, Error> {
    let mut outcome = Outcome::default();
    let progress = vectors::progress(store, target.project, model, *is_remote).await?;
    count_vectors(&progress, &mut outcome);
    if !progress.may_embed {
        return Ok(outcome);
    }
    let limit = i64::try_from(FINDINGS_MAX).unwrap_or(i64::MAX);
    for failed in vectors::list_failed(store, target.project, model, limit).await? {
        outcome.found(finding(&failed));
    }
    if !target.is_dry_run {
        let queued = vectors::enqueue_missing_in(store, target.project, model).await?;
        outcome.count("queued", queued);
        outcome.count("retried", vectors::retry_failed(store, target.project, model).await?);
    }
    Ok(outcome)
}

fn count_vectors(progress: &Progress, outcome: &mut Outcome) {
    let Progress { passages, missing, waiting, failed_count, of_others, may_embed } = *progress;
    outcome.count("passages", passages.unsigned_abs());
    outcome.count("previous_model_vectors", of_others.unsigned_abs());
    if may_embed {
        outcome.count("missing_vectors", missing.unsigned_abs());
        outcome.count("waiting", waiting.unsigned_abs());
        outcome.count("failed_vectors", failed_count.unsigned_abs());
    } else {
        // They are not queued, so they are not counted as missing.
        outcome.count("excluded_by_policy", missing.unsigned_abs());
    }
}

/// Returns the finding of a passage: its location and its error, but not its text.
fn finding(passage: &FailedPassage) -> Value {
    let error = passage.last_error.as_deref().unwrap_or_default();
    json!({
        "passage": passage.passage,
        "source": passage.source,
        "place": passage.location,
        "record": passage.record,
        "attempts": passage.attempts,
        "error": mc_sanitizer::mask(error).text.as_str(),
    })
}
