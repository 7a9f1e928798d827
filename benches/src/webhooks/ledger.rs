//! The final deliveries of the service, compared with the responses to the sender.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use anyhow::Result;
use mc_store::{Store, testing};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::sender::{Kind, Sent};
use super::webhook;
use crate::harness::database::Database;
use crate::harness::service::Setup;

const DELIVERIES: &str = "select coalesce(json_agg(json_build_object(
        'id', external_id, 'state', state,
        'seconds', extract(epoch from completed_at - received_at))), '[]')::text
    from webhook_deliveries";
const TASKS: &str = "select coalesce(json_agg(external_id), '[]')::text from tasks";
/// Counts the task updates by webhooks; an event may have several.
const CHANGES: &str = "select coalesce(sum(did.value::int), 0)::text
    from audit_events e, jsonb_each_text(e.details::jsonb) did
    where e.action = 'tasks.synced' and e.target = 'webhook'";
/// Number of wrong deliveries that are named.
const NAMED: usize = 5;

/// The contents of the database.
#[derive(Debug)]
pub struct Ledger {
    deliveries: Vec<Kept>,
    /// Their ids at the tracker.
    tasks: Vec<String>,
    /// Number of task updates by webhooks, from the audit.
    changes: usize,
}

/// A stored delivery.
#[derive(Debug, Deserialize)]
struct Kept {
    /// The sender's id.
    id: String,
    state: String,
    /// From receipt to completion.
    seconds: Option<f64>,
}

/// The verdict, with the ids of wrong deliveries.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Deliveries of the sender, without forged ones.
    pub sent: usize,
    /// Of these, the acknowledged ones.
    pub acknowledged: usize,
    /// Acknowledged, but missing or without a task.
    pub lost: Vec<String>,
    /// Stored more than once, with several tasks, or processed again.
    pub twice: Vec<String>,
    /// Forged, and acknowledged or stored.
    pub forged: Vec<String>,
    /// Forged, and with a response other than 403.
    pub not_refused: Vec<String>,
    /// Errors in the totals.
    pub sums: Vec<String>,
}

impl Ledger {
    /// Reads the database of a stopped service.
    pub async fn read(setup: &Setup) -> Result<Self> {
        let database = Database::open(&setup.data_dir, &setup.cache_dir).await?;
        let store = &database.store;
        let ledger = Self {
            deliveries: read(store, DELIVERIES).await?,
            tasks: read(store, TASKS).await?,
            changes: read(store, CHANGES).await?,
        };
        database.close().await;
        Ok(ledger)
    }

    /// Returns the time from receipt to completion of each delivery.
    pub fn waits(&self) -> impl Iterator<Item = Duration> {
        let seconds = self.deliveries.iter().filter_map(|kept| kept.seconds);
        seconds.map(|seconds| Duration::from_secs_f64(seconds.max(0.0)))
    }

    /// Checks that each acknowledged delivery is stored, was processed once and became one task;
    /// that each abandoned one is stored at most once; and that no forged one is stored.
    pub fn judge(&self, sent: &[Sent]) -> Verdict {
        let kept = count(self.deliveries.iter().map(|kept| kept.id.as_str()));
        let done = self.deliveries.iter().filter(|kept| kept.state == "completed");
        let done = count(done.map(|kept| kept.id.as_str()));
        let tasks = count(self.tasks.iter().map(String::as_str));
        let (forged, genuine): (Vec<_>, Vec<_>) =
            sent.iter().partition(|sent| sent.slot.kind == Kind::Forged);

        let mut verdict = Verdict { sums: self.sums(), ..Verdict::default() };
        for (number, is_acknowledged) in by_number(&genuine) {
            let id = webhook::id(number);
            let (kept, done) = (of(&kept, &id), of(&done, &id));
            let tasks = of(&tasks, &webhook::task(number));
            verdict.sent += 1;
            verdict.acknowledged += usize::from(is_acknowledged);
            if is_acknowledged && (kept == 0 || tasks == 0) {
                verdict.lost.push(id);
            } else if kept > 1 || tasks > 1 || done != kept {
                verdict.twice.push(id);
            }
        }
        for (number, is_acknowledged) in by_number(&forged) {
            let id = webhook::id(number);
            if is_acknowledged || of(&kept, &id) > 0 || of(&tasks, &webhook::task(number)) > 0 {
                verdict.forged.push(id);
            }
        }
        let others = forged.iter().filter_map(|sent| Some((sent.slot.number, sent.answer?)));
        let others = others.filter(|(_, answer)| *answer != reqwest::StatusCode::FORBIDDEN);
        verdict.not_refused =
            others.map(|(number, answer)| format!("{} ({answer})", webhook::id(number))).collect();
        verdict
    }

    /// Checks that each delivery became a task by one update.
    fn sums(&self) -> Vec<String> {
        let (deliveries, tasks, changes) = (self.deliveries.len(), self.tasks.len(), self.changes);
        if deliveries == tasks && tasks == changes {
            return Vec::new();
        }
        let sums = format!(
            "{deliveries} deliveries are kept, there are {tasks} tasks, and the audit has \
             {changes} changes of tasks by webhooks: these should be the same"
        );
        vec![sums]
    }
}

