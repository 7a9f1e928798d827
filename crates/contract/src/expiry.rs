//! When a record is to expire, as a request names it.

use chrono::{DateTime, Days, NaiveDate, NaiveTime, TimeDelta, Utc};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::openapi::schema::SchemaFormat;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::{Violation, limits, schema};

/// A date (through that day, UTC), an RFC 3339 time, or days or weeks from now (`30d`, `8w`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpiryDate {
    text: String,
    value: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Value {
    Time(DateTime<Utc>),
    After(Days),
}

impl ExpiryDate {
    /// Accepts a date, a time or a duration. Whether it is in the future is for
    /// [`after`](Self::after) to say.
    pub fn parse(text: &str) -> Result<Self, Violation> {
        let time = end_of_day(text).or_else(|| text.parse().ok()).map(Value::Time);
        let value = time.or_else(|| days(text).map(Value::After)).ok_or_else(|| {
            Violation::new(
                "must be a date (2027-06-01), an RFC 3339 time (2027-06-01T12:00:00Z) or a time \
                 from now in days or weeks (30d, 8w)",
            )
        })?;
        Ok(Self { text: text.to_owned(), value })
    }

    /// The time that it means at `now`: later than `now`, by at most [`limits::TTL_DAYS`].
    pub fn after(&self, now: DateTime<Utc>) -> Result<DateTime<Utc>, Violation> {
        let too_late = || Violation::new("must be at most 10 years ahead");
        let end = match self.value {
            Value::Time(time) => time,
            Value::After(days) => now.checked_add_days(days).ok_or_else(too_late)?,
        };
        if end <= now {
            return Err(Violation::new("must be in the future"));
        }
        if end - now > TimeDelta::days(limits::TTL_DAYS) { Err(too_late()) } else { Ok(end) }
    }
}

fn days(text: &str) -> Option<Days> {
    let (count, days_each) = match text.split_at_checked(text.len().checked_sub(1)?)? {
        (count, "d") => (count, 1),
        (count, "w") => (count, 7),
        _ => return None,
    };
    Some(Days::new(count.parse::<u64>().ok()?.checked_mul(days_each)?))
}

fn end_of_day(text: &str) -> Option<DateTime<Utc>> {
    let day: NaiveDate = text.parse().ok()?;
    Some(day.checked_add_days(Days::new(1))?.and_time(NaiveTime::MIN).and_utc())
}

impl Serialize for ExpiryDate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for ExpiryDate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl PartialSchema for ExpiryDate {
    fn schema() -> RefOr<Schema> {
        schema::string()
            .format(Some(SchemaFormat::Custom("expiry-date".to_owned())))
            .description(Some(
                "A date, which includes that day in UTC, an RFC 3339 time, or days or weeks from \
                 now (`30d`, `8w`); later than now and at most 10 years ahead.",
            ))
            .into()
    }
}

impl ToSchema for ExpiryDate {}
