//! What repositories, projects and spaces may be called. A name becomes part of an address or a query, so what could
//! mean anything else there is refused.

use super::Error;
use super::http::Http;
use super::text::line;

/// Characters of a name.
const LONGEST: usize = 255;

/// `owner/name`.
pub(super) fn repository(http: &Http, what: &str) -> Result<(String, String), Error> {
    let rule = "name a repository as owner/name";
    match what.split('/').collect::<Vec<_>>()[..] {
        [owner, name] if is_part(owner) && is_part(name) => Ok((owner.to_owned(), name.to_owned())),
        _ => Err(unfit(http, what, rule)),
    }
}

/// `group/project`, with as many groups as there are.
pub(super) fn path(http: &Http, what: &str) -> Result<String, Error> {
    let is_path = what.contains('/') && what.split('/').all(is_part) && what.len() <= LONGEST;
    if is_path {
        Ok(what.to_owned())
    } else {
        Err(unfit(http, what, "name a project as group/project"))
    }
}

/// A project's or space's key or identifier.
pub(super) fn key(http: &Http, what: &str) -> Result<String, Error> {
    let is_key = is_part(what.strip_prefix('~').unwrap_or(what));
    if is_key {
        Ok(what.to_owned())
    } else {
        Err(unfit(http, what, "use the key that its address shows"))
    }
}

/// The number of an issue whose id is `prefix` and the number.
pub(super) fn number(http: &Http, external_id: &str, prefix: &str) -> Result<u64, Error> {
    let head = external_id.get(..prefix.len());
    let is_here = head.is_some_and(|head| head.eq_ignore_ascii_case(prefix));
    let digits = external_id.get(prefix.len()..).filter(|_| is_here);
    let number = digits.and_then(|digits| digits.parse().ok());
    number.ok_or_else(|| unfit(http, external_id, "use the id of an issue of this project"))
}

fn is_part(part: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_dots = part.chars().all(|c| c == '.');
    !part.is_empty() && !is_dots && part.len() <= LONGEST && part.chars().all(is_plain)
}

pub(super) fn unfit(http: &Http, what: &str, rule: &'static str) -> Error {
    Error::Unfit { system: http.system().to_owned(), what: line(what, 100), rule }
}
