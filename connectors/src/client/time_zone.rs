//! The time zone in which a system reads the times of its own query language: that of whoever asks.

use chrono::{DateTime, NaiveDateTime, TimeDelta, TimeZone as _, Utc};
use chrono_tz::Tz;

/// The furthest behind UTC that any place is.
const FURTHEST_BEHIND: TimeDelta = TimeDelta::hours(12);
/// From the furthest behind to the furthest before is a day and two hours.
const UNKNOWN: TimeDelta = TimeDelta::days(2);
/// Clocks are put back by an hour; by two at the most.
const PUT_BACK: TimeDelta = TimeDelta::hours(2);

/// Where the credential's owner lives, as far as the system tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Zone(Option<Tz>);

impl Zone {
    /// The zone of that name (IANA's), or of none that is known.
    pub(super) fn named(name: Option<&str>) -> Self {
        Self(name.and_then(|name| name.parse().ok()))
    }

    /// The local time to ask from: whichever instant it is taken for, it is none after `since`.
    pub(super) fn local(self, since: DateTime<Utc>) -> NaiveDateTime {
        let Some(zone) = self.0 else { return since.naive_utc() - FURTHEST_BEHIND };
        let local = since.with_timezone(&zone).naive_local();
        let latest = zone.from_local_datetime(&local).latest();
        if latest.is_some_and(|latest| latest <= since) { local } else { local - PUT_BACK }
    }

    /// What a filter by such times can tell apart, where it could by `tick` if it were told in UTC.
    pub(super) fn tick(self, tick: TimeDelta) -> TimeDelta {
        if self.0.is_some() { tick } else { UNKNOWN }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local(zone: &str, since: &str) -> String {
        let since = since.parse().expect("a time");
        Zone::named(Some(zone)).local(since).to_string()
    }

    #[test]
    fn a_time_is_written_as_the_owners_clock_shows_it() {
        assert_eq!(local("Asia/Tokyo", "2026-01-02T03:04:05Z"), "2026-01-02 12:04:05");
        assert_eq!(local("America/New_York", "2026-01-02T03:04:05Z"), "2026-01-01 22:04:05");
    }

    #[test]
    fn an_hour_that_there_is_twice_is_asked_for_from_before() {
        // Clocks in Berlin went from 3:00 back to 2:00 at 1:00 UTC.
        assert_eq!(local("Europe/Berlin", "2026-10-25T00:30:00Z"), "2026-10-25 00:30:00");
        assert_eq!(local("Europe/Berlin", "2026-10-25T01:30:00Z"), "2026-10-25 02:30:00");
    }

    #[test]
    fn without_a_zone_the_time_is_early_enough_everywhere() {
        assert_eq!(local("Nowhere/Atlantis", "2026-01-02T13:00:00Z"), "2026-01-02 01:00:00");
        assert_eq!(Zone::named(None).tick(TimeDelta::minutes(1)), TimeDelta::days(2));
        assert_eq!(Zone::named(Some("UTC")).tick(TimeDelta::minutes(1)), TimeDelta::minutes(1));
    }
}
