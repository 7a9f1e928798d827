//! Rate limits of providers: how they are recognized, and until when they hold.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use http::HeaderName;
use reqwest::StatusCode;
use reqwest::header::{DATE, RETRY_AFTER};

use super::Response;
use crate::error::Error;

const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
/// When the limit resets: seconds from now in the standard's draft, a time elsewhere.
const RESETS: [HeaderName; 2] =
    [HeaderName::from_static("x-ratelimit-reset"), HeaderName::from_static("ratelimit-reset")];
/// Numbers from here on are times (of the year 2001 and later), smaller ones are delays.
const SMALLEST_TIME: i64 = 1_000_000_000;
/// The delay if the provider sends none.
const DEFAULT_DELAY: TimeDelta = TimeDelta::minutes(1);
/// The longest delay that is accepted.
const MAX_DELAY: TimeDelta = TimeDelta::hours(6);
/// The texts of a response to too many concurrent requests or writes at GitHub, which may have no
/// header. The second is that of older versions of Enterprise Server.
const SECONDARY: [&[u8]; 2] = [b"secondary rate limit", b"abuse detection mechanism"];

/// Until when no request is sent. Uses the monotonic clock.
#[derive(Debug, Default)]
pub(super) struct RateLimit(Mutex<Option<Block>>);

#[derive(Debug, Clone, Copy)]
struct Block {
    until: Instant,
    retry_at: DateTime<Utc>,
}

impl RateLimit {
    /// Fails while the rate limit holds.
    pub(super) fn check(&self, connector: &str) -> Result<(), Error> {
        let block = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match block {
            Some(Block { until, retry_at }) if Instant::now() < until => {
                Err(Error::RateLimited { connector: connector.to_owned(), retry_at })
            }
            _ => Ok(()),
        }
    }

    pub(super) fn block_until(&self, retry_at: DateTime<Utc>) {
        let wait = (retry_at - Utc::now()).to_std().unwrap_or(Duration::ZERO);
        let block = Block { until: Instant::now() + wait, retry_at };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(block);
    }
}

/// Returns when the rate limit ends; `None` if the response is about something else.
pub(super) fn retry_at(response: &Response, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let is_limit = match response.status {
        StatusCode::TOO_MANY_REQUESTS => true,
        StatusCode::FORBIDDEN => {
            response.header(REMAINING) == Some("0")
                || response.header(RETRY_AFTER).is_some()
                || SECONDARY.iter().any(|text| contains(&response.body, text))
        }
        StatusCode::SERVICE_UNAVAILABLE => response.header(RETRY_AFTER).is_some(),
        _ => false,
    };
    let delay =
        || retry_after(response, now).or_else(|| reset(response, now)).unwrap_or(DEFAULT_DELAY);
    is_limit.then(|| now + delay().clamp(TimeDelta::zero(), MAX_DELAY))
}

fn contains(body: &[u8], text: &[u8]) -> bool {
    body.windows(text.len()).any(|words| words == text)
}

fn retry_after(response: &Response, now: DateTime<Utc>) -> Option<TimeDelta> {
    let value = response.header(RETRY_AFTER)?;
    if let Ok(seconds) = value.trim().parse() {
        return TimeDelta::try_seconds(seconds);
    }
    Some(
        DateTime::<Utc>::from(httpdate::parse_http_date(value).ok()?) - provider_now(response, now),
    )
}

fn reset(response: &Response, now: DateTime<Utc>) -> Option<TimeDelta> {
    let value = RESETS.into_iter().find_map(|name| response.header(name))?;
    let seconds: i64 = value.trim().parse().ok()?;
    if seconds < SMALLEST_TIME {
        return TimeDelta::try_seconds(seconds);
    }
    Some(DateTime::from_timestamp_secs(seconds)? - provider_now(response, now))
}

/// Returns the provider's current time, to which its other times are relative.
fn provider_now(response: &Response, now: DateTime<Utc>) -> DateTime<Utc> {
    let value = response.header(DATE).and_then(|date| httpdate::parse_http_date(date).ok());
    value.map_or(now, DateTime::from)
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::*;

    const NOW: i64 = 1_767_323_045;

    fn delay_seconds(
        status: u16,
        headers: &[(&'static str, &str)],
        body: &'static str,
    ) -> Option<i64> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().expect("a header's value"));
        }
        let status = StatusCode::from_u16(status).expect("a status");
        let response = Response { status, headers: map, body: body.into() };
        let now = DateTime::from_timestamp_secs(NOW).expect("a time");
        retry_at(&response, now).map(|at| at.timestamp() - NOW)
    }

    #[test]
    fn rate_limit_ends_as_its_headers_say() {
        assert_eq!(delay_seconds(429, &[("retry-after", "7")], ""), Some(7));
        assert_eq!(delay_seconds(429, &[], ""), Some(60));
        assert_eq!(delay_seconds(429, &[("ratelimit-reset", "9")], ""), Some(9));
        assert_eq!(delay_seconds(429, &[("ratelimit-reset", "1767323055")], ""), Some(10));
        assert_eq!(delay_seconds(503, &[("retry-after", "3")], ""), Some(3));
        assert_eq!(delay_seconds(429, &[("retry-after", "99999999")], ""), Some(6 * 3600));
    }

    #[test]
    fn retry_after_date_is_relative_to_the_providers_clock() {
        let headers = [
            ("date", "Fri, 02 Jan 2026 04:04:05 GMT"),
            ("retry-after", "Fri, 02 Jan 2026 04:04:25 GMT"),
        ];
        assert_eq!(delay_seconds(429, &headers, ""), Some(20));
    }

    #[test]
    fn github_rate_limit_differs_from_missing_permission() {
        let exhausted = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1767323085")];
        assert_eq!(delay_seconds(403, &exhausted, ""), Some(40));
        let secondary = r#"{"message": "You have exceeded a secondary rate limit."}"#;
        assert_eq!(delay_seconds(403, &[("x-ratelimit-remaining", "9")], secondary), Some(60));
        let abuse = r#"{"message": "You have triggered an abuse detection mechanism."}"#;
        assert_eq!(delay_seconds(403, &[], abuse), Some(60));
        assert_eq!(delay_seconds(403, &[("x-ratelimit-remaining", "9")], "{}"), None);
        assert_eq!(delay_seconds(500, &[("retry-after", "3")], ""), None);
    }
}
