//! How a system says that it wants fewer requests, and until when.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use http::HeaderName;
use reqwest::StatusCode;
use reqwest::header::{DATE, RETRY_AFTER};

use super::Answer;
use crate::client::Error;

const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
/// When the allowance is whole again: seconds from now in the standard's draft, a time everywhere else.
const RESETS: [HeaderName; 2] =
    [HeaderName::from_static("x-ratelimit-reset"), HeaderName::from_static("ratelimit-reset")];
/// Larger numbers of seconds are times (the year 2001), smaller ones waits.
const SMALLEST_TIME: i64 = 1_000_000_000;
/// The wait where the system doesn't say how long.
const UNSAID: TimeDelta = TimeDelta::minutes(1);
/// The longest wait that is believed.
const LONGEST: TimeDelta = TimeDelta::hours(6);
/// What GitHub writes where too much was asked for at once, sometimes with no header to tell.
const SECONDARY: &[u8] = b"secondary rate limit";

/// Until when a system is not asked. By a clock that can't jump.
#[derive(Debug, Default)]
pub(super) struct Limit(Mutex<Option<Held>>);

#[derive(Debug, Clone, Copy)]
struct Held {
    until: Instant,
    retry_at: DateTime<Utc>,
}

impl Limit {
    /// Fails while the system wants to be left alone.
    pub(super) fn check(&self, system: &str) -> Result<(), Error> {
        let held = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match held {
            Some(Held { until, retry_at }) if Instant::now() < until => {
                Err(Error::RateLimited { system: system.to_owned(), retry_at })
            }
            _ => Ok(()),
        }
    }

    pub(super) fn hold(&self, retry_at: DateTime<Utc>) {
        let wait = (retry_at - Utc::now()).to_std().unwrap_or(Duration::ZERO);
        let held = Held { until: Instant::now() + wait, retry_at };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(held);
    }
}

/// When the system will answer again, where that is why it doesn't.
pub(super) fn retry_at(answer: &Answer, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let is_limit = match answer.status {
        StatusCode::TOO_MANY_REQUESTS => true,
        StatusCode::FORBIDDEN => {
            answer.header(REMAINING) == Some("0")
                || answer.header(RETRY_AFTER).is_some()
                || answer.body.windows(SECONDARY.len()).any(|words| words == SECONDARY)
        }
        StatusCode::SERVICE_UNAVAILABLE => answer.header(RETRY_AFTER).is_some(),
        _ => false,
    };
    let wait = || retry_after(answer, now).or_else(|| reset(answer, now)).unwrap_or(UNSAID);
    is_limit.then(|| now + wait().clamp(TimeDelta::zero(), LONGEST))
}

fn retry_after(answer: &Answer, now: DateTime<Utc>) -> Option<TimeDelta> {
    let said = answer.header(RETRY_AFTER)?;
    if let Ok(seconds) = said.trim().parse() {
        return TimeDelta::try_seconds(seconds);
    }
    Some(DateTime::<Utc>::from(httpdate::parse_http_date(said).ok()?) - their_now(answer, now))
}

fn reset(answer: &Answer, now: DateTime<Utc>) -> Option<TimeDelta> {
    let said = RESETS.into_iter().find_map(|name| answer.header(name))?;
    let seconds: i64 = said.trim().parse().ok()?;
    if seconds < SMALLEST_TIME {
        return TimeDelta::try_seconds(seconds);
    }
    Some(DateTime::from_timestamp_secs(seconds)? - their_now(answer, now))
}

/// The system's own time: its times are taken as so long from that, whatever the clock here says.
fn their_now(answer: &Answer, now: DateTime<Utc>) -> DateTime<Utc> {
    let said = answer.header(DATE).and_then(|date| httpdate::parse_http_date(date).ok());
    said.map_or(now, DateTime::from)
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::*;

    const NOW: i64 = 1_767_323_045;

    fn waits(status: u16, headers: &[(&'static str, &str)], body: &'static str) -> Option<i64> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().expect("a header's value"));
        }
        let status = StatusCode::from_u16(status).expect("a status");
        let answer = Answer { status, headers: map, body: body.into() };
        let now = DateTime::from_timestamp_secs(NOW).expect("a time");
        retry_at(&answer, now).map(|at| at.timestamp() - NOW)
    }

    #[test]
    fn a_limit_says_until_when() {
        assert_eq!(waits(429, &[("retry-after", "7")], ""), Some(7));
        assert_eq!(waits(429, &[], ""), Some(60));
        assert_eq!(waits(429, &[("ratelimit-reset", "9")], ""), Some(9));
        assert_eq!(waits(429, &[("ratelimit-reset", "1767323055")], ""), Some(10));
        assert_eq!(waits(503, &[("retry-after", "3")], ""), Some(3));
        assert_eq!(waits(429, &[("retry-after", "99999999")], ""), Some(6 * 3600));
    }

    #[test]
    fn a_date_counts_by_the_clock_that_wrote_it() {
        let headers = [
            ("date", "Fri, 02 Jan 2026 04:04:05 GMT"),
            ("retry-after", "Fri, 02 Jan 2026 04:04:25 GMT"),
        ];
        assert_eq!(waits(429, &headers, ""), Some(20));
    }

    #[test]
    fn githubs_limits_are_told_from_what_is_forbidden() {
        let spent = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1767323085")];
        assert_eq!(waits(403, &spent, ""), Some(40));
        let secondary = r#"{"message": "You have exceeded a secondary rate limit."}"#;
        assert_eq!(waits(403, &[("x-ratelimit-remaining", "9")], secondary), Some(60));
        assert_eq!(waits(403, &[("x-ratelimit-remaining", "9")], "{}"), None);
        assert_eq!(waits(500, &[("retry-after", "3")], ""), None);
    }
}
