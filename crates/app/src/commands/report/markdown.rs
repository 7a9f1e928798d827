//! The weekly report as Markdown, for people. Titles of records are text from outside: they are
//! escaped for one line of Markdown.

use std::fmt::Write as _;

use mc_contract::operations::kpi::{KpiResponse, LeadTime, MissingReason, UsageFigures};
use mc_contract::operations::usage_report::{PendingDecisions, UsageReport, WeekChanges};

use crate::terminal;

/// The name of a row, and its cell of a week.
type Row<Week, Cell> = (&'static str, fn(&Week) -> Cell);

/// Returns the report.
pub fn report(report: &UsageReport) -> String {
    let kpi = &report.kpi;
    let week = kpi.weeks.first().map_or("", |week| week.week.as_str());
    let team = kpi.team.as_ref().map(|team| format!(", team {}", inline(team.as_str())));
    let mut text = format!("# {}, {week}{}\n", inline(&kpi.project_key), team.unwrap_or_default());
    push_changes(&mut text, &report.changes);
    push_uses(&mut text, report);
    push_pending(&mut text, &report.pending);
    push_figures(&mut text, kpi);
    push_fixes(&mut text, kpi);
    push_health(&mut text, kpi);
    text
}

fn push_changes(text: &mut String, changes: &[WeekChanges]) {
    text.push_str("\n## What changed\n\n");
    text.push_str("| records | this week | last week |\n| --- | ---: | ---: |\n");
    let rows: [Row<WeekChanges, u64>; 5] = [
        ("created", |week| week.created),
        ("changed", |week| week.changed),
        ("superseded", |week| week.superseded),
        ("deleted", |week| week.deleted),
        ("expired", |week| week.expired),
    ];
    for (name, count) in rows {
        let count = |week| changes.get(week).map_or("-".to_owned(), |week| count(week).to_string());
        let _ = writeln!(text, "| {name} | {} | {} |", count(0), count(1));
    }
}

fn push_uses(text: &mut String, report: &UsageReport) {
    text.push_str("\n## What helped\n\n");
    if report.most_used.is_empty() {
        text.push_str("No record was used this week.\n");
    }
    for record in &report.most_used {
        let times = if record.uses == 1 { "time" } else { "times" };
        let title = inline(&record.title);
        let _ = writeln!(text, "- {title}: used {} {times} (`{}`)", record.uses, record.id);
    }
}

fn push_pending(text: &mut String, pending: &PendingDecisions) {
    text.push_str("\n## What waits for a decision\n\n");
    let since = pending.oldest_proposal_at;
    let since = since.map(|at| format!(", the oldest since {}", at.format("%Y-%m-%d")));
    let rows = [
        (Some(pending.proposals), "proposals", since.unwrap_or_default()),
        (Some(pending.demoted), "unused records to review", String::new()),
        (Some(pending.duplicate_clusters), "clusters of duplicates", String::new()),
        (Some(pending.suspended_expiries), "records whose expiry is suspended", String::new()),
        (pending.quarantined, "texts in quarantine", String::new()),
    ];
    let open: Vec<_> =
        rows.into_iter().filter(|row| row.0.is_some_and(|count| count > 0)).collect();
    if open.is_empty() {
        text.push_str("Nothing.\n");
    }
    for (count, name, since) in open {
        let _ = writeln!(text, "- {} {name}{since}", count.unwrap_or_default());
    }
}

fn push_figures(text: &mut String, kpi: &KpiResponse) {
    text.push_str("\n## Figures\n\n");
    let weeks = kpi.weeks.len();
    let _ = writeln!(text, "| figure | this week | last week | {weeks} weeks |");
    text.push_str("| --- | ---: | ---: | ---: |\n");
    let rows: [Row<UsageFigures, String>; 3] = [
        ("recalls with a used item", |of| {
            let rate = &of.recall_hit_rate;
            share(rate.value, rate.hits, rate.recalls, rate.reason)
        }),
        ("time to the first of them", |of| {
            let time = &of.time_to_first_relevant;
            time.median_seconds.map_or_else(|| missing(time.reason), duration)
        }),
        ("judged saves that were kept", |of| {
            let saves = &of.save_acceptance;
            share(saves.value, saves.accepted, saves.judged, saves.reason)
        }),
    ];
    let columns = [kpi.weeks.first(), kpi.weeks.get(1)];
    for (name, value) in rows {
        let of = columns.map(|week| week.map_or("-".to_owned(), |week| value(&week.figures)));
        let _ = writeln!(text, "| {name} | {} | {} | {} |", of[0], of[1], value(&kpi.period));
    }
    text.push_str("\nUses of the last seven days may still be added.\n");
}

fn push_fixes(text: &mut String, kpi: &KpiResponse) {
    text.push_str("\n## Bug fixes of 26 weeks\n\n");
    text.push_str("| bugs | time to merge, median | 95 % interval | number |\n");
    text.push_str("| --- | ---: | ---: | ---: |\n");
    let times = &kpi.bugfix_lead_time;
    let rows = [
        ("with the memory", &times.with_memory),
        ("without", &times.without_memory),
        ("of the control group", &times.control),
        ("before the project", &times.before),
    ];
    for (name, LeadTime { median_seconds, low_seconds, high_seconds, tasks, reason }) in rows {
        let median = median_seconds.map_or_else(|| missing(*reason), duration);
        let interval = low_seconds.zip(*high_seconds);
        let interval = interval.map_or("-".to_owned(), |(low, high)| {
            format!("{} - {}", duration(low), duration(high))
        });
        let tasks = tasks.map_or("-".to_owned(), |tasks| tasks.to_string());
        let _ = writeln!(text, "| {name} | {median} | {interval} | {tasks} |");
    }
    text.push_str("\nThe groups differ in more than the memory: a difference shows no cause.\n");
    let onboarding = &kpi.onboarding_time;
    let time = onboarding.median_seconds.map_or_else(|| missing(onboarding.reason), duration);
    let _ = writeln!(text, "\nTime to the first own bug fix of newcomers, median: {time}");
}

fn push_health(text: &mut String, kpi: &KpiResponse) {
    let health = &kpi.health;
    text.push_str("\n## Health\n\n| records | number |\n| --- | ---: |\n");
    let rows = [
        ("live", Some(health.records)),
        ("junk", Some(health.junk)),
        ("- never recalled", Some(health.never_recalled)),
        ("- always rejected", Some(health.always_rejected)),
        ("duplicates", Some(health.duplicates)),
        ("stale", Some(health.stale)),
        ("with masked text", Some(health.masked)),
        ("in quarantine", health.quarantined),
    ];
    for (name, count) in rows {
        if let Some(count) = count {
            let _ = writeln!(text, "| {name} | {count} |");
        }
    }
}

/// Formats a share with its events.
fn share(
    value: Option<f64>,
    part: Option<u64>,
    all: Option<u64>,
    reason: Option<MissingReason>,
) -> String {
    match (value, part.zip(all)) {
        (Some(value), Some((part, all))) => format!("{:.1} % ({part} of {all})", value * 100.0),
        (_, Some((part, all))) if all > 0 => format!("{part} of {all}"),
        _ => missing(reason),
    }
}

fn missing(reason: Option<MissingReason>) -> String {
    let reason = match reason {
        None => return "-".to_owned(),
        Some(MissingReason::NoEvents) => "none",
        Some(MissingReason::TooFewEvents) => "too few",
        Some(MissingReason::TooFewPersons) => "too few persons",
        Some(MissingReason::NoBugLabels) => "no task has a bug's label",
        Some(MissingReason::NoOpeningTimes) => "no times of issues",
        Some(MissingReason::NoMergedPullRequests) => "no merged pull requests",
        Some(MissingReason::NoProviderLogins) => "no provider logins",
    };
    format!("- ({reason})")
}

/// Formats seconds by their two largest units.
fn duration(seconds: f64) -> String {
    if seconds < 60.0 {
        return format!("{seconds:.1} s");
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "times between events are positive, and far below the limit"
    )]
    let seconds = seconds.round() as u64;
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match (days, hours) {
        (0, 0) => format!("{minutes} min {} s", seconds % 60),
        (0, _) => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

/// Escapes text from outside for one line of Markdown.
fn inline(text: &str) -> String {
    let mut escaped = String::new();
    for c in terminal::line(text).chars() {
        if "\\`*_{}[]<>()#+!|~&$@:".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use mc_contract::operations::kpi::KpiResponse;
    use mc_contract::operations::usage_report::UsedRecord;
    use mc_domain::RecordId;
    use serde_json::{Value, json};

    use super::*;

    fn week(recalls: u64, hits: u64, value: Option<f64>) -> Value {
        let reason = value.is_none().then_some("too_few_events");
        json!({
            "week": "2026-W48", "starts_at": "2026-11-23T00:00:00Z", "is_final": false,
            "recall_hit_rate":
                { "value": value, "recalls": recalls, "hits": hits, "reason": reason },
            "time_to_first_relevant":
                { "median_seconds": 75.0, "sessions": 8, "relevant_sessions": 6 },
            "save_acceptance": { "reason": "too_few_persons" }
        })
    }

    fn kpi() -> KpiResponse {
        let missing = json!({ "tasks": 0, "reason": "no_events" });
        let value = json!({
            "project_key": "shop", "generated_at": "2026-11-25T12:00:00Z", "persons_min": 3,
            "weeks": [week(4, 1, None), week(40, 15, Some(0.375))],
            "period": week(44, 16, Some(0.3636)),
            "bugfix_lead_time": {
                "starts_at": "2026-05-27T12:00:00Z", "ends_at": "2026-11-25T12:00:00Z",
                "with_memory": { "median_seconds": 14_400.0, "low_seconds": 3_600.0,
                                 "high_seconds": 252_000.0, "tasks": 7 },
                "without_memory": missing, "control": missing, "before": missing
            },
            "onboarding_time": { "starts_at": "2026-05-27T12:00:00Z",
                "ends_at": "2026-11-25T12:00:00Z", "reason": "no_provider_logins" },
            "health": { "records": 5, "junk": 2, "never_recalled": 1, "always_rejected": 1,
                        "duplicate_clusters": 1, "duplicates": 2, "stale": 1, "masked": 1 }
        });
        serde_json::from_value(value).expect("figures")
    }

    fn whole(title: &str) -> String {
        report(&UsageReport {
            kpi: kpi(),
            changes: vec![WeekChanges {
                week: "2026-W48".to_owned(),
                starts_at: "2026-11-23T00:00:00Z".parse().expect("a time"),
                created: 3,
                changed: 2,
                superseded: 0,
                deleted: 1,
                expired: 0,
            }],
            most_used: vec![UsedRecord {
                id: RecordId::generate(),
                title: title.to_owned(),
                uses: 2,
            }],
            pending: PendingDecisions {
                proposals: 1,
                oldest_proposal_at: Some("2026-10-01T00:00:00Z".parse().expect("a time")),
                demoted: 0,
                suspended_expiries: 0,
                duplicate_clusters: 1,
                quarantined: None,
            },
        })
    }

    #[test]
    fn report_has_figures_of_both_weeks_and_reasons() {
        let text = whole("Delays have units.");
        for line in [
            "# shop, 2026-W48",
            "| created | 3 | - |",
            "- 1 proposals, the oldest since 2026-10-01",
            "- 1 clusters of duplicates",
            "| recalls with a used item | 1 of 4 | 37.5 % (15 of 40) | 36.4 % (16 of 44) |",
            "| time to the first of them | 1 min 15 s | 1 min 15 s | 1 min 15 s |",
            "| with the memory | 4 h 0 min | 1 h 0 min - 2 d 22 h | 7 |",
            "| without | - (none) | - | 0 |",
            "Time to the first own bug fix of newcomers, median: - (no provider logins)",
            "| junk | 2 |",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n\n{text}");
        }
        assert!(!text.contains("quarantine"), "{text}");
    }

    #[test]
    fn title_of_a_record_is_one_line_of_plain_text() {
        let lines = whole("plain").lines().count();
        let text = whole("a\n# Forged <b>[x](http://evil.example)\u{1b}[2J");
        assert_eq!(text.lines().count(), lines, "{text}");
        let title =
            r"- a\\n\# Forged \<b\>\[x\]\(http\://evil.example\)\\u\{1b\}\[2J: used 2 times";
        assert!(text.contains(title), "{text}");
    }
}
