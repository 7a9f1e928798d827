//! From what the wire says to what the domain accepts. Each function takes the field's name, so
//! that a refusal can say where it happened.

use std::ops::RangeInclusive;
use std::time::Duration;

use chrono::{DateTime, Days, NaiveDate, NaiveTime, TimeDelta, Utc};
pub use mc_contract::ValidationError;
use mc_domain::{ProjectKey, check_line, check_text};
use mc_sanitizer::{Class, Finding};
use serde_json::{Map, Value};

use crate::limits;

/// A wire type that becomes a [`Check::Checked`] value once every part of it was looked at, so that
/// handlers only ever see what the domain accepts.
pub trait Validate: Sized {
    /// The value with all of its rules kept.
    type Checked;

    /// Looks at every part; the first one that breaks a rule is named.
    fn check(self) -> Result<Self::Checked, ValidationError>;
}

/// The same error seen from the outside, where the value is in `parent`.
fn within(error: ValidationError, parent: &str) -> ValidationError {
    ValidationError { field: format!("{parent}.{}", error.field), ..error }
}

/// One line of text that says something: not blank, no control characters, at most `max` characters.
/// Blanks around it are dropped, and count: a client that measures what it sends knows what fits.
pub fn line(field: &str, text: &str, max: usize) -> Result<String, ValidationError> {
    let line = text.trim();
    check_line(line).map_err(|e| ValidationError::new(field, e))?;
    measured(field, text, max)?;
    Ok(line.to_owned())
}

/// Like [`line`], for texts that may have several lines. Blanks around it are kept.
pub fn text(field: &str, text: &str, max: usize) -> Result<String, ValidationError> {
    check_text(text).map_err(|e| ValidationError::new(field, e))?;
    measured(field, text, max)
}

fn measured(field: &str, text: &str, max: usize) -> Result<String, ValidationError> {
    if text.trim().is_empty() {
        return Err(ValidationError::new(field, "must not be empty"));
    }
    let length = text.chars().count();
    if length > max {
        return Err(ValidationError::new(
            field,
            format!("holds {length} characters; the limit is {max}"),
        ));
    }
    Ok(text.to_owned())
}

/// A [`line`] that names something. Masked it would be another name, so one that holds a secret or
/// somebody's personal data is refused.
pub fn identifier(field: &str, text: &str, max: usize) -> Result<String, ValidationError> {
    let text = line(field, text, max)?;
    discreet(field, &text).map(|()| text)
}

fn discreet(field: &str, name: &str) -> Result<(), ValidationError> {
    let finds = mc_sanitizer::mask(name).findings;
    finds.first().map_or(Ok(()), |find| Err(revealing(field, find)))
}

fn revealing(field: &str, find: &Finding) -> ValidationError {
    let what = find.category;
    ValidationError::new(
        field,
        format!("looks like it holds a secret or personal data ({what}); leave it out"),
    )
}

/// Where something is. It must not hold a secret; a path may have somebody's address in it.
pub fn location(field: &str, text: &str, max: usize) -> Result<String, ValidationError> {
    let text = line(field, text, max)?;
    let finds = mc_sanitizer::mask(&text).findings;
    match finds.iter().find(|find| find.class == Class::Secret) {
        Some(find) => Err(revealing(field, find)),
        None => Ok(text),
    }
}

/// An optional [`line`] for people to read, masked.
pub fn optional_masked(
    field: &str,
    value: Option<String>,
    max: usize,
) -> Result<Option<String>, ValidationError> {
    let line = optional_line(field, value, max)?;
    Ok(line.map(|line| mc_sanitizer::mask(&line).text.into_string()))
}

/// Applies `check` where there is a value.
pub fn optional<T, U>(
    field: &str,
    value: Option<T>,
    check: impl FnOnce(&str, T) -> Result<U, ValidationError>,
) -> Result<Option<U>, ValidationError> {
    value.map(|value| check(field, value)).transpose()
}

/// An optional [`line`].
pub fn optional_line(
    field: &str,
    value: Option<String>,
    max: usize,
) -> Result<Option<String>, ValidationError> {
    optional(field, value, |field, value| line(field, &value, max))
}

/// An optional [`identifier`].
pub fn optional_identifier(
    field: &str,
    value: Option<String>,
    max: usize,
) -> Result<Option<String>, ValidationError> {
    optional(field, value, |field, value| identifier(field, &value, max))
}

