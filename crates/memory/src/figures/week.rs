//! ISO weeks in UTC.

use chrono::{DateTime, Datelike as _, NaiveTime, TimeDelta, Utc, Weekday};

/// Returns the start of the ISO week of a time: Monday, 00:00 UTC.
pub fn week_start(time: DateTime<Utc>) -> DateTime<Utc> {
    time.date_naive().week(Weekday::Mon).first_day().and_time(NaiveTime::MIN).and_utc()
}

/// Returns the start of the first of several weeks, of which the last has `now`.
pub fn first_week(now: DateTime<Utc>, weeks: u16) -> DateTime<Utc> {
    week_start(now) - TimeDelta::weeks(i64::from(weeks) - 1)
}

/// Returns the name of the ISO week of a time, such as `2026-W48`. Its year is that of its
/// Thursday.
pub fn week_name(time: DateTime<Utc>) -> String {
    let week = time.iso_week();
    format!("{}-W{:02}", week.year(), week.week())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().expect("a time")
    }

    #[test]
    fn week_starts_on_monday_in_utc() {
        for (time, start, name) in [
            ("2026-11-29T23:59:59.999Z", "2026-11-23T00:00:00Z", "2026-W48"),
            ("2026-11-30T00:00:00Z", "2026-11-30T00:00:00Z", "2026-W49"),
            // The year of a week is that of its Thursday.
            ("2027-01-03T12:00:00Z", "2026-12-28T00:00:00Z", "2026-W53"),
            ("2027-01-04T00:00:00Z", "2027-01-04T00:00:00Z", "2027-W01"),
            ("2025-12-29T00:00:00Z", "2025-12-29T00:00:00Z", "2026-W01"),
        ] {
            assert_eq!(week_start(at(time)), at(start), "{time}");
            assert_eq!(week_name(at(time)), name, "{time}");
        }
    }

    #[test]
    fn present_week_is_the_last_one() {
        let now = at("2027-01-05T08:00:00Z");
        assert_eq!(first_week(now, 1), at("2027-01-04T00:00:00Z"));
        assert_eq!(first_week(now, 3), at("2026-12-21T00:00:00Z"));
    }
}
