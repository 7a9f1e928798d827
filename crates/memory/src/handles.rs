//! From handles to what they stand for: items of the bundle that is named, else of the caller's newest.

use std::time::{Duration, SystemTime};

use mc_domain::{BundleId, ProjectId};
use mc_store::bundles::{self, NamedItem};
use tokio::time::{Instant, sleep};

use crate::{Error, MemoryContext};

/// How long a bundle that another node handed out a moment ago may take to be seen here. It is written soon
/// after its answer, three times at most ([`crate::recall`]).
const WRITTEN_WITHIN: Duration = Duration::from_secs(2);
/// How old such a bundle is at most by its id, the clocks of two nodes being a little apart.
const A_MOMENT_AGO: Duration = Duration::from_secs(30);
/// How long is waited for a newer bundle of another node, where this one did not hand out the newest itself.
const SETTLED_WITHIN: Duration = Duration::from_millis(500);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(40);

/// A bundle with its items under their handles, in the order shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedBundle {
    /// The bundle.
    pub id: BundleId,
    /// Its items; none where it was empty.
    pub items: Vec<NamedItem>,
}

/// The items of the bundle that was handed out in the project to whom the context's store was entered for:
/// `bundle`, else their newest with anything in it. A bundle that is still being written is waited for, here or
/// on another node.
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
    /// What `look` finds of a bundle, which is waited for while it may still be being written: here, or by another node
    /// that handed it out a moment ago.
    pub async fn once_written<T, E, Look>(
        &self,
        bundle: BundleId,
        look: impl Fn() -> Look,
    ) -> Result<Option<T>, E>
    where
        Look: Future<Output = Result<Option<T>, E>>,
    {
        self.wait_until_stored(bundle).await;
        let until = Instant::now() + WRITTEN_WITHIN;
        let is_new = is_of_a_moment_ago(bundle, SystemTime::now());
        until_enough(look, |found| found.is_some() || !is_new || Instant::now() >= until).await
    }
}

/// The caller's newest. Where this node handed it out, it is known to be written; otherwise another one may be
/// about to write a newer one, which gets a moment to appear.
async fn newest(
    ctx: &MemoryContext,
    project: ProjectId,
) -> Result<Option<(BundleId, Vec<NamedItem>)>, Error> {
    let last_here = ctx.bundles_are_written(project).await;
    let until = Instant::now() + SETTLED_WITHIN;
    let look = || bundles::named_items(&ctx.store, project, None);
    let found = until_enough(look, |found| {
        let is_from_here = found.as_ref().is_some_and(|(id, _)| Some(*id) == last_here);
        is_from_here || Instant::now() >= until
    });
    Ok(found.await?)
}

async fn until_enough<T, E, Look>(
    look: impl Fn() -> Look,
    is_enough: impl Fn(&Option<T>) -> bool,
) -> Result<Option<T>, E>
where
    Look: Future<Output = Result<Option<T>, E>>,
{
    loop {
        let found = look().await?;
        if is_enough(&found) {
            return Ok(found);
        }
        sleep(PAUSE).await;
    }
}

/// Whether the id was made so recently that the bundle may not be written yet. What is no id of a bundle has no
/// time in it, and is not waited for.
fn is_of_a_moment_ago(bundle: BundleId, now: SystemTime) -> bool {
    let Some(made) = bundle.0.get_timestamp() else { return false };
    let (seconds, nanos) = made.to_unix();
    let made = SystemTime::UNIX_EPOCH + Duration::new(seconds, nanos);
    let apart = now.duration_since(made).unwrap_or_else(|earlier| earlier.duration());
    apart <= A_MOMENT_AGO
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn only_a_bundle_of_a_moment_ago_may_still_be_on_its_way() {
        let (id, now) = (BundleId::generate(), SystemTime::now());
        assert!(is_of_a_moment_ago(id, now));
        assert!(!is_of_a_moment_ago(id, now + Duration::from_mins(2)));
        assert!(!is_of_a_moment_ago(BundleId(Uuid::nil()), now));
        assert!(!is_of_a_moment_ago(BundleId(Uuid::from_u128(u128::MAX)), now));
    }
}
