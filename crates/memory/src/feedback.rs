//! Feedback on bundles.

use mc_domain::BundleId;
use mc_store::bundles;
use uuid::Uuid;

use crate::{Error, MemoryContext};

/// Result of a feedback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedbackReport {
    /// Number of ids that the bundle contains, including those marked before.
    pub recorded: usize,
    /// Ids that the bundle does not contain.
    pub unknown: Vec<Uuid>,
}

/// Marks items of a bundle as used, by the id of record, document or passage; each counts once.
pub async fn feedback(
    ctx: &MemoryContext,
    bundle: BundleId,
    used: &[Uuid],
) -> Result<FeedbackReport, Error> {
    ctx.wait_until_stored(bundle).await;
    let mut ids = used.to_vec();
    ids.sort_unstable();
    ids.dedup();
    let known =
        bundles::mark_used(&ctx.store, bundle, &ids).await?.ok_or(Error::UnknownBundle(bundle))?;
    let unknown: Vec<_> = ids.into_iter().filter(|id| !known.contains(id)).collect();
    Ok(FeedbackReport { recorded: known.len(), unknown })
}
