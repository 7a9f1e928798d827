//! How long a command may run, as a request says it.

use std::time::Duration;

use jiff::SignedDuration;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::openapi::schema::SchemaFormat;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::{Violation, schema};

/// Longest time of commands.
const MAX: Duration = Duration::from_hours(1);
/// Time of commands of a request that names none.
const DEFAULT: Duration = Duration::from_mins(10);
/// Most characters of a time.
const MAX_CHARS: usize = 32;

/// A time of commands, as an ISO 8601 duration (`PT10M`): 1 second to 1 hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandTime(Duration);

impl CommandTime {
    /// Accepts an ISO 8601 duration within the range.
    pub fn parse(text: &str) -> Result<Self, Violation> {
        // Other spellings of the library are no ISO 8601.
        let is_iso = text.starts_with("PT") && text.len() <= MAX_CHARS;
        let parsed = is_iso.then(|| text.parse::<SignedDuration>().ok()).flatten();
        let time = parsed.and_then(|parsed| Duration::try_from(parsed).ok());
        let is_accepted = |time: &Duration| (Duration::from_secs(1)..=MAX).contains(time);
        time.filter(is_accepted).map(Self).ok_or_else(|| {
            Violation::new(
                "must be an ISO 8601 duration of 1 second to 1 hour, such as PT10M or PT1M30S",
            )
        })
    }

    /// Returns the time.
    pub fn get(self) -> Duration {
        self.0
    }
}

impl Default for CommandTime {
    fn default() -> Self {
        Self(DEFAULT)
    }
}

impl Serialize for CommandTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let time = SignedDuration::try_from(self.0).map_err(serde::ser::Error::custom)?;
        serializer.collect_str(&time)
    }
}

impl<'de> Deserialize<'de> for CommandTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl PartialSchema for CommandTime {
    fn schema() -> RefOr<Schema> {
        schema::string()
            .format(Some(SchemaFormat::Custom("command-time".to_owned())))
            .description(Some("An ISO 8601 duration (`PT10M`): 1 second to 1 hour."))
            .into()
    }
}

impl ToSchema for CommandTime {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_iso_durations_within_the_range_are_accepted() {
        for (text, seconds) in [("PT1S", 1), ("PT10M", 600), ("PT1H", 3_600), ("PT1M30S", 90)] {
            let time = CommandTime::parse(text).expect(text);
            assert_eq!(time.get(), Duration::from_secs(seconds));
            assert_eq!(serde_json::to_value(time).expect("JSON"), text);
        }
        let long = format!("PT{}1S", "0".repeat(40));
        let refused = ["", "PT", "PT0S", "PT3601S", "-PT1M", "10m", "600", "P1D", "PT1M ", &long];
        for text in refused {
            CommandTime::parse(text).expect_err(text);
        }
        assert_eq!(CommandTime::default().get(), Duration::from_mins(10));
    }
}
