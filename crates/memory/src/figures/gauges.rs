//! Figures of the service as metrics: of all projects, and of each if the operator asks for it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::Utc;
use mc_contract::operations::kpi::UsageFigures;
use mc_metrics::{Gauges, Labels, Metrics, set_all};
use mc_store::figures::{self, RecallCounts, UsageOfWeek};
use mc_store::{Error, Store};
use tokio::sync::Mutex;

use super::{first_week, usage_figures};

/// Weeks of the figures, the present one included.
const WEEKS: u16 = 4;
/// Figures change slowly, and their computation takes some seconds for many projects.
const REFRESH_AFTER: Duration = Duration::from_mins(5);

/// Gauges of figures.
#[derive(Clone)]
struct FigureGauges {
    recalls: Gauges,
    recall_hits: Gauges,
    recall_hit_rate: Gauges,
    first_relevant_seconds: Gauges,
    save_acceptance: Gauges,
}

/// Registers the figures of the last four weeks, refreshed every five minutes. Projects become
/// labels only if `with_projects` is set. `store` has the worker's role.
pub fn register_metrics(metrics: &Metrics, store: Store, with_projects: bool) {
    let gauge = |name, help| metrics.register_gauges(name, help);
    let gauges = FigureGauges {
        recalls: gauge("kpi_recalls", "Recalls of four weeks"),
        recall_hits: gauge("kpi_recall_hits", "Recalls of four weeks of which an item was used"),
        recall_hit_rate: gauge("kpi_recall_hit_rate", "Share of recalls with a used item"),
        first_relevant_seconds: gauge(
            "kpi_time_to_first_relevant_seconds",
            "Median time to the first recall with a used item, by project",
        ),
        save_acceptance: gauge("kpi_save_acceptance", "Share of judged saves that were kept"),
    };
    let refreshed_at = Arc::new(Mutex::new(None::<Instant>));
    metrics.before_scrape(move || {
        let (store, gauges) = (store.clone(), gauges.clone());
        let refreshed_at = Arc::clone(&refreshed_at);
        async move {
            // A second scrape waits for the first one instead of computing the same.
            let mut refreshed_at = refreshed_at.lock().await;
            if refreshed_at.is_some_and(|at| at.elapsed() < REFRESH_AFTER) {
                return;
            }
            match gauges.refresh(&store, with_projects).await {
                Ok(()) => *refreshed_at = Some(Instant::now()),
                Err(error) => tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "computing figures for metrics failed"
                ),
            }
        }
    });
}

impl FigureGauges {
    async fn refresh(&self, store: &Store, with_projects: bool) -> Result<(), Error> {
        let first_week = first_week(Utc::now(), WEEKS);
        let projects = figures::usage_by_project(store, first_week, WEEKS).await?;
        let all = usage_figures(&sum(projects.iter().map(|(_, usage)| usage)));
        let mut shown = vec![(Labels::new(), all)];
        if with_projects {
            shown.extend(
                projects
                    .iter()
                    .map(|(key, usage)| (vec![("project", key.clone())], usage_figures(usage))),
            );
        }
        self.set(&shown);
        Ok(())
    }

    fn set(&self, shown: &[(Labels, UsageFigures)]) {
        let set = |gauges: &Gauges, value: fn(&UsageFigures) -> Option<f64>| {
            let values = shown.iter().filter_map(|(labels, of)| Some((labels.clone(), value(of)?)));
            set_all(gauges, values);
        };
        set(&self.recalls, |of| of.recall_hit_rate.recalls.map(|count| count as f64));
        set(&self.recall_hits, |of| of.recall_hit_rate.hits.map(|count| count as f64));
        set(&self.recall_hit_rate, |of| of.recall_hit_rate.value);
        set(&self.first_relevant_seconds, |of| of.time_to_first_relevant.median_seconds);
        set(&self.save_acceptance, |of| of.save_acceptance.value);
    }
}

/// Returns the sum of the projects' parts that are not withheld. It has no median: that of all
/// sessions is not known from those of the projects.
fn sum<'a>(projects: impl Iterator<Item = &'a UsageOfWeek>) -> UsageOfWeek {
    let mut sum = UsageOfWeek { week: None, recalls: None, sessions: None, saves: None };
    for usage in projects {
        if let Some(more) = usage.recalls {
            let RecallCounts { recalls, with_use } =
                sum.recalls.unwrap_or(RecallCounts { recalls: 0, with_use: 0 });
            let recalls = recalls + more.recalls;
            sum.recalls = Some(RecallCounts { recalls, with_use: with_use + more.with_use });
        }
        for (outcome, count) in usage.saves.iter().flatten() {
            *sum.saves.get_or_insert_default().entry(outcome.clone()).or_default() += count;
        }
    }
    sum
}
