//! Resolving handles to the items of the named bundle, or of the caller's newest one.

use std::time::{Duration, SystemTime};

use mc_domain::{BundleId, ProjectId};
use mc_store::bundles::{self, NamedItem};
use tokio::time::{Instant, sleep};

use crate::{Error, MemoryContext};

/// How long a bundle of another node may take to appear. It is written soon after its response,
/// with three attempts at most ([`crate::recall`]).
const WRITE_TIMEOUT: Duration = Duration::from_secs(2);
/// Greatest age of such a bundle by its id, as the clocks of two nodes may differ.
const RECENT_AGE_MAX: Duration = Duration::from_secs(30);
/// How long to wait for a newer bundle of another node, if this one did not hand out the newest.
const NEWER_BUNDLE_TIMEOUT: Duration = Duration::from_millis(500);
/// Pause between two look-ups.
const POLL_INTERVAL: Duration = Duration::from_millis(40);

/// A bundle with its items by handle, in the order shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedBundle {
    /// Id of the bundle.
    pub id: BundleId,
    /// Its items; empty for an empty bundle.
    pub items: Vec<NamedItem>,
}

/// Returns the items of `bundle`, else of the newest non-empty bundle that the caller was handed in
/// the project. Waits for a bundle that this or another node is still writing.
pub async fn named_bundle(
    ctx: &MemoryContext,
    project: ProjectId,
    bundle: Option<BundleId>,
) -> Result<NamedBundle, Error> {
    let found = match bundle {
        Some(id) => {
            ctx.once_written(id, || bundles::named_items(&ctx.store, project, Some(id))).await?
        }
        None => newest(ctx, project).await?,
    };
    let (id, items) = found.ok_or(bundle.map_or(Error::NoBundle, Error::UnknownBundle))?;
    Ok(NamedBundle { id, items })
}

impl MemoryContext {
    /// Looks a bundle up with `look`, and waits while this or another node may still be writing it.
    pub async fn once_written<T, E, Look>(
        &self,
        bundle: BundleId,
        look: impl Fn() -> Look,
    ) -> Result<Option<T>, E>
    where
        Look: Future<Output = Result<Option<T>, E>>,
    {
        self.wait_until_stored(bundle).await;
        let until = Instant::now() + WRITE_TIMEOUT;
        let is_new = is_recent(bundle, SystemTime::now());
        poll_until(look, |found| found.is_some() || !is_new || Instant::now() >= until).await
    }
}

/// Finds the caller's newest bundle. If another node handed it out, it gets a moment to appear.
async fn newest(
    ctx: &MemoryContext,
    project: ProjectId,
) -> Result<Option<(BundleId, Vec<NamedItem>)>, Error> {
    let last_here = ctx.wait_for_callers_bundles(project).await;
    let until = Instant::now() + NEWER_BUNDLE_TIMEOUT;
    let look = || bundles::named_items(&ctx.store, project, None);
    let found = poll_until(look, |found| {
        let is_from_here = found.as_ref().is_some_and(|(id, _)| Some(*id) == last_here);
        is_from_here || Instant::now() >= until
    });
    Ok(found.await?)
}

async fn poll_until<T, E, Look>(
    look: impl Fn() -> Look,
    is_done: impl Fn(&Option<T>) -> bool,
) -> Result<Option<T>, E>
where
    Look: Future<Output = Result<Option<T>, E>>,
{
    loop {
        let found = look().await?;
        if is_done(&found) {
            return Ok(found);
        }
        sleep(POLL_INTERVAL).await;
    }
}

/// Whether the bundle is so recent that it may not be written yet; `false` for other ids.
fn is_recent(bundle: BundleId, now: SystemTime) -> bool {
    let Some(made) = bundle.0.get_timestamp() else { return false };
    let (seconds, nanos) = made.to_unix();
    let made = SystemTime::UNIX_EPOCH + Duration::new(seconds, nanos);
    let age = now.duration_since(made).unwrap_or_else(|earlier| earlier.duration());
    age <= RECENT_AGE_MAX
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn lookup_waits_for_recent_bundles_only() {
        let (id, now) = (BundleId::generate(), SystemTime::now());
        assert!(is_recent(id, now));
        assert!(!is_recent(id, now + Duration::from_mins(2)));
        assert!(!is_recent(BundleId(Uuid::nil()), now));
        assert!(!is_recent(BundleId(Uuid::from_u128(u128::MAX)), now));
    }
}
