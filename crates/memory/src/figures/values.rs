//! Values of figures from counts of events, or the reason why there is none.

use mc_contract::operations::kpi::{
    LeadTime, MissingReason, OnboardingTime, RecallHitRate, SaveAcceptance, TimeToFirstRelevant,
    UsageFigures,
};
use mc_store::figures::{
    FigurePeriod, Onboarding, ProviderData, RecallCounts, SessionCounts, UsageOfWeek,
};

use super::median::{MedianInterval, median_interval};

/// The fewest recalls of a hit rate, and the fewest judged saves of an acceptance.
const SHARE_EVENTS_MIN: u64 = 10;
/// The fewest sessions of a median.
const SESSIONS_MIN: u64 = 5;

/// Outcomes of saves that were kept.
const KEPT: [&str; 4] = ["created", "merged", "superseded", "accepted"];
/// Outcomes of judged saves that were not kept.
const REFUSED: [&str; 3] = ["duplicate", "rejected", "declined"];

/// Returns the figures of a week or of a period.
pub fn usage_figures(usage: &UsageOfWeek) -> UsageFigures {
    UsageFigures {
        recall_hit_rate: recall_hit_rate(usage.recalls),
        time_to_first_relevant: time_to_first_relevant(usage.sessions),
        save_acceptance: save_acceptance(usage),
    }
}

fn recall_hit_rate(counts: Option<RecallCounts>) -> RecallHitRate {
    let recalls = counts.map(|counts| counts.recalls);
    let hits = counts.map(|counts| counts.with_use);
    let reason = missing(recalls, SHARE_EVENTS_MIN);
    RecallHitRate { value: share(hits, recalls, reason), recalls, hits, reason }
}

fn time_to_first_relevant(counts: Option<SessionCounts>) -> TimeToFirstRelevant {
    let relevant_sessions = counts.map(|counts| counts.relevant);
    let reason = missing(relevant_sessions, SESSIONS_MIN);
    let median = counts.and_then(|counts| counts.median_seconds).filter(|_| reason.is_none());
    TimeToFirstRelevant {
        median_seconds: median.map(to_milliseconds),
        sessions: counts.map(|counts| counts.sessions),
        relevant_sessions,
        reason,
    }
}

fn save_acceptance(usage: &UsageOfWeek) -> SaveAcceptance {
    let outcomes = usage.saves.as_ref();
    let sum = |names: &[&str]| -> Option<u64> {
        Some(names.iter().filter_map(|name| outcomes?.get(*name)).sum())
            .filter(|_| outcomes.is_some())
    };
    let accepted = sum(&KEPT);
    let judged = accepted.zip(sum(&REFUSED)).map(|(kept, refused)| kept + refused);
    let reason = missing(judged, SHARE_EVENTS_MIN);
    let value = share(accepted, judged, reason);
    SaveAcceptance { value, judged, accepted, outcomes: outcomes.cloned(), reason }
}

/// Returns the lead time of a group. `seconds` are sorted; they are `Some(None)` if they are
/// withheld, and `None` without a task.
pub fn lead_time(seconds: Option<Option<&[f64]>>, data: ProviderData) -> LeadTime {
    let without = |tasks, reason| LeadTime {
        median_seconds: None,
        low_seconds: None,
        high_seconds: None,
        tasks,
        reason: Some(reason),
    };
    match seconds {
        None | Some(Some([])) => without(Some(0), missing_fixes(data)),
        Some(None) => without(None, MissingReason::TooFewPersons),
        Some(Some(seconds)) => match median_interval(seconds) {
            None => without(Some(seconds.len() as u64), MissingReason::TooFewEvents),
            Some(MedianInterval { median, low, high }) => LeadTime {
                median_seconds: Some(to_milliseconds(median)),
                low_seconds: Some(to_milliseconds(low)),
                high_seconds: Some(to_milliseconds(high)),
                tasks: Some(seconds.len() as u64),
                reason: None,
            },
        },
    }
}

/// Returns the onboarding time of newcomers, who are `None` if there are too few.
pub fn onboarding_time(
    newcomers: Option<Onboarding>,
    data: ProviderData,
    period: FigurePeriod,
) -> OnboardingTime {
    let reason = match newcomers {
        None => Some(MissingReason::TooFewPersons),
        Some(Onboarding { persons: 0, .. }) if data.fixes > 0 && data.fixes_of_users == 0 => {
            Some(MissingReason::NoProviderLogins)
        }
        Some(Onboarding { persons: 0, .. }) => Some(missing_fixes(data)),
        Some(_) => None,
    };
    OnboardingTime {
        starts_at: period.start,
        ends_at: period.end,
        median_seconds: newcomers.and_then(|one| one.median_seconds).map(to_milliseconds),
        persons: newcomers.map(|newcomers| newcomers.persons),
        reason,
    }
}

/// Returns why there are no bug fixes.
fn missing_fixes(data: ProviderData) -> MissingReason {
    match data {
        ProviderData { bugs: 0, .. } => MissingReason::NoBugLabels,
        ProviderData { opened_bugs: 0, .. } => MissingReason::NoOpeningTimes,
        ProviderData { fixes: 0, .. } => MissingReason::NoMergedPullRequests,
        _ => MissingReason::NoEvents,
    }
}

/// Returns why a figure of this many events has no value; their number is `None` if it is withheld.
fn missing(events: Option<u64>, least: u64) -> Option<MissingReason> {
    match events {
        None => Some(MissingReason::TooFewPersons),
        Some(0) => Some(MissingReason::NoEvents),
        Some(events) if events < least => Some(MissingReason::TooFewEvents),
        Some(_) => None,
    }
}

/// Returns a share with four decimals, unless a reason forbids it.
fn share(part: Option<u64>, all: Option<u64>, reason: Option<MissingReason>) -> Option<f64> {
    let (part, all) = part.zip(all).filter(|_| reason.is_none())?;
    Some((part as f64 / all as f64 * 10_000.0).round() / 10_000.0)
}

fn to_milliseconds(seconds: f64) -> f64 {
    (seconds * 1_000.0).round() / 1_000.0
}
