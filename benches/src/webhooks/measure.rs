//! One run: an empty service, all deliveries, and the final state.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::ledger::{Ledger, Verdict};
use super::restart::{Restart, Way, restart};
use super::sender::{Kind, Sender, Sent, Slot};
use super::webhook::{PROJECT, Webhook};
use crate::harness::service::{Api, Service, Setup};
use crate::harness::stats::Times;
use crate::harness::{remove, say};

/// The ways in which PostgreSQL is stopped at the first and at the second third.
pub const WAYS: [Way; 2] = [Way::Fast, Way::Immediate];
/// A delivery due this shortly before a restart is under way when it begins.
pub const UNDER_WAY: Duration = Duration::from_millis(100);
/// Duration of a restart's effects after the first acknowledgment.
pub const SETTLED: Duration = Duration::from_secs(5);

/// Pause before the first delivery.
const LEAD: Duration = Duration::from_millis(500);
/// Interval of polling for pending deliveries, which is the precision.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Interval between two progress messages.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);
/// Timeout of the processing.
const PROCESSING_TIMEOUT: Duration = Duration::from_mins(15);
/// The maximum page size.
const PAGE: usize = 200;

/// The results of a run.
pub struct Run {
    /// Bytes of a body.
    pub bytes: usize,
    /// Time from due to acknowledged.
    pub outside: Times,
    /// Time from due to acknowledged, for those due during a restart.
    pub within: Times,
    /// Number of those.
    pub counted_within: usize,
    /// In the order of [`WAYS`].
    pub outages: Vec<Outage>,
    /// Errors of failed attempts, with their number.
    pub failures: BTreeMap<String, usize>,
    /// Number of sends with a failed attempt.
    pub retried: usize,
    /// From the last response until no delivery was pending.
    pub through: Duration,
    /// From receipt to completion of each.
    pub waits: Times,
    /// The verdict.
    pub verdict: Verdict,
}

/// A restart as clients observed it.
#[derive(Debug, Clone, Copy)]
pub struct Outage {
    restart: Restart,
    /// The first acknowledgment after it.
    first_acknowledged_at: Instant,
}

/// Sends everything to an empty service.
pub async fn run(setup: &Setup, slots: &[Slot], whole: Duration) -> Result<Run> {
    remove(&setup.data_dir)?;
    let service = Service::start(setup).await?;
    let hook = Webhook::add(&service.api).await?;
    let bytes = hook.genuine(1).body.len();
    let sender = Arc::new(Sender::new(hook)?);
    let start = Instant::now() + LEAD;
    let (sent, restarts) = tokio::try_join!(
        sender.send(slots, start),
        restart_on_the_way(&setup.data_dir, start, whole)
    )?;
    let through = until_processed(&service.api).await?;
    service.stop()?;

    let ledger = Ledger::read(setup).await?;
    let outages = restarts.into_iter().map(|restart| Outage::of(restart, &sent));
    let outages = outages.collect::<Result<Vec<_>>>()?;
    let acknowledged =
        sent.iter().filter(|sent| sent.slot.kind != Kind::Forged && sent.is_acknowledged());
    let (within, outside): (Vec<&Sent>, Vec<&Sent>) =
        acknowledged.partition(|sent| outages.iter().any(|outage| outage.covers(sent.due)));
    ensure!(!within.is_empty() && !outside.is_empty(), "too few were acknowledged to say anything");
    let waits: Vec<_> = ledger.waits().collect();
    ensure!(!waits.is_empty(), "the service has gone through none of what it acknowledged");
    Ok(Run {
        bytes,
        counted_within: within.len(),
        outside: Times::of(outside.into_iter().map(Sent::took)),
        within: Times::of(within.into_iter().map(Sent::took)),
        outages,
        failures: failures(&sent),
        retried: sent.iter().filter(|sent| !sent.failures.is_empty()).count(),
        through,
        waits: Times::of(waits),
        verdict: ledger.judge(&sent),
    })
}

