//! Cron schedules. Each tick is enqueued once, on any number of nodes.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use futures::future::BoxFuture;
use mc_store::{Error, Store};
use tokio_util::sync::CancellationToken;

use crate::job::{BackgroundJob, enqueue};

/// Longest sleep before the clock is read again, since it may jump.
const POLL_INTERVAL: Duration = Duration::from_secs(20);
/// How far back the last tick is searched: the shortest first, since every tick is stepped through.
const LOOKBACKS: [TimeDelta; 4] =
    [TimeDelta::minutes(2), TimeDelta::hours(2), TimeDelta::days(2), TimeDelta::days(32)];
/// Delay before a failed enqueue is repeated.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// The schedule of a job kind.
pub struct Schedule {
    cron: cron::Schedule,
    kind: &'static str,
    enqueue_tick: EnqueueTick,
    clock: Clock,
}

type Clock = Box<dyn Fn() -> DateTime<Utc> + Send + Sync>;
/// Enqueues the job of a tick under a unique key.
type EnqueueTick =
    Box<dyn Fn(Store, String) -> BoxFuture<'static, Result<(), Error>> + Send + Sync>;

impl Schedule {
    /// Creates a schedule of a job from a cron expression (second, minute, hour, day, month,
    /// weekday; UTC). Of the ticks that passed while no node was running, the last one is enqueued
    /// at the start.
    ///
    /// # Panics
    /// If the expression is invalid: it is a constant or was validated.
    pub fn new<J: BackgroundJob + Clone>(cron: &str, job: J) -> Self {
        let cron = cron.parse().expect("a cron expression");
        let enqueue_tick: EnqueueTick = Box::new(move |store, key| {
            let job = job.clone();
            Box::pin(async move {
                let mut tx = store.begin().await?;
                enqueue(&mut tx, &job, Some(&key)).await?;
                tx.commit().await
            })
        });
        Self { cron, kind: J::NAME, enqueue_tick, clock: Box::new(Utc::now) }
    }

    /// Replaces the system's clock.
    pub fn with_clock(self, clock: impl Fn() -> DateTime<Utc> + Send + Sync + 'static) -> Self {
        Self { clock: Box::new(clock), ..self }
    }

    /// Enqueues the job of each tick until `stop`, beginning with the last one that has passed.
    pub(crate) async fn run(self, store: Store, stop: CancellationToken) {
        let mut due = self.last_or_next((self.clock)());
        while !stop.is_cancelled() {
            let now = (self.clock)();
            due = self.correct_for_clock_jump(due, now);
            let sleep = match due {
                Some(tick) if tick <= now => {
                    match (self.enqueue_tick)(store.clone(), unique_key(tick)).await {
                        Ok(()) => {
                            due = self.cron.after(&tick).next();
                            continue;
                        }
                        Err(error) => {
                            tracing::warn!(job.kind = self.kind, %error,
                                           "scheduled job can't be enqueued; retrying");
                            RETRY_DELAY
                        }
                    }
                }
                Some(tick) => (tick - now).to_std().unwrap_or_default().min(POLL_INTERVAL),
                None => return,
            };
            if stop.run_until_cancelled(tokio::time::sleep(sleep)).await.is_none() {
                return;
            }
        }
    }

    /// Corrects the tick that is due, since the clock may have jumped: it is at most the next tick,
    /// and of many ticks that have passed it is the last one.
    fn correct_for_clock_jump(
        &self,
        due: Option<DateTime<Utc>>,
        now: DateTime<Utc>,
    ) -> Option<DateTime<Utc>> {
        let due = due.min(self.cron.after(&now).next());
        if due.is_some_and(|tick| now - tick > LOOKBACKS[0]) { self.last_or_next(now) } else { due }
    }

    /// Returns the last tick that has passed; the next one if there was none for a long time.
    fn last_or_next(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        for lookback in LOOKBACKS {
            let passed = self.cron.after(&(now - lookback)).take_while(|tick| *tick <= now);
            if let Some(last) = passed.last() {
                return Some(last);
            }
        }
        self.cron.after(&now).next()
    }
}

/// Returns the unique key of a tick, which is the same on every node.
fn unique_key(tick: DateTime<Utc>) -> String {
    format!("tick {}", tick.format("%Y-%m-%dT%H:%M:%SZ"))
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone as _;
    use serde::{Deserialize, Serialize};

    use super::*;

    #[derive(Clone, Serialize, Deserialize)]
    struct Noop {}

    impl BackgroundJob for Noop {
        const NAME: &'static str = "noop";
        const CONCURRENCY: usize = 1;
        const TIMEOUT: Duration = Duration::from_secs(1);

        type Context = ();

        async fn run(self, (): &()) -> Result<(), crate::JobError> {
            Ok(())
        }
    }

    fn time(day: u32, hour: u32, minute: u32) -> Option<DateTime<Utc>> {
        Utc.with_ymd_and_hms(2026, 11, day, hour, minute, 0).single()
    }

    fn corrected(
        cron: &str,
        due: Option<DateTime<Utc>>,
        now: Option<DateTime<Utc>>,
    ) -> Option<DateTime<Utc>> {
        Schedule::new(cron, Noop {}).correct_for_clock_jump(due, now.expect("a time"))
    }

    #[test]
    fn only_the_last_tick_is_due_after_a_jump_forward() {
        let (daily, minutely) = ("0 0 3 * * *", "0 * * * * *");
        assert_eq!(corrected(daily, time(20, 3, 0), time(21, 2, 59)), time(20, 3, 0));
        assert_eq!(corrected(daily, time(20, 3, 0), time(21, 3, 1)), time(21, 3, 0));
        assert_eq!(corrected(daily, time(20, 3, 0), time(20, 2, 59)), time(20, 3, 0), "not yet");
        assert_eq!(corrected(minutely, time(20, 3, 0), time(20, 4, 0)), time(20, 4, 0));
        assert_eq!(corrected(minutely, time(20, 3, 0), time(21, 3, 0)), time(21, 3, 0));
    }

    #[test]
    fn ticks_follow_the_clock_after_a_jump_back() {
        let (daily, minutely) = ("0 0 3 * * *", "0 * * * * *");
        assert_eq!(corrected(daily, time(20, 3, 0), time(19, 2, 59)), time(19, 3, 0));
        assert_eq!(corrected(daily, time(21, 3, 0), time(20, 2, 30)), time(20, 3, 0));
        assert_eq!(corrected(minutely, time(20, 3, 0), time(20, 2, 0)), time(20, 2, 1));
        assert_eq!(corrected(minutely, time(20, 3, 0), time(19, 3, 0)), time(19, 3, 1));
    }
}
