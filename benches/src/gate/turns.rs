//! Saves and recalls of one client, sent to both commits in turn. Load of the machine changes
//! within seconds and meets both commits, so their difference shows far smaller losses than rounds
//! do. Two processes of one commit also differ by some per cent as long as they run, so both are
//! started several times.

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
    /// Times of the older commit.
    pub before: Percentiles,
    /// Times of the newer one.
    pub now: Percentiles,
    /// By how much the newer commit is slower, as a share of the older one's median: the median
    /// difference after each start.
    pub loss: Spread,
}

/// Times of one commit after each start, in milliseconds.
#[derive(Debug)]
pub struct Percentiles {
    /// The medians.
    pub p50: Spread,
    /// Only for the report: single slow requests decide it.
    pub p99: Spread,
}

/// The times of requests that were sent to the older commit and the newer one.
type Pairs = Vec<[Duration; 2]>;

/// The pairs of each kind, in the order of [`KINDS`].
pub type Measured = [Pairs; 2];

/// The kinds of requests.
const KINDS: [&str; 2] = ["save", "recall"];

/// Measures `count` saves, and then as many recalls, of services that were just started.
pub async fn measure(before: &Api, now: &Api, count: usize) -> Result<Measured> {
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
    Ok([saves, recalls])
}

/// Compares the commits by the times after each start.
pub fn compare(starts: &[Measured]) -> [InTurn; 2] {
    std::array::from_fn(|kind| InTurn::of(KINDS[kind], starts.iter().map(|start| &start[kind])))
}

/// Sends each request to both services, each of which goes first as often as the other. Returns
/// their times.
async fn in_turn(
    services: [&Api; 2],
    count: usize,
    request: impl AsyncFn(&Api, usize) -> Result<()>,
) -> Result<Pairs> {
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
    /// Compares the times of the older commit with those of the newer one, start by start.
    fn of<'a>(name: &'static str, starts: impl Iterator<Item = &'a Pairs>) -> Self {
        let starts: Vec<_> = starts.collect();
        let [before, now] = [0, 1].map(|commit| Percentiles::of(&starts, commit));
        let loss = Spread::of(starts.iter().map(|pairs| loss(pairs)));
        Self { name, before, now, loss }
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

    /// Returns whether the newer commit is slower by more than the limit.
    pub fn is_slower(&self) -> bool {
        self.loss.median > LOSS_MAX
    }
}

impl Percentiles {
    fn of(starts: &[&Pairs], commit: usize) -> Self {
        let times = |pairs: &&Pairs| Times::of(pairs.iter().map(|pair| pair[commit]));
        let times: Vec<_> = starts.iter().map(times).collect();
        let [p50, p99] =
            [0.5, 0.99].map(|share| Spread::of(times.iter().map(|times| times.percentile(share))));
        Self { p50, p99 }
    }
}

/// Returns the median difference as a share of the older commit's median time.
fn loss(pairs: &Pairs) -> f64 {
    let before = Times::of(pairs.iter().map(|[before, _]| *before)).percentile(0.5);
    let difference =
        |[before, now]: &[Duration; 2]| (now.as_secs_f64() - before.as_secs_f64()) * 1_000.0;
    Spread::of(pairs.iter().map(difference)).median / before
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the comparison of starts whose pairs differ by these microseconds.
    fn of(starts: &[&[i64]]) -> InTurn {
        let duration = |micros: i64| Duration::from_micros(micros.try_into().expect("a duration"));
        let pairs = |differences: &&[i64]| -> Pairs {
            differences.iter().map(|micros| [10_000, 10_000 + micros].map(duration)).collect()
        };
        InTurn::of("save", starts.iter().map(pairs).collect::<Vec<_>>().iter())
    }

    #[test]
    fn loss_is_the_median_of_the_starts() {
        let slow = of(&[&[510, 500, 9_000], &[290], &[500]]);
        assert!(slow.is_slower(), "{slow:?}");
        assert!((slow.loss.median - 0.05).abs() < 1e-6, "{slow:?}");
        assert!((slow.loss.min - 0.029).abs() < 1e-6, "{slow:?}");
        assert!((slow.before.p50.median - 10.0).abs() < 1e-6, "{slow:?}");
        assert!((slow.now.p99.max - 19.0).abs() < 1e-6, "{slow:?}");
        assert!(!of(&[&[200, 190], &[500], &[-100]]).is_slower());
    }
}