impl Outage {
    fn of(restart: Restart, sent: &[Sent]) -> Result<Self> {
        let behind =
            sent.iter().filter(|sent| sent.is_acknowledged() && sent.ended >= restart.back);
        let first_acknowledged_at = behind.map(|sent| sent.ended).min();
        let first_acknowledged_at = first_acknowledged_at
            .context("nothing was acknowledged after a restart of PostgreSQL")?;
        Ok(Self { restart, first_acknowledged_at })
    }

    /// From the stop signal until a server accepted connections.
    pub fn away(&self) -> Duration {
        self.restart.back - self.restart.stopped_at
    }

    /// From the stop signal until the first acknowledgment after it.
    pub fn until_acknowledged(&self) -> Duration {
        self.first_acknowledged_at - self.restart.stopped_at
    }

    /// Whether a delivery due at this time counts as due during the restart.
    fn covers(&self, due: Instant) -> bool {
        due + UNDER_WAY >= self.restart.stopped_at && due <= self.first_acknowledged_at + SETTLED
    }
}

/// Stops PostgreSQL after a third of the time, and after two thirds.
async fn restart_on_the_way(
    data_dir: &Path,
    start: Instant,
    whole: Duration,
) -> Result<Vec<Restart>> {
    let mut restarts = Vec::new();
    for (third, way) in (1_u32..).zip(WAYS) {
        tokio::time::sleep_until((start + whole * third / 3).into()).await;
        let done = restart(data_dir, way).await?;
        let took = (done.back - done.stopped_at).as_secs_f64();
        say(&format!("PostgreSQL was stopped ({}) and came back after {took:.2} s", way.name()));
        restarts.push(done);
    }
    Ok(restarts)
}

/// Waits until no delivery is pending.
async fn until_processed(api: &Api) -> Result<Duration> {
    let path = format!("/projects/{PROJECT}/webhook-deliveries?state=pending&limit={PAGE}");
    let (began, mut word) = (Instant::now(), Instant::now());
    loop {
        let page = api.get(&path).await?;
        let waiting = page["items"].as_array().context("there is no list of deliveries")?;
        let Some(first) = waiting.first() else { return Ok(began.elapsed()) };
        let count = waiting.len();
        ensure!(
            began.elapsed() < PROCESSING_TIMEOUT,
            "{count} deliveries or more still wait after {PROCESSING_TIMEOUT:?}, the newest {}",
            first["delivery_id"]
        );
        if word.elapsed() > PROGRESS_INTERVAL {
            let more = if count == PAGE { " or more" } else { "" };
            say(&format!("{count}{more} deliveries are still to be gone through"));
            word = Instant::now();
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

fn failures(sent: &[Sent]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::<String, usize>::new();
    for failure in sent.iter().flat_map(|sent| &sent.failures) {
        *counts.entry(failure.clone()).or_default() += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restart_covers_deliveries_due_shortly_before_and_after() {
        let stopped_at = Instant::now() + Duration::from_mins(1);
        let after = |millis| stopped_at + Duration::from_millis(millis);
        let sent = [1_500, 2_500, 900].map(|millis| Sent {
            slot: Slot { at: Duration::ZERO, number: 1, kind: Kind::First },
            due: stopped_at,
            ended: after(millis),
            answer: Some(reqwest::StatusCode::ACCEPTED),
            failures: Vec::new(),
        });
        // The delivery acknowledged at 900 ms was still committed by the old server.
        let outage =
            Outage::of(Restart { stopped_at, back: after(1_000) }, &sent).expect("one behind it");
        assert_eq!(
            [outage.away(), outage.until_acknowledged()].map(|time| time.as_millis()),
            [1_000, 1_500]
        );
        assert!(
            !outage.covers(stopped_at.checked_sub(Duration::from_millis(101)).expect("a time"))
        );
        assert!(
            outage.covers(stopped_at.checked_sub(Duration::from_millis(100)).expect("a time"))
                && outage.covers(after(6_500))
        );
        assert!(!outage.covers(after(6_501)));
        assert!(Outage::of(Restart { stopped_at, back: after(3_000) }, &sent).is_err());
    }
}