impl Verdict {
    /// Returns deliveries that were not accepted in the end, per ten thousand.
    pub fn undelivered(&self) -> f64 {
        (self.sent - self.acknowledged) as f64 * 10_000.0 / self.sent as f64
    }

    /// Returns the errors, in sentences.
    pub fn complaints(&self) -> Vec<String> {
        let wrong = [
            ("were acknowledged and are lost", &self.lost),
            ("were done twice", &self.twice),
            ("were forged and accepted", &self.forged),
            ("were forged and not answered 403", &self.not_refused),
        ];
        let wrong = wrong.into_iter().filter(|(_, ids)| !ids.is_empty()).map(|(what, ids)| {
            let named = ids[..ids.len().min(NAMED)].join(", ");
            format!("{} {what}, first {named}", ids.len())
        });
        wrong.chain(self.sums.iter().cloned()).collect()
    }
}

/// Returns the sent numbers, and whether one of their sends was acknowledged.
fn by_number(sent: &[&Sent]) -> BTreeMap<u32, bool> {
    let mut numbers = BTreeMap::<u32, bool>::new();
    for sent in sent {
        *numbers.entry(sent.slot.number).or_default() |= sent.is_acknowledged();
    }
    numbers
}

fn count<'a>(names: impl Iterator<Item = &'a str>) -> HashMap<&'a str, usize> {
    let mut counts = HashMap::<&str, usize>::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    counts
}

fn of(counts: &HashMap<&str, usize>, name: &str) -> usize {
    counts.get(name).copied().unwrap_or_default()
}

async fn read<T: DeserializeOwned>(store: &Store, sql: &str) -> Result<T> {
    Ok(serde_json::from_str(&testing::text(store, sql).await?)?)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use reqwest::StatusCode;

    use super::super::sender::Slot;
    use super::*;

    fn sent(number: u32, kind: Kind, answer: Option<StatusCode>) -> Sent {
        let (slot, now) = (Slot { at: Duration::ZERO, number, kind }, Instant::now());
        Sent { slot, due: now, ended: now, answer, failures: Vec::new() }
    }

    fn ledger(deliveries: &[(u32, &str)], tasks: &[u32], changes: usize) -> Ledger {
        let kept = |(number, state): &(u32, &str)| Kept {
            id: webhook::id(*number),
            state: (*state).to_owned(),
            seconds: None,
        };
        let tasks = tasks.iter().map(|number| webhook::task(*number)).collect();
        Ledger { deliveries: deliveries.iter().map(kept).collect(), tasks, changes }
    }

    const TAKEN: Option<StatusCode> = Some(StatusCode::ACCEPTED);

    #[test]
    fn correct_ledger_has_no_errors() {
        let sent = [
            sent(1, Kind::First, TAKEN),
            sent(1, Kind::Again, TAKEN),
            sent(2, Kind::First, None),
            sent(3, Kind::First, None),
            sent(3, Kind::Again, TAKEN),
            sent(4, Kind::First, None),
            sent(100, Kind::Forged, Some(StatusCode::FORBIDDEN)),
            sent(200, Kind::Forged, None),
        ];
        // The second was abandoned, but is stored; the fourth is not stored.
        let deliveries = [(1, "completed"), (2, "completed"), (3, "completed")];
        let verdict = ledger(&deliveries, &[1, 2, 3], 3).judge(&sent);
        assert_eq!((verdict.sent, verdict.acknowledged), (4, 2));
        assert_eq!(verdict.complaints(), Vec::<String>::new());
        assert!((verdict.undelivered() - 5_000.0).abs() < 1e-9);
    }

    #[test]
    fn lost_duplicate_and_forged_deliveries_are_named() {
        let mut all: Vec<Sent> = (1..=6).map(|number| sent(number, Kind::First, TAKEN)).collect();
        all.push(sent(100, Kind::Forged, TAKEN));
        all.push(sent(200, Kind::Forged, Some(StatusCode::FORBIDDEN)));
        all.push(sent(300, Kind::Forged, Some(StatusCode::BAD_REQUEST)));
        // The first is missing, the second has no task, the third is stored twice, the fourth has
        // two tasks, and the fifth was processed again.
        let deliveries = [
            (2, "completed"),
            (3, "completed"),
            (3, "completed"),
            (4, "completed"),
            (5, "ignored"),
            (6, "completed"),
            (200, "completed"),
        ];
        let verdict = ledger(&deliveries, &[3, 4, 4, 5, 6], 5).judge(&all);
        assert_eq!(verdict.lost, ["delivery-1", "delivery-2"]);
        assert_eq!(verdict.twice, ["delivery-3", "delivery-4", "delivery-5"]);
        assert_eq!(verdict.forged, ["delivery-100", "delivery-200"]);
        assert_eq!(
            verdict.not_refused,
            ["delivery-100 (202 Accepted)", "delivery-300 (400 Bad Request)"]
        );
        let complaints = verdict.complaints();
        assert_eq!(complaints.len(), 5, "{complaints:?}");
        assert_eq!(complaints[0], "2 were acknowledged and are lost, first delivery-1, delivery-2");
    }
}
