//! A number that is corrected later, and never rejected.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Schema};

/// A number of any size, rounded. Whoever uses it moves it into its range, and says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct LenientNumber(i64);

impl LenientNumber {
    /// Returns the number.
    pub fn get(self) -> i64 {
        self.0
    }
}

impl From<i64> for LenientNumber {
    fn from(number: i64) -> Self {
        Self(number)
    }
}

impl<'de> Deserialize<'de> for LenientNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_i64(AnyNumber).map(Self)
    }
}

/// Any number; one that is not whole is rounded, and one beyond 64 bits is the nearest of them.
struct AnyNumber;

impl Visitor<'_> for AnyNumber {
    type Value = i64;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a number")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<i64, E> {
        Ok(number)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<i64, E> {
        Ok(i64::try_from(number).unwrap_or(i64::MAX))
    }

    #[expect(clippy::cast_possible_truncation, reason = "the cast saturates")]
    fn visit_f64<E: Error>(self, number: f64) -> Result<i64, E> {
        Ok(number.round() as i64)
    }
}

impl utoipa::PartialSchema for LenientNumber {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::Number)
            .description(Some("A number. It is rounded; one that is out of range is corrected."))
            .into()
    }
}

impl utoipa::ToSchema for LenientNumber {}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn every_number_is_accepted() {
        for (text, expected) in [
            ("5", 5),
            ("5.0", 5),
            ("-7", -7),
            ("4.6", 5),
            ("18446744073709551615", i64::MAX),
            ("-1e300", i64::MIN),
        ] {
            let number: LenientNumber = serde_json::from_str(text).unwrap();
            assert_eq!(number.get(), expected, "{text}");
        }
        assert!(serde_json::from_str::<LenientNumber>("\"5\"").is_err());
    }
}
