//! The time zone of the credential's user, in which query languages have their times.

use chrono::{DateTime, NaiveDateTime, TimeDelta, TimeZone as _, Utc};
use chrono_tz::Tz;

/// The time zone furthest behind UTC.
const FURTHEST_BEHIND: TimeDelta = TimeDelta::hours(12);
/// The resolution without a known zone: zones are up to 26 hours apart.
const UNKNOWN_RESOLUTION: TimeDelta = TimeDelta::days(2);
/// Clocks are set back by an hour, or by two at most.
const MAX_SET_BACK: TimeDelta = TimeDelta::hours(2);

/// The time zone of the credential's user, if the provider sends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UserZone(Option<Tz>);

impl UserZone {
    /// Returns the zone of an IANA name.
    pub(crate) fn named(name: Option<&str>) -> Self {
        Self(name.and_then(|name| name.parse().ok()))
    }

    /// Returns the local time for a query. No instant that it may stand for is after `since`.
    pub(crate) fn local(self, since: DateTime<Utc>) -> NaiveDateTime {
        let Some(zone) = self.0 else { return since.naive_utc() - FURTHEST_BEHIND };
        let local = since.with_timezone(&zone).naive_local();
        let latest = zone.from_local_datetime(&local).latest();
        if latest.is_some_and(|latest| latest <= since) { local } else { local - MAX_SET_BACK }
    }

    /// Returns the resolution of a filter that would have the resolution `tick` with times in UTC.
    pub(crate) fn resolution(self, tick: TimeDelta) -> TimeDelta {
        if self.0.is_some() { tick } else { UNKNOWN_RESOLUTION }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local(zone: &str, since: &str) -> String {
        let since = since.parse().expect("a time");
        UserZone::named(Some(zone)).local(since).to_string()
    }

    #[test]
    fn query_time_is_in_the_users_zone() {
        assert_eq!(local("Asia/Tokyo", "2026-01-02T03:04:05Z"), "2026-01-02 12:04:05");
        assert_eq!(local("America/New_York", "2026-01-02T03:04:05Z"), "2026-01-01 22:04:05");
    }

    #[test]
    fn query_time_precedes_a_repeated_hour() {
        // Clocks in Berlin are set back from 3:00 to 2:00 at 1:00 UTC.
        assert_eq!(local("Europe/Berlin", "2026-10-25T00:30:00Z"), "2026-10-25 00:30:00");
        assert_eq!(local("Europe/Berlin", "2026-10-25T01:30:00Z"), "2026-10-25 02:30:00");
    }

    #[test]
    fn query_time_is_early_enough_in_every_zone_when_unknown() {
        assert_eq!(local("Nowhere/Atlantis", "2026-01-02T13:00:00Z"), "2026-01-02 01:00:00");
        assert_eq!(UserZone::named(None).resolution(TimeDelta::minutes(1)), TimeDelta::days(2));
        assert_eq!(
            UserZone::named(Some("UTC")).resolution(TimeDelta::minutes(1)),
            TimeDelta::minutes(1)
        );
    }
}
