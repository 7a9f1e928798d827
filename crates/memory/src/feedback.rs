//! What of a bundle was used.

use mc_domain::BundleId;
use mc_store::bundles;
use uuid::Uuid;

use crate::{Error, MemoryContext};

/// What feedback did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedbackReport {
    /// How many of the ids the bundle holds.
    pub recorded: usize,
    /// Ids that the bundle does not hold.
    pub unknown: Vec<Uuid>,
}

/// Marks items of a bundle as used, by the id of their record, document or passage. Saying the
/// same twice counts once.
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
