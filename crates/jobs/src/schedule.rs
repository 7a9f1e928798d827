//! Schedules: each tick is enqueued once, on any number of nodes.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use futures::future::BoxFuture;
use mc_store::{Error, Store};
use tokio_util::sync::CancellationToken;

use crate::job::{BackgroundJob, Enqueue};

/// Longest sleep before the clock is read again, since it may jump.
const POLL_INTERVAL: Duration = Duration::from_secs(20);
/// How far back the last tick is searched: the shortest first, since every tick is stepped through.
const LOOKBACKS: [TimeDelta; 4] =
    [TimeDelta::minutes(2), TimeDelta::hours(2), TimeDelta::days(2), TimeDelta::days(32)];
/// Delay before a failed enqueue is repeated.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// When work of a kind is asked for.
pub struct Schedule {
    cron: cron::Schedule,
    kind: &'static str,
    ask: Ask,
    clock: Clock,
}

type Clock = Box<dyn Fn() -> DateTime<Utc> + Send + Sync>;
type Ask = Box<dyn Fn(Store, String) -> BoxFuture<'static, Result<(), Error>> + Send + Sync>;

impl std::fmt::Debug for Schedule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Schedule")
            .field("kind", &self.kind)
            .field("cron", &self.cron.to_string())
            .finish_non_exhaustive()
    }
}

impl Schedule {
    /// Work at the times of a cron expression (second, minute, hour, day, month, weekday; UTC). The
    /// last time that passed while no node was there is made up for; of several, the last alone.
    ///
    /// # Panics
    /// When the expression is none: schedules are part of the program.
    pub fn new<W: BackgroundJob + Clone>(cron: &str, work: W) -> Self {
        let cron = cron.parse().expect("a cron expression");
        let ask: Ask = Box::new(move |store, key| {
            let work = work.clone();
            Box::pin(async move {
                let mut tx = store.begin().await?;
                Enqueue::new(&work).unique(&key).insert(&mut tx).await?;
                tx.commit().await
            })
        });
        Self { cron, kind: W::NAME, ask, clock: Box::new(Utc::now) }
    }

    /// The same by another clock than the system's.
    pub fn by(self, clock: impl Fn() -> DateTime<Utc> + Send + Sync + 'static) -> Self {
        Self { clock: Box::new(clock), ..self }
    }

    /// Asks for the work of each time until `stop`, that of the last one that passed first.
    pub(crate) async fn run(self, store: Store, stop: CancellationToken) {
        let mut due = self.last_before((self.clock)());
        while !stop.is_cancelled() {
            let now = (self.clock)();
            due = self.in_time(due, now);
            let pause = match due {
                Some(tick) if tick <= now => match (self.ask)(store.clone(), key(tick)).await {
                    Ok(()) => {
                        due = self.cron.after(&tick).next();
                        continue;
                    }
                    Err(error) => {
                        tracing::warn!(job.kind = self.kind, %error,
                                       "a scheduled job can't be enqueued; trying again");
                        RETRY_DELAY
                    }
                },
                Some(tick) => (tick - now).to_std().unwrap_or_default().min(POLL_INTERVAL),
                None => return,
            };
            if stop.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
                return;
            }
        }
    }

    /// What is due by a clock that may have jumped: not later than the next time, and of many that
    /// have passed the last.
    fn in_time(&self, due: Option<DateTime<Utc>>, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let due = due.min(self.cron.after(&now).next());
        if due.is_some_and(|tick| now - tick > LOOKBACKS[0]) { self.last_before(now) } else { due }
    }

    /// The last time of the schedule that has passed; the next one where none has for long.
    fn last_before(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        for back in LOOKBACKS {
            let passed = self.cron.after(&(now - back)).take_while(|tick| *tick <= now);
            if let Some(last) = passed.last() {
                return Some(last);
            }
        }
        self.cron.after(&now).next()
    }
}

/// The same on every node.
fn key(tick: DateTime<Utc>) -> String {
    format!("tick {}", tick.format("%Y-%m-%dT%H:%M:%SZ"))
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone as _;
    use serde::{Deserialize, Serialize};

    use super::*;

    #[derive(Clone, Serialize, Deserialize)]
    struct Nothing {}

    impl BackgroundJob for Nothing {
        const NAME: &'static str = "nothing";
        const CONCURRENCY: usize = 1;
        const TIMEOUT: Duration = Duration::from_secs(1);

        type Context = ();

        async fn run(self, (): &()) -> Result<(), crate::JobError> {
            Ok(())
        }
    }

    fn at(day: u32, hour: u32, minute: u32) -> Option<DateTime<Utc>> {
        Utc.with_ymd_and_hms(2026, 11, day, hour, minute, 0).single()
    }

    fn in_time(
        cron: &str,
        due: Option<DateTime<Utc>>,
        now: Option<DateTime<Utc>>,
    ) -> Option<DateTime<Utc>> {
        Schedule::new(cron, Nothing {}).in_time(due, now.expect("a time"))
    }

    #[test]
    fn of_what_a_jump_forward_passes_over_the_last_alone_is_due() {
        let (daily, each_minute) = ("0 0 3 * * *", "0 * * * * *");
        assert_eq!(in_time(daily, at(20, 3, 0), at(21, 2, 59)), at(20, 3, 0));
        assert_eq!(in_time(daily, at(20, 3, 0), at(21, 3, 1)), at(21, 3, 0));
        assert_eq!(in_time(daily, at(20, 3, 0), at(20, 2, 59)), at(20, 3, 0), "it is yet to come");
        assert_eq!(in_time(each_minute, at(20, 3, 0), at(20, 4, 0)), at(20, 4, 0));
        assert_eq!(in_time(each_minute, at(20, 3, 0), at(21, 3, 0)), at(21, 3, 0));
    }

    #[test]
    fn after_a_jump_back_nothing_waits_until_the_clock_has_caught_up() {
        let (daily, each_minute) = ("0 0 3 * * *", "0 * * * * *");
        assert_eq!(in_time(daily, at(20, 3, 0), at(19, 2, 59)), at(19, 3, 0));
        assert_eq!(in_time(daily, at(21, 3, 0), at(20, 2, 30)), at(20, 3, 0));
        assert_eq!(in_time(each_minute, at(20, 3, 0), at(20, 2, 0)), at(20, 2, 1));
        assert_eq!(in_time(each_minute, at(20, 3, 0), at(19, 3, 0)), at(19, 3, 1));
    }
}
