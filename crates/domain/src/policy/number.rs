//! Deserialization of whole numbers.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// Deserializes a whole number. `5` and `5.0` are the same number in JSON.
pub(super) fn whole<'de, D: Deserializer<'de>, N: TryFrom<u32>>(
    deserializer: D,
) -> Result<N, D::Error> {
    let number = serde_json::Number::deserialize(deserializer)?;
    let float = number.as_f64().filter(|float| float.fract() == 0.0);
    let fits = float.filter(|float| (0.0..=f64::from(u32::MAX)).contains(float));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the value is whole and in range"
    )]
    let whole = fits.map(|float| float as u32).and_then(|whole| N::try_from(whole).ok());
    whole.ok_or_else(|| D::Error::custom(format!("must be a whole number, not {number}")))
}

/// Deserializes a whole number or `null`.
pub(super) fn whole_or_none<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u16>, D::Error> {
    #[derive(Deserialize)]
    #[serde(transparent)]
    struct WholeNumber(#[serde(deserialize_with = "whole")] u16);
    let number = Option::<WholeNumber>::deserialize(deserializer)?;
    Ok(number.map(|WholeNumber(number)| number))
}
