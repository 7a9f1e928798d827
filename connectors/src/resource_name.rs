//! Names of repositories, projects and spaces. A name becomes part of an address or a query, so
//! characters with a meaning there are rejected.

use crate::error::Error;
use crate::event::field::{is_object_id, line};
use crate::http::Http;

/// Characters of a name.
const MAX_CHARS: usize = 255;

/// Parses `owner/name`.
pub(crate) fn repository(http: &Http, resource: &str) -> Result<(String, String), Error> {
    match resource.split('/').collect::<Vec<_>>()[..] {
        [owner, name] if is_part(owner) && is_part(name) => Ok((owner.to_owned(), name.to_owned())),
        _ => Err(invalid(http, resource, "name a repository as owner/name")),
    }
}

/// Checks `group/project`, with any number of groups.
pub(crate) fn path(http: &Http, resource: &str) -> Result<String, Error> {
    let is_path =
        resource.contains('/') && resource.split('/').all(is_part) && resource.len() <= MAX_CHARS;
    let rule = "name a project as group/project";
    if is_path { Ok(resource.to_owned()) } else { Err(invalid(http, resource, rule)) }
}

/// Checks the key or identifier of a project or space.
pub(crate) fn key(http: &Http, resource: &str) -> Result<String, Error> {
    let is_key = is_part(resource.strip_prefix('~').unwrap_or(resource));
    let rule = "use the key in the resource's address";
    if is_key { Ok(resource.to_owned()) } else { Err(invalid(http, resource, rule)) }
}

/// Parses the number of an issue whose id is `prefix` and the number.
pub(crate) fn number(http: &Http, external_id: &str, prefix: &str) -> Result<u64, Error> {
    let head = external_id.get(..prefix.len());
    let has_prefix = head.is_some_and(|head| head.eq_ignore_ascii_case(prefix));
    let digits = external_id.get(prefix.len()..).filter(|_| has_prefix);
    let number = digits.and_then(|digits| digits.parse().ok());
    number.ok_or_else(|| invalid(http, external_id, "use the id of an issue of this project"))
}

/// Checks the name of a branch, by the rules of `git check-ref-format --branch`.
pub(crate) fn branch<'a>(http: &Http, name: &'a str) -> Result<&'a str, Error> {
    let rule = "use a valid name of a branch, without refs/heads/";
    if is_branch(name) { Ok(name) } else { Err(invalid(http, name, rule)) }
}

/// Checks the id of a commit: 40 or 64 hexadecimal digits.
pub(crate) fn commit<'a>(http: &Http, sha: &'a str) -> Result<&'a str, Error> {
    if is_object_id(sha) { Ok(sha) } else { Err(invalid(http, sha, "use the full id of a commit")) }
}

fn is_branch(name: &str) -> bool {
    let is_plain = |c: char| !c.is_control() && !" ~^:?*[\\".contains(c);
    let is_component = |part: &str| {
        !part.is_empty() && !part.starts_with('.') && !part.ends_with('.') && !is_lock(part)
    };
    name.len() <= MAX_CHARS
        && name.chars().all(is_plain)
        && name.split('/').all(is_component)
        && !name.contains("..")
        && !name.contains("@{")
        && !name.starts_with('-')
        && !name.starts_with("refs/")
        && !matches!(name, "@" | "HEAD")
}

/// Returns whether git would take a file of the ref for a lock.
fn is_lock(part: &str) -> bool {
    part.rsplit_once('.').is_some_and(|(_, end)| end == "lock")
}

fn is_part(part: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_dots = part.chars().all(|c| c == '.');
    !part.is_empty() && !is_dots && part.len() <= MAX_CHARS && part.chars().all(is_plain)
}

fn invalid(http: &Http, resource: &str, rule: &'static str) -> Error {
    let (connector, resource) = (http.connector().to_owned(), line(resource, 100));
    Error::InvalidResource { connector, resource, rule }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branch_names_follow_the_rules_of_git() {
        for name in ["main", "feature/SHOP-12", "v1.2", "ünïcode", "a@b", "lock"] {
            assert!(is_branch(name), "{name}");
        }
        let long = "x".repeat(256);
        for name in [
            "",
            "/a",
            "a/",
            "a//b",
            "-a",
            "a..b",
            ".a",
            "a/.b",
            "a.",
            "a.lock",
            "a.lock/b",
            "a b",
            "a~1",
            "a^",
            "a:b",
            "a?b",
            "a*",
            "a[b",
            "a\\b",
            "a\nb",
            "a\u{7f}",
            "@",
            "a@{1}",
            "HEAD",
            "refs/heads/a",
            &long,
        ] {
            assert!(!is_branch(name), "{name}");
        }
    }
}
