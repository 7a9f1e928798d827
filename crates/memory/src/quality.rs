//! Quality of records: whether they are used. Its score is the rank factor that recalls apply for
//! age, use and state, so that no second score can differ or be outdated.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use chrono::{DateTime, TimeDelta, Utc};
use mc_contract::operations::proposal::Demotion;
use mc_domain::{ProjectId, RecordId, RecordKind, Trust};
use mc_search::{Step, rank_factors};
use mc_store::hygiene::usage::{self, RecordUsage};
use mc_store::{Store, passages};

use crate::Error;
use crate::bundle::rounded;

/// Recalls in which other records were used and this one was not, before that counts as a reason.
const PASSED_OVER_MIN: i64 = 10;

/// A record's usage, its rank factors, and why it is unused, if it is.
#[derive(Debug, Clone)]
pub struct RecordQuality {
    /// Recalls, uses and changes of the record.
    pub usage: RecordUsage,
    /// Rank factors that do not depend on the query; `None` for a record that is not searchable.
    pub factors: Option<Vec<(Step, f32)>>,
    /// Reasons why it is unused; none for most records.
    pub unused_reasons: Vec<UnusedReason>,
}

impl RecordQuality {
    /// Returns the product of all factors.
    pub fn rank_factor(&self) -> Option<f32> {
        let factors = self.factors.as_ref()?;
        Some(factors.iter().map(|(_, factor)| factor).product())
    }

    /// Returns the reasons for a reviewer.
    pub fn demotion(&self) -> Demotion {
        let named = |(step, factor): &(Step, f32)| (step.to_string(), rounded(*factor));
        let factors: BTreeMap<_, _> = self.factors.iter().flatten().map(named).collect();
        Demotion {
            rank_factor: self.rank_factor().map(rounded),
            factors,
            reasons: self.unused_reasons.iter().map(ToString::to_string).collect(),
        }
    }
}

/// Why a record counts as unused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnusedReason {
    /// Neither recalled nor changed for this many days.
    Unused(i64),
    /// Never used in this many recalls in which other records were.
    PassedOver(i64),
    /// Its cited code changed this many days ago.
    Broken(i64),
}

impl fmt::Display for UnusedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unused(days) => write!(f, "neither recalled nor changed for {days} days"),
            Self::PassedOver(times) => {
                write!(f, "never used in {times} recalls of which something else was used")
            }
            Self::Broken(days) => write!(f, "the code that it cites changed {days} days ago"),
        }
    }
}

/// Judges a page of team records after an id, oldest first.
pub async fn judge(
    store: &Store,
    project: ProjectId,
    unused_after_days: u16,
    after: Option<RecordId>,
    limit: i64,
) -> Result<Vec<RecordQuality>, Error> {
    let now = Utc::now();
    let page = usage::list_team(store, project, after, limit).await?;
    let ids: Vec<_> = page.iter().filter_map(|usage| usage.passage).collect();
    let passages = passages::load(store, project, &ids).await?;
    let mut factors: HashMap<_, _> =
        passages.iter().map(|passage| (passage.indexed.id, rank_factors(passage, now))).collect();
    let judged = |usage: RecordUsage| RecordQuality {
        factors: usage.passage.and_then(|passage| factors.remove(&passage)),
        unused_reasons: unused_reasons(&usage, unused_after_days, now),
        usage,
    };
    Ok(page.into_iter().map(judged).collect())
}

