#![doc = include_str!("../README.md")]

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt as _;
use futures::future::{BoxFuture, join_all};
use prometheus_client::encoding::prometheus_text;
use prometheus_client::registry::Registry;

pub use prometheus_client::metrics::counter::Counter;
pub use prometheus_client::metrics::family::Family;
pub use prometheus_client::metrics::histogram::Histogram;
pub use prometheus_client::registry::Metric;

/// The media type of the text.
pub const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The beginning of every name.
const PREFIX: &str = "memory_copilot";

/// Names and values of labels. Values are from a small set: each combination is a series, which
/// takes memory as long as the process runs.
pub type Labels = Vec<(&'static str, String)>;

/// A number that rises and falls.
pub type Gauge = prometheus_client::metrics::gauge::Gauge<f64, AtomicU64>;

/// A gauge for each combination of labels.
pub type Gauges = Family<Labels, Gauge>;

type Sampler = Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

/// The metrics of a process; cheap to clone.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    registry: Mutex<Registry>,
    samplers: Mutex<Vec<Sampler>>,
}

impl Metrics {
    /// Returns a registry without metrics.
    pub fn new() -> Self {
        let registry = Mutex::new(Registry::with_prefix(PREFIX));
        Self(Arc::new(Inner { registry, samplers: Mutex::default() }))
    }

    /// Registers a metric and returns it. A name is in snake case and ends with its unit; the text
    /// adds the program's name before it, and `_total` to the name of a counter. `help` is a
    /// sentence without a full stop.
    pub fn register<M: Metric + Clone>(&self, name: &str, help: &str, metric: M) -> M {
        lock(&self.0.registry).register(name, help, metric.clone());
        metric
    }

    /// Registers gauges with labels and returns them.
    pub fn register_gauges(&self, name: &str, help: &str) -> Gauges {
        self.register(name, help, Gauges::default())
    }

    /// Registers a function that sets metrics before each scrape. It runs at the same time as the
    /// others.
    pub fn before_scrape<F, S>(&self, sample: F)
    where
        F: Fn() -> S + Send + Sync + 'static,
        S: Future<Output = ()> + Send + 'static,
    {
        lock(&self.0.samplers).push(Arc::new(move || sample().boxed()));
    }

    /// Returns all metrics in Prometheus' text format.
    pub async fn encode(&self) -> Result<String, fmt::Error> {
        let samplers = lock(&self.0.samplers).clone();
        join_all(samplers.iter().map(|sample| sample())).await;
        let mut text = String::new();
        prometheus_text::encode(&mut text, &lock(&self.0.registry))?;
        Ok(text)
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

/// Sets gauges to these values; other combinations of labels vanish.
pub fn set_all(gauges: &Gauges, values: impl IntoIterator<Item = (Labels, f64)>) {
    gauges.clear();
    for (labels, value) in values {
        gauges.get_or_create(&labels).set(value);
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn metrics_have_names_help_and_values() {
        let metrics = Metrics::new();
        let saves: Family<Labels, Counter> =
            metrics.register("saves", "Saves by outcome", Family::default());
        saves.get_or_create(&vec![("outcome", "created".to_owned())]).inc_by(3);
        let queue = metrics.register_gauges("queue_length", "Queued items");
        let sampled = queue.clone();
        metrics.before_scrape(move || {
            let queue = sampled.clone();
            async move { set_all(&queue, [(vec![("queue", "jobs".to_owned())], 7.0)]) }
        });
        let text = metrics.encode().await.expect("text");
        let expected = "\
            # HELP memory_copilot_saves_total Saves by outcome.\n\
            # TYPE memory_copilot_saves_total counter\n\
            memory_copilot_saves_total{outcome=\"created\"} 3\n\
            # HELP memory_copilot_queue_length Queued items.\n\
            # TYPE memory_copilot_queue_length gauge\n\
            memory_copilot_queue_length{queue=\"jobs\"} 7.0\n";
        assert_eq!(text, expected);
    }

    #[tokio::test]
    async fn label_value_adds_no_line_and_no_label() {
        let metrics = Metrics::new();
        let gauges = metrics.register_gauges("hits", "Hits by project");
        let hostile = "a\"} 1\nforged{x=\"\\";
        set_all(&gauges, [(vec![("project", hostile.to_owned())], 1.0)]);
        let text = metrics.encode().await.expect("text");
        let escaped = r#"memory_copilot_hits{project="a\"} 1\nforged{x=\"\\"} 1.0"#;
        assert_eq!(text.lines().last(), Some(escaped), "{text}");
        assert_eq!(text.lines().count(), 3, "{text}");
    }

    #[tokio::test]
    async fn gauge_that_is_not_set_again_vanishes() {
        let metrics = Metrics::new();
        let gauges = metrics.register_gauges("jobs", "Jobs by kind");
        let of = |kind: &str| (vec![("kind", kind.to_owned())], 1.0);
        set_all(&gauges, [of("cleanup"), of("sync")]);
        set_all(&gauges, [of("sync")]);
        let text = metrics.encode().await.expect("text");
        assert!(text.contains("sync") && !text.contains("cleanup"), "{text}");
    }
}
