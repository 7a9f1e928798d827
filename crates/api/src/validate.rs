//! Requests that are validated after they are deserialized: a type with strings and numbers becomes
//! a validated one. New requests are contract types, whose fields hold their own rules
//! ([`mc_contract::Request`]).

use std::ops::RangeInclusive;

pub use mc_contract::ValidationError;
use mc_contract::{Violation, rules};
use mc_domain::ProjectKey;

/// A wire type that becomes a [`Validate::Checked`] value once it keeps all rules.
pub trait Validate: Sized {
    /// The validated value.
    type Checked;

    /// Checks every field. The error names the first one that breaks a rule.
    fn check(self) -> Result<Self::Checked, ValidationError>;
}

fn at<T>(field: &str, checked: Result<T, Violation>) -> Result<T, ValidationError> {
    checked.map_err(|violation| violation.at(field))
}

/// Checks a [`rules::line`].
pub fn line(field: &str, text: &str, max: usize) -> Result<String, ValidationError> {
    at(field, rules::line(text, max))
}

/// Checks a [`rules::identifier`].
pub fn identifier(field: &str, text: &str, max: usize) -> Result<String, ValidationError> {
    at(field, rules::identifier(text, max))
}

/// Checks and masks an optional [`rules::masked_line`].
pub fn optional_masked(
    field: &str,
    value: Option<String>,
    max: usize,
) -> Result<Option<String>, ValidationError> {
    optional(field, value, |field, value| at(field, rules::masked_line(&value, max)))
}

/// Checks a value if there is one.
pub fn optional<T, U>(
    field: &str,
    value: Option<T>,
    check: impl FnOnce(&str, T) -> Result<U, ValidationError>,
) -> Result<Option<U>, ValidationError> {
    value.map(|value| check(field, value)).transpose()
}

/// Checks an optional [`line`].
pub fn optional_line(
    field: &str,
    value: Option<String>,
    max: usize,
) -> Result<Option<String>, ValidationError> {
    optional(field, value, |field, value| line(field, &value, max))
}

/// Checks at most `max` items, each under its own name (`tags[3]`).
pub fn list<T, U>(
    field: &str,
    items: Vec<T>,
    max: usize,
    check: impl Fn(&str, T) -> Result<U, ValidationError>,
) -> Result<Vec<U>, ValidationError> {
    if items.len() > max {
        let rule = format!("holds {} items; the limit is {max}", items.len());
        return Err(ValidationError::new(field, rule));
    }
    let items = items.into_iter().enumerate();
    items.map(|(index, item)| check(&format!("{field}[{index}]"), item)).collect()
}

/// Checks a whole number. `N` must hold every number of `range`.
pub fn range<N: TryFrom<i64>>(
    field: &str,
    value: i64,
    range: &RangeInclusive<i64>,
) -> Result<N, ValidationError> {
    let accepted = N::try_from(value).ok().filter(|_| range.contains(&value));
    accepted.ok_or_else(|| {
        let rule = format!("must be from {} to {}, not {value}", range.start(), range.end());
        ValidationError::new(field, rule)
    })
}

/// Checks the key of a project.
pub fn project_key(field: &str, key: &str) -> Result<ProjectKey, ValidationError> {
    at(field, rules::project_key(key))
}

/// Checks the login of a user.
pub fn login(field: &str, login: &str) -> Result<String, ValidationError> {
    at(field, rules::short_name(login))
}

/// Checks the key of a team; returns it in lower case.
pub fn team_key(field: &str, key: &str) -> Result<String, ValidationError> {
    login(field, key).map(|key| key.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_of_a_list_is_named_by_its_index() {
        let items = vec!["good".to_owned(), " ".to_owned()];
        let error = list("tags", items, 64, |field, item| line(field, &item, 120));
        assert_eq!(error.map_err(|error| error.field), Err("tags[1]".to_owned()));
    }

    #[test]
    fn a_number_outside_of_its_range_is_rejected() {
        assert_eq!(range::<u32>("limit", 100, &(1..=100)), Ok(100));
        for value in [0, -1, 101, i64::MIN, i64::MAX] {
            assert!(range::<u32>("limit", value, &(1..=100)).is_err(), "{value}");
        }
    }
}
