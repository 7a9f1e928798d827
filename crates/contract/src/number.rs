//! Validated numbers: one type a range. A type's range is its deserialization, error and schema.

use std::fmt;
use std::ops::RangeInclusive;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Violation, schema};

/// The largest number up to which a float tells every whole number from its neighbors.
const EXACT: f64 = 9_007_199_254_740_991.0;

macro_rules! numbers {
    ($(
        $(#[doc = $doc:literal])+
        $name:ident($number:ty) = $range:expr $(, default $default:expr)?;
    )+) => {$(
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
        #[serde(transparent)]
        pub struct $name($number);

        impl $name {
            /// The accepted numbers.
            pub const RANGE: RangeInclusive<i64> = $range;

            /// Accepts a number within the range.
            pub fn new(number: i64) -> Result<Self, Violation> {
                let is_accepted = Self::RANGE.contains(&number);
                let accepted = <$number>::try_from(number).ok().filter(|_| is_accepted);
                accepted.map(Self).ok_or_else(|| {
                    Violation::new(match (Self::RANGE.start(), Self::RANGE.end()) {
                        (min, &i64::MAX) => format!("must be {min} or more, not {number}"),
                        (min, max) => format!("must be from {min} to {max}, not {number}"),
                    })
                })
            }

            /// Returns the number, which is in its range.
            pub fn get(self) -> $number {
                self.0
            }
        }

        $(impl Default for $name {
            fn default() -> Self {
                Self($default)
            }
        })?

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let number = deserializer.deserialize_i64(WholeNumber)?;
                Self::new(number).map_err(Error::custom)
            }
        }

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                let schema = schema::number(&Self::RANGE);
                utoipa::openapi::RefOr::T(schema::described(schema, &[$($doc.trim()),+]))
            }
        }

        impl utoipa::ToSchema for $name {}
    )+};
}

numbers! {
    /// Most items of a page.
    PageLimit(i64) = 1..=200, default 50;
    /// Most results.
    SearchLimit(usize) = 1..=100, default 10;
    /// Maximum number of tokens.
    TokenLimit(usize) = 96..=32_000, default 2_000;
    /// Milliseconds.
    TimeBudget(u64) = 1..=20_000;
    /// Days of use of chat models.
    UsageDays(u16) = 1..=366, default 30;
    /// Weeks of figures, up to a year.
    WeekCount(u16) = 1..=53, default 4;
    /// Days until a token expires.
    TokenDays(i64) = 1..=366, default 90;
    /// Days until an invitation expires.
    InvitationDays(i64) = 1..=30, default 7;
    /// Hours for which the previous secret stays valid.
    SecretTtlHours(u64) = 0..=168, default 24;
    /// Minutes between two syncs.
    IntervalMinutes(i32) = 5..=1_440, default 15;
    /// A version of a record or of a policy, from 1.
    VersionNumber(i32) = 1..=i32::MAX as i64;
    /// A version of a system prompt; 0 is the built-in one.
    PromptNumber(i32) = 0..=999_999_999;
    /// The number of an event in its audit, from 1.
    EventNumber(i64) = 1..=i64::MAX;
    /// A character of a text, from 0.
    TextOffset(u64) = 0..=i64::MAX;
    /// Levels of directories.
    InspectionDepth(usize) = 1..=10, default 2;
    /// Bytes of a file that a model is shown.
    ContextBytes(usize) = 1..=2_000_000, default 16_384;
    /// Bytes of a file.
    ReadBytes(usize) = 1..=2_000_000, default 65_536;
    /// Maximum number of entries or lines that a tool of a workspace returns.
    ResultLimit(usize) = 1..=1_000, default 200;
    /// Maximum number of commits of a log.
    CommitLimit(u32) = 1..=200, default 20;
    /// Seconds after which a command is ended.
    CommandSeconds(u64) = 1..=600, default 120;
    /// Seconds that a request waits for the end of a command.
    WaitSeconds(u64) = 0..=18, default 18;
    /// A line after which text is inserted; 0 is the start of the file.
    InsertLine(usize) = 0..=10_000_000;
    /// An index of an array, from 0.
    ArrayIndex(usize) = 0..=10_000_000;
    /// A line of a file, from 1.
    LineNumber(i32) = 1..=10_000_000;
}

