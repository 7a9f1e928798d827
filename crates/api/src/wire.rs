//! Values of the wire that belong to no single route.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Number;

/// Rounds a score to two decimals: more would cost tokens and say nothing.
pub fn rounded(score: f32) -> f64 {
    (f64::from(score) * 100.0).round() / 100.0
}

/// The largest number up to which a float tells every whole number from its neighbors.
const EXACT: f64 = 9_007_199_254_740_991.0;

/// Deserializes a whole number, however it is written: to JSON `5` and `5.0` are one.
pub fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    let Some(number) = Option::<Number>::deserialize(deserializer)? else { return Ok(None) };
    if let Some(whole) = number.as_i64() {
        return Ok(Some(whole));
    }
    let float = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() <= EXACT);
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and not too large")]
    float
        .map(|float| Some(float as i64))
        .ok_or_else(|| D::Error::custom(format!("must be a whole number, not {number}")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn a_whole_number_may_be_written_as_a_float() {
        let read = |text: &str| whole(&mut serde_json::Deserializer::from_str(text));
        for (text, expected) in
            [("5", 5), ("5.0", 5), ("-2e1", -20), ("9007199254740991", 9_007_199_254_740_991)]
        {
            assert_eq!(read(text).unwrap(), Some(expected), "{text}");
        }
        assert_eq!(read("null").unwrap(), None);
        for text in ["5.5", "1e300", "18446744073709551615", "\"5\"", "true"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