/// An optional [`text`].
pub fn optional_text(
    field: &str,
    value: Option<String>,
    max: usize,
) -> Result<Option<String>, ValidationError> {
    optional(field, value, |field, value| text(field, &value, max))
}

/// At most `max` items, each checked under its own name (`tags[3]`).
pub fn list<T, U>(
    field: &str,
    items: Vec<T>,
    max: usize,
    check: impl Fn(&str, T) -> Result<U, ValidationError>,
) -> Result<Vec<U>, ValidationError> {
    if items.len() > max {
        return Err(ValidationError::new(
            field,
            format!("holds {} items; the limit is {max}", items.len()),
        ));
    }
    items
        .into_iter()
        .enumerate()
        .map(|(index, item)| check(&format!("{field}[{index}]"), item))
        .collect()
}

/// At most `max` wire values, each refused under its own name (`citations[1].file`).
pub fn records<T: Validate>(
    field: &str,
    items: Vec<T>,
    max: usize,
) -> Result<Vec<T::Checked>, ValidationError> {
    list(field, items, max, |field, item| item.check().map_err(|invalid| within(invalid, field)))
}

/// Like [`records`], with at least one.
pub fn filled_records<T: Validate>(
    field: &str,
    items: Vec<T>,
    max: usize,
) -> Result<Vec<T::Checked>, ValidationError> {
    if items.is_empty() {
        return Err(ValidationError::new(field, "must hold at least one item"));
    }
    records(field, items, max)
}

/// An optional wire value, refused under its own name (`quality.dup`).
pub fn nested<T: Validate>(
    field: &str,
    value: Option<T>,
) -> Result<Option<T::Checked>, ValidationError> {
    optional(field, value, |field, value| value.check().map_err(|invalid| within(invalid, field)))
}

/// Tags, scopes, labels and the like.
pub fn words(field: &str, items: Vec<String>) -> Result<Vec<String>, ValidationError> {
    list(field, items, limits::WORDS, |field, item| line(field, &item, limits::WORD))
}

/// A whole number within `range`; `N` must hold every number of it.
pub fn range<N: TryFrom<i64>>(
    field: &str,
    value: i64,
    range: &RangeInclusive<i64>,
) -> Result<N, ValidationError> {
    let refused = || {
        ValidationError::new(
            field,
            format!("must be from {} to {}, not {value}", range.start(), range.end()),
        )
    };
    if !range.contains(&value) {
        return Err(refused());
    }
    N::try_from(value).map_err(|_| refused())
}

/// A time budget.
pub fn milliseconds(field: &str, value: i64) -> Result<Duration, ValidationError> {
    range(field, value, &limits::TIME_BUDGET_MS).map(Duration::from_millis)
}

/// A share between 0 and 1.
#[expect(clippy::cast_possible_truncation, reason = "a score needs no more than f32 holds")]
pub fn share(field: &str, value: f64) -> Result<f32, ValidationError> {
    if (0.0..=1.0).contains(&value) {
        Ok(value as f32)
    } else {
        Err(ValidationError::new(field, format!("must be from 0 to 1, not {value}")))
    }
}

/// A project's key.
pub fn project_key(field: &str, key: &str) -> Result<ProjectKey, ValidationError> {
    discreet(field, key)?;
    ProjectKey::parse(key).map_err(|e| ValidationError::new(field, e))
}

/// A user's login: kept as it is written, told apart whatever the case.
pub fn login(field: &str, login: &str) -> Result<String, ValidationError> {
    short_name(field, login).map(str::to_owned)
}

/// A team's key, in lower case.
pub fn team_key(field: &str, key: &str) -> Result<String, ValidationError> {
    short_name(field, key).map(str::to_ascii_lowercase)
}

/// The same rule as for a project's key.
fn short_name<'a>(field: &str, name: &'a str) -> Result<&'a str, ValidationError> {
    let rule =
        "must be 1 to 64 letters, digits, \".\", \"_\" or \"-\", and start with a letter or digit";
    discreet(field, name)?;
    ProjectKey::parse(name).map(|_| name).map_err(|_| ValidationError::new(field, rule))
}

