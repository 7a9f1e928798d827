//! The tasks that a pull request names: `fixes #12`, `Closes group/x#5`, `CS-214`.

/// Tasks of one pull request.
const TASKS: usize = 16;
/// Words with which hosts close an issue when the pull request is merged.
const KEYWORDS: &str = "close closes closed closing fix fixes fixed fixing \
    resolve resolves resolved resolving implement implements implemented implementing";
/// Characters of the project in the key of an issue.
const PREFIX: std::ops::RangeInclusive<usize> = 2..=10;
/// Digits of an issue's number.
const DIGITS: usize = 9;

/// Finds the trackers' ids of the tasks that the title, text and branch of a pull request name.
///
/// `home` is its repository, whose issues are named by their numbers alone. Other words look like
/// the key of a tracker as well (`UTF-8`), so callers show only ids of known tasks.
pub(crate) fn find_tasks(texts: &[&str], home: &str) -> Vec<String> {
    let mut found = Vec::new();
    for text in texts {
        for task in closed_issues(text, home).into_iter().chain(find_keys(text)) {
            if found.len() < TASKS && !found.contains(&task) {
                found.push(task);
            }
        }
    }
    found
}

/// Finds the issues after a closing keyword, and those that follow in a list.
fn closed_issues(text: &str, home: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_list = false;
    for word in text.split_whitespace() {
        let bare =
            word.trim_matches(|c: char| matches!(c, ',' | '.' | ';' | ':' | '(' | ')' | '[' | ']'));
        if is_list && let Some(task) = parse_issue(bare, home) {
            found.push(task);
            continue;
        }
        let is_joined = is_list && matches!(bare, "and" | "&" | "");
        let lower = bare.to_ascii_lowercase();
        is_list = is_joined || KEYWORDS.split(' ').any(|keyword| keyword == lower);
    }
    found
}

/// Parses `#12`, `octocat/hello#12`, or the address of an issue.
fn parse_issue(word: &str, home: &str) -> Option<String> {
    if let Some((path, number)) = word.split_once('#') {
        let path = if path.is_empty() { home } else { path };
        return issue_id(path, number);
    }
    let address = word.strip_prefix("https://").or_else(|| word.strip_prefix("http://"))?;
    let (_, path) = address.split_once('/')?;
    let (path, number) = path.split_once("/issues/")?;
    issue_id(path.strip_suffix("/-").unwrap_or(path), number)
}

fn issue_id(path: &str, number: &str) -> Option<String> {
    let is_path = path.contains('/')
        && path.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/'));
    (is_path && path.len() <= 150 && is_number(number)).then(|| format!("{path}#{number}"))
}

fn is_number(text: &str) -> bool {
    (1..=DIGITS).contains(&text.len())
        && !text.starts_with('0')
        && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Finds keys such as `CS-214`, also in the name of a branch.
fn find_keys(text: &str) -> Vec<String> {
    let is_apart = |c: char| !c.is_ascii_alphanumeric() && c != '-';
    let runs = text.split(is_apart).filter(|run| run.contains('-'));
    runs.filter_map(parse_key).collect()
}

/// Parses the key at the beginning of words and numbers joined by dashes.
fn parse_key(run: &str) -> Option<String> {
    let mut parts = run.split('-');
    let (prefix, number) = (parts.next()?, parts.next()?);
    let is_prefix = PREFIX.contains(&prefix.len())
        && prefix.starts_with(|c: char| c.is_ascii_uppercase())
        && prefix.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit());
    (is_prefix && is_number(number)).then(|| format!("{prefix}-{number}"))
}

#[cfg(test)]
mod tests;
