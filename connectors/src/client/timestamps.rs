//! Times as systems write them.

use chrono::{DateTime, Utc};
use serde::{Deserialize as _, Deserializer, de};

use crate::event;

/// A time in any of the ways in which the senders of webhooks write it.
pub(super) fn written<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<DateTime<Utc>, D::Error> {
    let text = String::deserialize(deserializer)?;
    event::time(&text).ok_or_else(|| de::Error::custom("no time"))
}
