//! Validation and truncation of the fields of events.

use chrono::{DateTime, Datelike as _, NaiveDateTime, Utc};
use mc_domain::is_other_line_break;
use serde::{Deserialize as _, Deserializer, de};
use sha2::{Digest as _, Sha256};
use url::Url;

use super::Link;
use crate::delivery::ParseError;

/// Characters of an id, a title, a name, a URL and a repository's path.
const ID: usize = 200;
const TITLE: usize = 512;
const NAME: usize = 128;
/// Characters of the digest that replaces the end of a long name.
const NAME_DIGEST: usize = 8;
const URL: usize = 2048;
const PATH: usize = 512;
/// Digits of a number that hosts assign: fewer than a payment card has.
const NUMBER_DIGITS: usize = 12;
/// The years that every date format can write.
const YEARS: std::ops::RangeInclusive<i32> = 1970..=9999;

/// Masks a path as a whole and each of its segments.
pub(super) fn path_masked(path: &str, mut mask: impl FnMut(&str) -> String) -> String {
    let whole = mask(path);
    whole.split('/').map(mask).collect::<Vec<_>>().join("/")
}

/// Returns whether a host assigned an id. It is not masked: two masked ids could be equal.
pub(super) fn is_number(id: &str) -> bool {
    (1..=NUMBER_DIGITS).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the link of an issue, if there is one.
pub(crate) fn links(title: &str, url: Option<String>) -> Vec<Link> {
    url.map(|url| Link { title: title.to_owned(), url }).into_iter().collect()
}

/// Returns whether a full ref is this branch.
pub(crate) fn is_branch(reference: &str, branch: Option<&str>) -> bool {
    branch.is_some() && reference.strip_prefix("refs/heads/") == branch
}

/// Returns the object of a ref; git writes zeros for a ref that does not exist.
pub(crate) fn ref_target(id: String) -> Option<String> {
    (!id.bytes().all(|digit| digit == b'0')).then_some(id)
}

/// Parses a time as one of the providers writes it: RFC 3339, with `+0000` for the zone (Jira), or
/// `2015-04-26 08:28:42 UTC` (GitLab). An invalid time is `None`: an issue is useful without it.
pub(crate) fn time(text: &str) -> Option<DateTime<Utc>> {
    DateTime::parse_from_rfc3339(text)
        .or_else(|_| DateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f%z"))
        .map(|time| time.to_utc())
        .or_else(|_| {
            NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S UTC").map(|time| time.and_utc())
        })
        .ok()
}

/// Parses an optional time with [`time`].
pub(crate) fn optional_time(text: Option<impl AsRef<str>>) -> Option<DateTime<Utc>> {
    time(text?.as_ref())
}

/// Checks a repository's path. Paths are compared as a whole, so a long one is rejected, not cut.
pub(crate) fn checked_path(path: String) -> Result<String, ParseError> {
    let rule = "the repository's path must be one line of 512 characters at most";
    if is_line(&path, PATH) { Ok(path) } else { Err(ParseError::InvalidValue(rule)) }
}

/// Checks an id. Ids are compared as a whole, so a long one is rejected, not cut.
pub(crate) fn checked_id(id: String) -> Result<String, ParseError> {
    let rule = "the id must be one line of 200 characters at most";
    if is_line(&id, ID) { Ok(id) } else { Err(ParseError::InvalidValue(rule)) }
}

/// Returns a commit's id in lower case, or `None` if it is none.
pub(super) fn commit(id: Option<String>) -> Option<String> {
    id.filter(|id| is_object_id(id)).map(|id| id.to_ascii_lowercase())
}

/// Returns an address that a browser may open, or an empty text.
pub(crate) fn web_url(url: Option<String>) -> String {
    url.filter(|url| is_web_url(url)).unwrap_or_default()
}

/// Returns a name on one line, or `None` if it is empty.
pub(super) fn name(text: Option<String>) -> Option<String> {
    text.map(|text| line(&text, NAME)).filter(|name| !name.is_empty())
}

/// Returns a name by which something is found, on one line, or `None` if it is empty. A digest of
/// the whole replaces the end of a long one, so names with the same beginning stay different.
pub(super) fn unique_name(text: &str) -> Option<String> {
    let whole = line(text, usize::MAX);
    if whole.chars().count() <= NAME {
        return (!whole.is_empty()).then_some(whole);
    }
    let beginning = line(&whole, NAME - NAME_DIGEST - 1);
    Some(format!("{beginning}…{}", letter_digest(&whole)))
}

/// Returns the digest of a text in letters, since the sanitizer masks some numbers.
fn letter_digest(text: &str) -> String {
    let digest = Sha256::digest(text);
    let nibbles = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    nibbles.take(NAME_DIGEST).map(|nibble| char::from(b'a' + nibble)).collect()
}

/// Returns a title on one line.
pub(super) fn title(text: &str) -> String {
    line(text, TITLE)
}

/// Returns a time that every date format can write.
pub(super) fn checked_time(time: Option<DateTime<Utc>>) -> Option<DateTime<Utc>> {
    time.filter(|time| YEARS.contains(&time.year()))
}

/// Returns a text as one line of at most `max` characters.
pub(crate) fn line(text: &str, max: usize) -> String {
    let flat: String = text.chars().map(|c| if is_line_break(c) { ' ' } else { c }).collect();
    flat.trim().chars().take(max).collect()
}

/// Returns a text of several lines, at most `max` characters of it, without control characters.
pub(crate) fn lines(text: &str, max: usize) -> String {
    let is_printable = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    text.chars().filter(is_printable).take(max).collect::<String>().trim().to_owned()
}

/// Returns the addresses that git accepts, each once.
pub(super) fn git_urls(given: Vec<String>) -> Vec<String> {
    let mut urls = Vec::new();
    for url in given {
        if (is_web_url(&url) || is_ssh_url(&url)) && !urls.contains(&url) {
            urls.push(url);
        }
    }
    urls
}

pub(crate) fn is_line(text: &str, max: usize) -> bool {
    !text.is_empty() && text.chars().count() <= max && !text.chars().any(is_line_break)
}

fn is_line_break(c: char) -> bool {
    c.is_control() || is_other_line_break(c)
}

/// Returns whether a browser may open an address. It must begin with `http://` or `https://`: the
/// parser also accepts `hTtps:host`, which is no link where the address is printed.
pub(super) fn is_web_url(url: &str) -> bool {
    let has_scheme = ["http://", "https://"].iter().any(|scheme| url.starts_with(scheme));
    has_scheme && is_url(url) && Url::parse(url).is_ok()
}

/// Returns whether an address is `ssh://host/path`, or `git@host:path`, which git accepts as well.
fn is_ssh_url(url: &str) -> bool {
    if !is_url(url) {
        return false;
    }
    if url.starts_with("ssh://") {
        return Url::parse(url).is_ok_and(|url| url.host_str().is_some_and(is_host));
    }
    let Some((user, location)) = url.split_once('@') else { return false };
    let Some((host, path)) = location.split_once(':') else { return false };
    is_host(user) && is_host(host) && !path.is_empty() && !path.starts_with('-')
}

fn is_url(text: &str) -> bool {
    is_line(text, URL) && !text.contains(char::is_whitespace)
}

/// Returns whether a text is the name of a host or user. None begins with a dash: git passes it to
/// ssh, which would take it for an option.
fn is_host(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    !name.is_empty() && !name.starts_with('-') && name.chars().all(is_part)
}

pub(crate) fn is_object_id(id: &str) -> bool {
    matches!(id.len(), 40 | 64) && id.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// Deserializes a time in one of the formats of [`time`].
pub(crate) fn deserialize_time<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<DateTime<Utc>, D::Error> {
    let text = String::deserialize(deserializer)?;
    time(&text).ok_or_else(|| de::Error::custom("not a time"))
}
