//! Metrics of the job queue, which are common to all nodes.

use mc_metrics::{Metrics, set_all};
use mc_store::{Store, jobs};

/// Registers the numbers of jobs by kind and state, and of those that could start now. `store` has
/// the worker's role.
pub fn register_metrics(metrics: &Metrics, store: Store) {
    let by_state = metrics.register_gauges("jobs", "Stored jobs by kind and state");
    let due = metrics.register_gauges("jobs_due", "Pending jobs that could start now");
    metrics.before_scrape(move || {
        let (store, by_state, due) = (store.clone(), by_state.clone(), due.clone());
        async move {
            let counts = jobs::count(&store).await.unwrap_or_else(|error| {
                tracing::warn!(error = &error as &dyn std::error::Error, "counting jobs failed");
                Vec::new()
            });
            let kind = |kind: &str| ("kind", kind.to_owned());
            set_all(
                &due,
                counts
                    .iter()
                    .filter(|count| count.due > 0)
                    .map(|count| (vec![kind(&count.kind)], count.due as f64)),
            );
            set_all(
                &by_state,
                counts.iter().map(|count| {
                    let state = ("state", count.state.as_str().to_owned());
                    (vec![kind(&count.kind), state], count.jobs as f64)
                }),
            );
        }
    });
}
