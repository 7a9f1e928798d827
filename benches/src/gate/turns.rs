//! Saves and recalls of one client, sent to both commits in turn. Load of the machine changes
//! within seconds and meets both commits, so their difference shows far smaller losses than rounds
//! do.

use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::json;

use crate::harness::report::short;
use crate::harness::service::Api;
use crate::harness::stats::{Spread, Times};
use crate::load;
use crate::text::decisions;

/// Maximum loss that passes.
pub const LOSS_MAX: f64 = 0.03;
/// Project of the requests.
const PROJECT: &str = "in-turn";

/// The times of a kind of request.
#[derive(Debug)]
pub struct InTurn {
    /// The kind.
    pub name: &'static str,
    /// Median time of the older commit, in milliseconds.
    pub before: f64,
    /// By how much the newer commit is slower, as a share of `before`: the median of the
    /// differences and the bounds of its 95 % confidence interval.
    pub loss: Spread,
}

/// Measures `count` saves, and then as many recalls.
pub async fn measure(before: &Api, now: &Api, count: usize) -> Result<[InTurn; 2]> {
    let services = [before, now];
    for api in services {
        api.post("/projects", &json!({ "key": PROJECT })).await?;
    }
    let saves = in_turn(services, count, async |api: &Api, number| {
        load::save(api, PROJECT, number).await.map(drop)
    })
    .await?;
    let recalls = in_turn(services, count, async |api: &Api, number| {
        load::recall(api, PROJECT, &decisions::question(number)).await
    })
    .await?;
    Ok([InTurn::of("save", saves), InTurn::of("recall", recalls)])
}

/// Sends each request to both services, each of which goes first as often as the other. Returns
/// their times.
async fn in_turn(
    services: [&Api; 2],
    count: usize,
    request: impl AsyncFn(&Api, usize) -> Result<()>,
) -> Result<Vec<[Duration; 2]>> {
    let mut times = Vec::with_capacity(count);
    for number in 0..count {
        let mut both = [Duration::ZERO; 2];
        for at in [number % 2, 1 - number % 2] {
            let began = Instant::now();
            request(services[at], number).await?;
            both[at] = began.elapsed();
        }
        times.push(both);
    }
    Ok(times)
}

impl InTurn {
    /// Compares the times of the older commit with those of the newer one.
    fn of(name: &'static str, times: Vec<[Duration; 2]>) -> Self {
        let before = Times::of(times.iter().map(|[before, _]| *before)).percentile(0.5);
        let difference =
            |[before, now]: [Duration; 2]| (now.as_secs_f64() - before.as_secs_f64()) * 1_000.0;
        let losses = times.into_iter().map(|both| difference(both) / before);
        Self { name, before, loss: Spread::of_median(losses) }
    }

    /// Describes the loss.
    pub fn describe(&self) -> String {
        let percent = |share: f64| short(100.0 * share);
        let Spread { median, min, max, .. } = self.loss;
        format!(
            "{} in turn: {} % lost ({} to {})",
            self.name,
            percent(median),
            percent(min),
            percent(max)
        )
    }

    /// Returns whether the newer commit is slower by more than the limit, with 95 % confidence.
    pub fn is_slower(&self) -> bool {
        self.loss.min > LOSS_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(differences: impl Iterator<Item = i64>) -> InTurn {
        let duration = |micros: i64| Duration::from_micros(micros.try_into().expect("a duration"));
        let times = differences.map(|micros| [10_000, 10_000 + micros].map(duration));
        InTurn::of("save", times.collect())
    }

    #[test]
    fn loss_counts_once_its_interval_is_above_the_limit() {
        let slow = of((0..100).map(|number| 500 + number % 7));
        assert!(slow.is_slower(), "{slow:?}");
        assert!((slow.loss.median - 0.05).abs() < 1e-3, "{slow:?}");
        assert!(!of((0..100).map(|number| 200 + number % 7)).is_slower());
        assert!(!of((0..100).map(|number| -500 - number % 7)).is_slower(), "faster");
        let uncertain = of((0..100).map(|number| if number < 55 { 900 } else { -900 }));
        assert!(!uncertain.is_slower(), "{uncertain:?}");
    }
}