/// Returns why a record is unused; empty if it is confirmed, a rule, or has an explicit TTL.
fn unused_reasons(
    usage: &RecordUsage,
    unused_after_days: u16,
    now: DateTime<Utc>,
) -> Vec<UnusedReason> {
    if usage.trust == Trust::Confirmed || usage.kind == RecordKind::Rule || usage.is_ttl_explicit {
        return Vec::new();
    }
    let limit_days = i64::from(unused_after_days);
    let days = |since: DateTime<Utc>| (now - since).max(TimeDelta::zero()).num_days();
    let changed = days(usage.updated_at);
    let unused = usage.last_recalled_at.map_or(changed, |hit| days(hit).min(changed));
    let broken = usage.broken_since.map_or(0, |since| days(since).min(changed));
    let is_passed_over =
        usage.use_count == 0 && usage.seen == 0 && usage.skip_count >= PASSED_OVER_MIN;
    let all = [
        (unused >= limit_days).then_some(UnusedReason::Unused(unused)),
        is_passed_over.then_some(UnusedReason::PassedOver(usage.skip_count)),
        (broken >= limit_days).then_some(UnusedReason::Broken(broken)),
    ];
    all.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: DateTime<Utc> = DateTime::UNIX_EPOCH;

    fn ago(days: i64) -> DateTime<Utc> {
        NOW - TimeDelta::days(days)
    }

    /// A team fact that changed this many days ago.
    fn fact(days: i64) -> RecordUsage {
        RecordUsage {
            id: RecordId::generate(),
            passage: None,
            kind: RecordKind::Fact,
            trust: Trust::Team,
            is_ttl_explicit: false,
            recall_count: 0,
            use_count: 0,
            seen: 0,
            last_recalled_at: None,
            updated_at: ago(days),
            skip_count: 0,
            broken_since: None,
        }
    }

    fn of(usage: &RecordUsage) -> Vec<UnusedReason> {
        unused_reasons(usage, 90, NOW)
    }

    #[test]
    fn demotion_has_rank_factors_and_reasons() {
        let unused_reasons = vec![UnusedReason::Unused(90)];
        let factors = Some(vec![(Step::Recency, 0.5), (Step::Stale, 0.504)]);
        let judged =
            RecordQuality { usage: fact(90), factors, unused_reasons: unused_reasons.clone() };
        let demotion = judged.demotion();
        assert_eq!(demotion.rank_factor, Some(0.25));
        let parts = [("recency".to_owned(), 0.5), ("stale".to_owned(), 0.5)];
        assert_eq!(demotion.factors, BTreeMap::from(parts));
        assert_eq!(demotion.reasons, ["neither recalled nor changed for 90 days"]);
        let unfound = RecordQuality { usage: fact(90), factors: None, unused_reasons };
        assert_eq!(unfound.demotion().rank_factor, None);
    }

    #[test]
    fn recalled_or_changed_record_is_not_unused() {
        assert_eq!(of(&fact(90)), [UnusedReason::Unused(90)]);
        assert_eq!(of(&fact(89)), []);
        let recalled = RecordUsage { recall_count: 1, last_recalled_at: Some(ago(3)), ..fact(400) };
        assert_eq!(of(&recalled), []);
        let recalled_then =
            RecordUsage { recall_count: 1, last_recalled_at: Some(ago(120)), ..fact(400) };
        assert_eq!(of(&recalled_then), [UnusedReason::Unused(120)]);
    }

    #[test]
    fn record_skipped_ten_times_is_unused() {
        let passed = RecordUsage { skip_count: 10, ..fact(1) };
        assert_eq!(of(&passed), [UnusedReason::PassedOver(10)]);
        assert_eq!(of(&RecordUsage { use_count: 1, ..passed.clone() }), []);
        assert_eq!(of(&RecordUsage { seen: 1, ..passed.clone() }), []);
        assert_eq!(of(&RecordUsage { skip_count: 9, ..passed }), []);
    }

    #[test]
    fn record_with_long_broken_citations_is_unused() {
        let broken = RecordUsage {
            broken_since: Some(ago(100)),
            last_recalled_at: Some(ago(1)),
            ..fact(200)
        };
        assert_eq!(of(&broken), [UnusedReason::Broken(100)]);
        let restored = RecordUsage { updated_at: ago(2), ..broken };
        assert_eq!(of(&restored), []);
    }

    #[test]
    fn confirmed_records_and_rules_are_never_unused() {
        let old = RecordUsage { skip_count: 99, ..fact(900) };
        assert_eq!(of(&RecordUsage { trust: Trust::Confirmed, ..old.clone() }), []);
        assert_eq!(of(&RecordUsage { kind: RecordKind::Rule, ..old.clone() }), []);
        assert_eq!(of(&RecordUsage { is_ttl_explicit: true, ..old }), []);
    }
}