/// A whole number, however it is written: to JSON `5` and `5.0` are one.
struct WholeNumber;

impl Visitor<'_> for WholeNumber {
    type Value = i64;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a whole number")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<i64, E> {
        Ok(number)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<i64, E> {
        i64::try_from(number).map_err(|_| not_whole(number))
    }

    #[expect(clippy::cast_possible_truncation, reason = "it is whole and not too large")]
    fn visit_f64<E: Error>(self, number: f64) -> Result<i64, E> {
        let is_whole = number.fract() == 0.0 && number.abs() <= EXACT;
        if is_whole { Ok(number as i64) } else { Err(not_whole(number)) }
    }
}

fn not_whole<E: Error>(number: impl fmt::Display) -> E {
    E::custom(format!("must be a whole number, not {number}"))
}

/// Returns a score with four decimals. A `Value` of an `f32` would have digits that nobody meant:
/// 0.699999988079071 for 0.7.
pub fn rounded(score: f32) -> f64 {
    to_decimals(score, 4)
}

fn to_decimals(number: f32, decimals: i32) -> f64 {
    let scale = 10_f64.powi(decimals);
    (f64::from(number) * scale).round() / scale
}

/// A number from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UnitInterval(f32);

impl Serialize for UnitInterval {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // As many decimals as an `f32` of this range holds.
        serializer.serialize_f64(to_decimals(self.0, 7))
    }
}

impl UnitInterval {
    /// Returns the number, which is in its range.
    pub fn get(self) -> f32 {
        self.0
    }
}

impl<'de> Deserialize<'de> for UnitInterval {
    #[expect(clippy::cast_possible_truncation, reason = "a score needs no more than f32 holds")]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = f64::deserialize(deserializer)?;
        if (0.0..=1.0).contains(&number) {
            Ok(Self(number as f32))
        } else {
            Err(D::Error::custom(format!("must be from 0 to 1, not {number}")))
        }
    }
}

impl utoipa::PartialSchema for UnitInterval {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::Type::Number)
            .minimum(Some(0))
            .maximum(Some(1))
            .description(Some("A number from 0 to 1."))
            .into()
    }
}

impl utoipa::ToSchema for UnitInterval {}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use serde_json::from_str;

    use super::*;

    #[test]
    fn whole_number_is_accepted_as_a_float() {
        for (text, expected) in [("5", 5), ("5.0", 5), ("2e1", 20)] {
            assert_eq!(from_str::<SearchLimit>(text).unwrap().get(), expected, "{text}");
        }
        for text in ["5.5", "1e300", "18446744073709551615", "\"5\"", "true", "0", "101", "-1"] {
            assert!(from_str::<SearchLimit>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_have_the_digits_of_their_decimals() {
        for text in ["0.7", "0.1", "0.0000001", "1.0", "0.3333333"] {
            let number: UnitInterval = from_str(text).unwrap();
            // A `Value` holds an f64, as a body that is built with `json!` does.
            assert_eq!(serde_json::to_value(number).unwrap().to_string(), {
                from_str::<f64>(text).map(serde_json::Value::from).unwrap().to_string()
            });
        }
        for (score, expected) in [(0.7_f32, 0.7), (0.999_514_64, 0.9995), (3.639_13, 3.6391)] {
            assert!((rounded(score) - expected).abs() < f64::EPSILON, "{score}");
        }
    }

    #[test]
    fn defaults_are_within_their_ranges() {
        for (default, range) in [
            (PageLimit::default().get(), PageLimit::RANGE),
            (i64::try_from(SearchLimit::default().get()).unwrap(), SearchLimit::RANGE),
            (i64::try_from(TokenLimit::default().get()).unwrap(), TokenLimit::RANGE),
            (TokenDays::default().get(), TokenDays::RANGE),
        ] {
            assert!(range.contains(&default), "{default} is outside of {range:?}");
        }
    }

    #[test]
    fn number_outside_of_its_range_names_the_range() {
        let error = from_str::<LineNumber>("0").unwrap_err().to_string();
        assert!(error.starts_with("must be from 1 to 10000000, not 0"), "{error}");
        let error = from_str::<UnitInterval>("1.5").unwrap_err().to_string();
        assert!(error.starts_with("must be from 0 to 1, not 1.5"), "{error}");
    }
}
