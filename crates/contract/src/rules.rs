//! Rules of texts. Each function returns the text as it is stored, or the rule that it breaks.

use std::ops::RangeInclusive;

use mc_domain::{ProjectKey, check_line, check_text};
use mc_sanitizer::{Class, Finding};

use crate::error::Violation;
use crate::limits;

/// Accepts one line: not blank, without control characters, at most `max` characters. Surrounding
/// blanks are dropped, but they count, so that a client can measure what it sends.
pub fn line(text: &str, max: usize) -> Result<String, Violation> {
    let line = text.trim();
    check_line(line).map_err(Violation::new)?;
    check_length(text, max)?;
    Ok(line.to_owned())
}

/// Accepts a [`line`], or the empty text.
pub fn optional_line(text: &str, max: usize) -> Result<String, Violation> {
    if text.is_empty() { Ok(String::new()) } else { line(text, max) }
}

/// Accepts a text of several lines, under the rules of [`line`]. Surrounding blanks are kept.
pub fn prose(text: &str, max: usize) -> Result<String, Violation> {
    check_text(text).map_err(Violation::new)?;
    check_length(text, max)?;
    Ok(text.to_owned())
}

fn check_length(text: &str, max: usize) -> Result<(), Violation> {
    if text.trim().is_empty() {
        return Err(Violation::new("must not be empty"));
    }
    check_count(text, max)
}

fn check_count(text: &str, max: usize) -> Result<(), Violation> {
    let length = text.chars().count();
    if length > max {
        return Err(Violation::new(format!("holds {length} characters; the limit is {max}")));
    }
    Ok(())
}

/// Accepts any text of at most `max` characters, or nothing.
pub fn any(text: &str, max: usize) -> Result<String, Violation> {
    check_count(text, max)?;
    Ok(text.to_owned())
}

/// Accepts a path of a workspace. Blanks at its ends are kept, since a name may have them. Where it
/// leads is for the workspace to check.
pub fn workspace_path(text: &str, max: usize) -> Result<String, Violation> {
    check_line(text).map_err(Violation::new)?;
    check_length(text, max)?;
    Ok(text.to_owned())
}

/// Accepts a [`line`] that names something. A masked name would name something else, so a name that
/// holds a secret or personal data is rejected.
pub fn identifier(text: &str, max: usize) -> Result<String, Violation> {
    let text = line(text, max)?;
    check_reveals_nothing(&text)?;
    Ok(text)
}

fn check_reveals_nothing(name: &str) -> Result<(), Violation> {
    let findings = mc_sanitizer::mask(name).findings;
    findings.first().map_or(Ok(()), |finding| Err(reveals(finding)))
}

fn reveals(finding: &Finding) -> Violation {
    let category = finding.category;
    Violation::new(format!(
        "looks like it holds a secret or personal data ({category}); leave it out"
    ))
}

/// Accepts a command of a policy: a [`line`] without secrets and personal data, since every version
/// stores it and every member of the project can read it.
pub fn command(text: &str) -> Result<String, Violation> {
    let command = line(text, limits::COMMAND)?;
    if mc_sanitizer::find(&command, &mc_sanitizer::Policy::strict()).is_empty() {
        return Ok(command);
    }
    Err(Violation::new("contains a secret or personal data; let the command read it from a file"))
}

/// Accepts a location. It must not hold a secret; a path may hold a person's address.
pub fn location(text: &str, max: usize) -> Result<String, Violation> {
    let text = line(text, max)?;
    let findings = mc_sanitizer::mask(&text).findings;
    match findings.iter().find(|finding| finding.class == Class::Secret) {
        Some(finding) => Err(reveals(finding)),
        None => Ok(text),
    }
}

/// Accepts a [`line`] for people to read, and masks it.
pub fn masked_line(text: &str, max: usize) -> Result<String, Violation> {
    Ok(mc_sanitizer::mask(&line(text, max)?).text.into_string())
}

/// Accepts the key of a project.
pub fn project_key(text: &str) -> Result<ProjectKey, Violation> {
    check_reveals_nothing(text)?;
    ProjectKey::parse(text).map_err(Violation::new)
}

/// Accepts the login of a user or the key of a team, under the rule of a project's key.
pub fn short_name(text: &str) -> Result<String, Violation> {
    check_reveals_nothing(text)?;
    ProjectKey::parse(text).map(|_| text.to_owned()).map_err(|_| {
        Violation::new(
            "must be 1 to 64 letters, digits, \".\", \"_\" or \"-\", and start with a letter or \
             digit",
        )
    })
}

/// Accepts the name of a reasoning schema.
pub fn schema_name(text: &str) -> Result<String, Violation> {
    const MAX: usize = mc_sgr::limits::NAME_MAX_CHARS;
    let is_accepted = |c: char| matches!(c, 'a'..='z' | '0'..='9' | '_' | '-');
    let starts = text.starts_with(|c: char| c.is_ascii_lowercase());
    if starts && text.len() <= MAX && text.chars().all(is_accepted) {
        return Ok(text.to_owned());
    }
    Err(Violation::new(format!(
        "must be 1 to {MAX} of the letters a to z, digits, \"_\" and \"-\", and start with a letter"
    )))
}

