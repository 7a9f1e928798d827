//! Deletes, now and then, what is no longer needed.

use std::time::Duration;

use mc_store::Store;
use mc_store::upkeep::{self, Swept};
use tokio_util::sync::CancellationToken;

/// How often.
const EVERY: Duration = Duration::from_hours(1);

/// Sweeps at the start and every hour until `stop`. A sweep that fails is made up for by the next.
pub async fn run(store: &Store, stop: &CancellationToken) {
    let mut hourly = tokio::time::interval(EVERY);
    while stop.run_until_cancelled(hourly.tick()).await.is_some() {
        match upkeep::sweep(store).await {
            Ok(swept) if swept == Swept::default() => {}
            Ok(Swept { feed, bundles, expired, logins, removed, holds, events }) => {
                tracing::info!(
                    feed,
                    bundles,
                    expired,
                    logins,
                    removed,
                    holds,
                    events,
                    "deleted what is no longer needed"
                );
            }
            Err(error) => tracing::warn!(%error, "what is no longer needed could not be deleted"),
        }
    }
}