/// The end of a record's life, as a date (through that day, UTC), as an RFC 3339 time or in days or
/// weeks from `now` (`30d`, `8w`): later than `now` and at most [`limits::TTL_DAYS`] ahead.
pub fn ttl(field: &str, text: &str, now: DateTime<Utc>) -> Result<DateTime<Utc>, ValidationError> {
    let end = end_of_day(text)
        .or_else(|| text.parse::<DateTime<Utc>>().ok())
        .or_else(|| now.checked_add_days(days(text)?));
    let Some(end) = end else {
        let reason = "must be a date (2027-06-01), an RFC 3339 time (2027-06-01T12:00:00Z) or a time \
                      from now in days or weeks (30d, 8w)";
        return Err(ValidationError::new(field, reason));
    };
    if end <= now {
        return Err(ValidationError::new(field, "must be in the future"));
    }
    if end - now > TimeDelta::days(limits::TTL_DAYS) {
        return Err(ValidationError::new(field, "must be at most 10 years ahead"));
    }
    Ok(end)
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

/// A path inside a repository: relative, `/` between the parts, no way up. `./` in front and `/` at
/// the end are dropped.
pub fn relative_path(field: &str, path: &str) -> Result<String, ValidationError> {
    let path = line(field, path, limits::PATH)?;
    let path = path.trim_start_matches("./").trim_end_matches('/');
    let is_absolute = path.starts_with(['/', '~']) || path.as_bytes().get(1) == Some(&b':');
    let climbs = path.split(['/', '\\']).any(|part| part == "..");
    if path.is_empty() || is_absolute || climbs {
        let reason = "must be a path inside the repository, relative to its root, without \"..\"";
        return Err(ValidationError::new(field, reason));
    }
    Ok(path.to_owned())
}

/// A glob over places, such as `app/**/*.rb`, as the regular expression that the store matches.
pub fn glob(field: &str, text: &str) -> Result<String, ValidationError> {
    let text = line(field, text, limits::PATH)?;
    mc_search::glob::to_regex(&text).map_err(|e| ValidationError::new(field, e))
}

/// A language by its name, an alias or an extension, as the indexer names it.
pub fn language(field: &str, text: &str) -> Result<String, ValidationError> {
    let text = line(field, text, limits::WORD)?;
    let name =
        mc_indexer::language::named(&text).map_err(|error| ValidationError::new(field, error))?;
    Ok(name.to_owned())
}

/// An `http` or `https` URL.
pub fn http_url(field: &str, text: &str) -> Result<String, ValidationError> {
    let text = line(field, text, limits::URL)?;
    let is_web = url::Url::parse(&text)
        .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    if is_web { Ok(text) } else { Err(ValidationError::new(field, "must be an http or https URL")) }
}

/// Hexadecimal digits, lower-cased; the count must be within `digits`.
pub fn hex(
    field: &str,
    text: &str,
    digits: &RangeInclusive<usize>,
) -> Result<String, ValidationError> {
    let is_hex = text.bytes().all(|b| b.is_ascii_hexdigit());
    if !is_hex || !digits.contains(&text.len()) {
        let (start, end) = (digits.start(), digits.end());
        return Err(ValidationError::new(
            field,
            format!("must be {start} to {end} hexadecimal digits"),
        ));
    }
    Ok(text.to_ascii_lowercase())
}

/// Free-form JSON that PostgreSQL can hold: bounded in size and depth, no control characters in
/// keys or texts.
pub fn object(
    field: &str,
    object: Map<String, Value>,
) -> Result<Map<String, Value>, ValidationError> {
    let bytes =
        object.iter().map(|(key, value)| key.len() + value.to_string().len()).sum::<usize>();
    if bytes > limits::META_BYTES {
        let limit = limits::META_BYTES;
        return Err(ValidationError::new(
            field,
            format!("holds {bytes} bytes of JSON; the limit is {limit}"),
        ));
    }
    members(field, &object, limits::META_DEPTH)?;
    Ok(object)
}

fn members(field: &str, object: &Map<String, Value>, depth: usize) -> Result<(), ValidationError> {
    object.iter().try_for_each(|(key, value)| {
        check_line(key).map_err(|e| ValidationError::new(field, format!("a key {e}")))?;
        member(&format!("{field}.{key}"), value, depth)
    })
}

fn member(field: &str, value: &Value, depth: usize) -> Result<(), ValidationError> {
    let Some(depth) = depth.checked_sub(1) else {
        let limit = limits::META_DEPTH;
        return Err(ValidationError::new(field, format!("is nested deeper than {limit} levels")));
    };
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        Value::String(text) => check_text(text).map_err(|e| ValidationError::new(field, e)),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .try_for_each(|(index, item)| member(&format!("{field}[{index}]"), item, depth)),
        Value::Object(object) => members(field, object, depth),
    }
}

#[cfg(test)]
mod tests;