/// Accepts the host of a provider, with a port if it is not the default one; in lower case.
pub fn host(text: &str, max: usize) -> Result<String, Violation> {
    let (name, port) = text.split_once(':').map_or((text, None), |(name, port)| (name, Some(port)));
    let is_name = |name: &str| {
        name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'))
            && name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.ends_with(|c: char| c.is_ascii_alphanumeric())
    };
    let is_port =
        |port: &str| (1..=5).contains(&port.len()) && port.chars().all(|c| c.is_ascii_digit());
    if text.len() > max || !is_name(name) || !port.is_none_or(is_port) {
        return Err(Violation::new(
            "must be a host such as github.com, without a scheme or a path",
        ));
    }
    // The port of the scheme names the same host.
    let text = text.strip_suffix(":443").unwrap_or(text).to_ascii_lowercase();
    Ok(text.strip_prefix("www.").map_or(text.clone(), str::to_owned))
}

/// Accepts the name of an account at a provider: letters, digits and `-_.`, as in `ann-example`,
/// and the mark of a program, as in `renovate[bot]`.
pub fn provider_user(text: &str, max: usize) -> Result<String, Violation> {
    let name = text.strip_suffix("[bot]").unwrap_or(text);
    let is_name = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    if name.is_empty() || text.len() > max || !is_name {
        return Err(Violation::new(
            "must be the name of an account there, such as ann-example, without @ or a URL",
        ));
    }
    Ok(text.to_owned())
}

/// Accepts a path inside a repository: relative, `/` between its parts, no `..`. A leading `./` and
/// a trailing `/` are dropped.
pub fn relative_path(text: &str, max: usize) -> Result<String, Violation> {
    let path = line(text, max)?;
    let path = path.trim_start_matches("./").trim_end_matches('/');
    let is_absolute = path.starts_with(['/', '~']) || path.as_bytes().get(1) == Some(&b':');
    let climbs = path.split(['/', '\\']).any(|part| part == "..");
    if path.is_empty() || is_absolute || climbs {
        let rule = "must be a path inside the repository, relative to its root, without \"..\"";
        return Err(Violation::new(rule));
    }
    Ok(path.to_owned())
}

/// Accepts an absolute path of some machine: `/home/me/shop`, `~/shop`, `C:\shop`.
pub fn absolute_path(text: &str, max: usize) -> Result<String, Violation> {
    let path = line(text, max)?.replace('\\', "/");
    let is_drive = path.as_bytes().get(1) == Some(&b':');
    if !(path.starts_with(['/', '~']) || is_drive) {
        return Err(Violation::new("must be absolute, such as /home/me/shop/app/cart.rb"));
    }
    if path.split('/').any(|part| part == "..") {
        return Err(Violation::new("must not contain \"..\""));
    }
    Ok(path)
}

/// Accepts an `http` or `https` URL.
pub fn web_url(text: &str, max: usize) -> Result<String, Violation> {
    let text = line(text, max)?;
    let is_web = url::Url::parse(&text)
        .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    if is_web { Ok(text) } else { Err(Violation::new("must be an http or https URL")) }
}

/// Accepts hexadecimal digits, of which there must be as many as `count` allows; returns them in
/// lower case.
pub fn hex(text: &str, count: &RangeInclusive<usize>) -> Result<String, Violation> {
    let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_hex || !count.contains(&text.len()) {
        let (start, end) = (count.start(), count.end());
        return Err(Violation::new(format!("must be {start} to {end} hexadecimal digits")));
    }
    Ok(text.to_ascii_lowercase())
}

/// Accepts the id of a job.
pub fn job_id(text: &str, max: usize) -> Result<String, Violation> {
    let is_id = !text.is_empty()
        && text.len() <= max
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_id { Ok(text.to_owned()) } else { Err(Violation::new("is not the id of a job")) }
}

/// Accepts the owner or the name of a repository: one part of a path.
pub fn repository_part(text: &str, max: usize) -> Result<String, Violation> {
    let name = identifier(text, max)?;
    let is_plain = name.chars().all(|c| c.is_alphanumeric() || "._-".contains(c));
    if name.starts_with(['-', '.']) || !is_plain {
        return Err(Violation::new("must be letters, digits, \".\", \"_\" or \"-\""));
    }
    Ok(name)
}

/// Accepts the source of documents. Files of repositories are stored by indexing them alone.
pub fn document_source(text: &str, max: usize) -> Result<String, Violation> {
    let source = line(text, max)?;
    if source.starts_with("repo:") {
        return Err(Violation::new("must not begin with `repo:`; index the repository"));
    }
    Ok(source)
}
