//! Whether a record helps anybody. How well it stands is what the ranking itself makes of its age,
//! its use and its state at every recall; there is no other score that could differ from that, or
//! be out of date.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use chrono::{DateTime, TimeDelta, Utc};
use mc_domain::{ProjectId, RecordId, RecordKind, Trust};
use mc_search::{Step, standing};
use mc_store::hygiene::usage::{self, DemotionReason, RecordUsage};
use mc_store::{Store, passages};

use crate::Error;

/// So often others of a bundle were used and a record was not, before that speaks against it.
const PASSED_OVER_MIN: i64 = 10;

/// A record, how well it stands, and why it helps nobody, where it doesn't.
#[derive(Debug, Clone)]
pub struct RecordQuality {
    /// What is known of its use.
    pub usage: RecordUsage,
    /// What the ranking multiplies it by whatever is asked, step by step; `None` for what is not
    /// found at all.
    pub factors: Option<Vec<(Step, f32)>>,
    /// What speaks against it; nothing does against most.
    pub noise: Vec<UnusedReason>,
}

impl RecordQuality {
    /// All factors together.
    pub fn rank_factor(&self) -> Option<f32> {
        let factors = self.factors.as_ref()?;
        Some(factors.iter().map(|(_, factor)| factor).product())
    }

    /// What speaks against it, for people to read.
    pub fn against(&self) -> DemotionReason {
        let named = |(step, factor): &(Step, f32)| (step.to_string(), rounded(*factor));
        let factors: BTreeMap<_, _> = self.factors.iter().flatten().map(named).collect();
        DemotionReason {
            standing: self.rank_factor().map(rounded),
            factors,
            reasons: self.noise.iter().map(ToString::to_string).collect(),
        }
    }
}

/// To two digits.
fn rounded(factor: f32) -> f64 {
    (f64::from(factor) * 100.0).round() / 100.0
}

/// Why a record helps nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnusedReason {
    /// Neither recalled nor changed for so many days.
    Unused(i64),
    /// So often recalled where others were used, and never used.
    PassedOver(i64),
    /// What it cites has not been what it cited for so many days.
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

/// The records of the team after an id, oldest first, each judged; `unused_after_days` without a
/// recall or a change speak against one.
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
        passages.iter().map(|passage| (passage.indexed.id, standing(passage, now))).collect();
    let judged = |usage: RecordUsage| RecordQuality {
        factors: usage.passage.and_then(|passage| factors.remove(&passage)),
        noise: noise(&usage, unused_after_days, now),
        usage,
    };
    Ok(page.into_iter().map(judged).collect())
}

/// What speaks against a record. Nothing does against what a person vouched for, agreed on as a
/// rule, or named an end for.
fn noise(usage: &RecordUsage, unused_after_days: u16, now: DateTime<Utc>) -> Vec<UnusedReason> {
    if usage.trust == Trust::Confirmed || usage.kind == RecordKind::Rule || usage.is_ttl_explicit {
        return Vec::new();
    }
    let least = i64::from(unused_after_days);
    let days = |since: DateTime<Utc>| (now - since).max(TimeDelta::zero()).num_days();
    let changed = days(usage.updated_at);
    let unused = usage.last_recalled_at.map_or(changed, |hit| days(hit).min(changed));
    let broken = usage.broken_since.map_or(0, |since| days(since).min(changed));
    let is_passed_over =
        usage.use_count == 0 && usage.seen == 0 && usage.skip_count >= PASSED_OVER_MIN;
    let all = [
        (unused >= least).then_some(UnusedReason::Unused(unused)),
        is_passed_over.then_some(UnusedReason::PassedOver(usage.skip_count)),
        (broken >= least).then_some(UnusedReason::Broken(broken)),
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

    /// A fact of the team that changed so long ago.
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
        noise(usage, 90, NOW)
    }

    #[test]
    fn what_speaks_against_a_record_is_its_standing_with_its_parts_and_the_reasons() {
        let noise = vec![UnusedReason::Unused(90)];
        let factors = Some(vec![(Step::Recency, 0.5), (Step::Stale, 0.504)]);
        let judged = RecordQuality { usage: fact(90), factors, noise: noise.clone() };
        let against = judged.against();
        assert_eq!(against.standing, Some(0.25));
        let parts = [("recency".to_owned(), 0.5), ("stale".to_owned(), 0.5)];
        assert_eq!(against.factors, BTreeMap::from(parts));
        assert_eq!(against.reasons, ["neither recalled nor changed for 90 days"]);
        let unfound = RecordQuality { usage: fact(90), factors: None, noise };
        assert_eq!(unfound.against().standing, None);
    }

    #[test]
    fn a_recall_or_a_change_keeps_a_record() {
        assert_eq!(of(&fact(90)), [UnusedReason::Unused(90)]);
        assert_eq!(of(&fact(89)), []);
        let recalled = RecordUsage { recall_count: 1, last_recalled_at: Some(ago(3)), ..fact(400) };
        assert_eq!(of(&recalled), []);
        let recalled_then =
            RecordUsage { recall_count: 1, last_recalled_at: Some(ago(120)), ..fact(400) };
        assert_eq!(of(&recalled_then), [UnusedReason::Unused(120)]);
    }

    #[test]
    fn who_is_passed_over_ten_times_and_never_used_helps_nobody() {
        let passed = RecordUsage { skip_count: 10, ..fact(1) };
        assert_eq!(of(&passed), [UnusedReason::PassedOver(10)]);
        assert_eq!(of(&RecordUsage { use_count: 1, ..passed.clone() }), []);
        assert_eq!(of(&RecordUsage { seen: 1, ..passed.clone() }), []);
        assert_eq!(of(&RecordUsage { skip_count: 9, ..passed }), []);
    }

    #[test]
    fn what_is_broken_for_long_and_was_not_brought_back_since_helps_nobody() {
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
    fn what_people_vouched_for_stays() {
        let old = RecordUsage { skip_count: 99, ..fact(900) };
        assert_eq!(of(&RecordUsage { trust: Trust::Confirmed, ..old.clone() }), []);
        assert_eq!(of(&RecordUsage { kind: RecordKind::Rule, ..old.clone() }), []);
        assert_eq!(of(&RecordUsage { is_ttl_explicit: true, ..old }), []);
    }
}
