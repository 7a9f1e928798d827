//! Ids of issues as people and models write them: URLs, and numbers without their repository. They
//! are resolved to the ids under which trackers send the issues.

use std::fmt::Display;

use mc_contract::ValidationError;
use mc_memory::ProjectContext;
use mc_store::{repositories, tasks};
use url::Url;

use crate::Error;

const FIELD: &str = "task_external_id";
/// Segments of paths before the number of an issue. Pull requests of GitHub share the numbers of
/// issues; merge requests of GitLab do not.
const NUMBERED: [&str; 5] = ["issues", "issue", "pull", "pulls", "work_items"];
/// Segments before the id of an issue.
const NAMED: [&str; 3] = ["browse", "issue", "issues"];

/// Returns the tracker's id of an issue that a reader names. A text of another form stays as it is,
/// and finds nothing.
pub fn resolve_for_reading(text: String) -> String {
    let id = if text.contains("://") { id_of_url(text.trim()) } else { None };
    id.unwrap_or(text)
}

/// Resolves the id of an optional issue, like [`resolve`].
pub async fn resolve_optional(
    ctx: &ProjectContext,
    text: Option<String>,
) -> Result<Option<String>, Error> {
    match text {
        Some(text) => resolve(ctx, &text).await.map(Some),
        None => Ok(None),
    }
}

/// Returns the tracker's id of an issue. Rejects a URL that names no issue, and a number (`#12`)
/// that may mean several issues.
pub async fn resolve(ctx: &ProjectContext, text: &str) -> Result<String, Error> {
    let text = text.trim();
    if text.contains("://") {
        return id_of_url(text).ok_or_else(|| invalid(UNKNOWN_URL).into());
    }
    // People write `#012` for the issue 12.
    let number = text.strip_prefix('#').map(|number| number.trim_start_matches('0'));
    match number.filter(|number| is_number(number)) {
        Some(number) => of_number(ctx, number).await,
        None => Ok(text.to_owned()),
    }
}

const UNKNOWN_URL: &str = "is a URL of no known form; give the tracker's id, such as SHOP-12 or \
    owner/name#12";

fn invalid(rule: impl Display) -> ValidationError {
    ValidationError::new(FIELD, rule)
}

/// Resolves a number by the issues that the project knows, else by its only repository.
async fn of_number(ctx: &ProjectContext, number: &str) -> Result<String, Error> {
    let mut known = tasks::with_number(&ctx.store, ctx.project.id, number).await?;
    if known.is_empty() {
        let repositories = repositories::list(&ctx.store, ctx.project.id).await?;
        // A directory has no tracker.
        let hosted = repositories.into_iter().filter(|repository| repository.owner != "local");
        known.extend(hosted.map(|hosted| format!("{}/{}#{number}", hosted.owner, hosted.name)));
    }
    match <[String; 1]>::try_from(known) {
        Ok([id]) => Ok(id),
        // Stored ids are text from outside, so the error quotes none of them.
        Err(several) if several.is_empty() => Err(missing_repository("names no", number)),
        Err(_) => Err(missing_repository("may be an issue of more than one", number)),
    }
}

fn missing_repository(reason: &str, number: &str) -> Error {
    let id = format!("owner/name#{number}");
    invalid(format!("{reason} repository; give the full id, such as {id}")).into()
}

/// Returns the id of the issue at a URL of a known tracker.
fn id_of_url(text: &str) -> Option<String> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    let segments: Vec<_> = url.path_segments()?.filter(|segment| !segment.is_empty()).collect();
    // Jira's boards name the selected issue in the query.
    let selected = url.query_pairs().find(|(name, _)| name == "selectedIssue");
    if let Some((_, id)) = selected {
        return is_key(&id).then(|| id.into_owned());
    }
    let pairs = segments.windows(2).enumerate();
    pairs.rev().find_map(|(at, pair)| match pair {
        [kind, id] if NAMED.contains(kind) && is_key(id) => Some((*id).to_owned()),
        [kind, number] if NUMBERED.contains(kind) && is_number(number) => {
            of_repository(&segments[..at], number)
        }
        _ => None,
    })
}

/// Returns the id of a numbered issue at a path: of a repository, else of a Redmine.
fn of_repository(path: &[&str], number: &str) -> Option<String> {
    match path {
        [] => Some(format!("redmine#{number}")),
        [repository @ .., "-"] | repository if repository.len() >= 2 => {
            Some(format!("{}#{number}", repository.join("/")))
        }
        _ => None,
    }
}

fn is_number(text: &str) -> bool {
    (1..=9).contains(&text.len())
        && !text.starts_with('0')
        && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether the text is the key of a project with a number, such as `SHOP-12`.
fn is_key(text: &str) -> bool {
    text.split_once('-').is_some_and(|(project, number)| {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        is_number(number) && !project.is_empty() && project.chars().all(is_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_of_each_tracker_becomes_its_id() {
        for (url, id) in [
            ("https://github.com/acme/shop/issues/12", "acme/shop#12"),
            ("https://github.com/acme/shop/issues/12#issuecomment-3", "acme/shop#12"),
            ("https://github.com/acme/shop/pull/7/files", "acme/shop#7"),
            ("https://gitlab.com/group/sub/shop/-/issues/23", "group/sub/shop#23"),
            ("https://gitlab.com/group/shop/-/work_items/23?x=y", "group/shop#23"),
            ("https://acme.atlassian.net/browse/SHOP-12", "SHOP-12"),
            ("https://jira.example.org/projects/CS/issues/CS-214", "CS-214"),
            ("https://acme.atlassian.net/jira/boards/1?selectedIssue=SHOP-12", "SHOP-12"),
            ("https://acme.youtrack.cloud/issue/CS-214/Nil-delay", "CS-214"),
            ("https://linear.app/acme/issue/ENG-12/nil-delay", "ENG-12"),
            ("https://redmine.example.org/issues/191", "redmine#191"),
        ] {
            assert_eq!(id_of_url(url).as_deref(), Some(id), "{url}");
        }
        for url in [
            "https://github.com/acme/shop",
            "https://github.com/acme/shop/issues",
            "https://github.com/acme/shop/issues/new",
            "https://gitlab.com/acme/shop/-/merge_requests/3",
            "https://example.org/a/issues/1",
            "https://github.com/acme/shop/issues/012",
            "ftp://github.com/acme/shop/issues/12",
            "https://",
        ] {
            assert_eq!(id_of_url(url), None, "{url}");
        }
    }
}
