//! Which tasks a pull or merge request speaks of: `fixes #12`, `Closes group/x#5`, `CS-214`.

/// Tasks of one change at most.
const TASKS: usize = 16;
/// Words that hosts take for "with this change the issue is done".
const KEYWORDS: [&str; 16] = [
    "close",
    "closes",
    "closed",
    "closing",
    "fix",
    "fixes",
    "fixed",
    "fixing",
    "resolve",
    "resolves",
    "resolved",
    "resolving",
    "implement",
    "implements",
    "implemented",
    "implementing",
];
/// Characters of a tracker's project in the key of an issue.
const PREFIX: std::ops::RangeInclusive<usize> = 2..=10;
/// Digits of an issue's number.
const DIGITS: usize = 9;

/// The ids of the tasks that title, text and branch of a change speak of, as their trackers have them. `home` is the
/// repository of the change, whose issues are named by their number alone. What a tracker's key looks like, other
/// things do, too (`UTF-8`): whoever shows them shows those that there are.
pub(crate) fn tasks(texts: &[&str], home: &str) -> Vec<String> {
    let mut found = Vec::new();
    for text in texts {
        for task in closed(text, home).into_iter().chain(keys(text)) {
            if found.len() < TASKS && !found.contains(&task) {
                found.push(task);
            }
        }
    }
    found
}

/// Issues behind a word for "done", and those that follow in a list.
fn closed(text: &str, home: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_list = false;
    for word in text.split_whitespace() {
        let bare =
            word.trim_matches(|c: char| matches!(c, ',' | '.' | ';' | ':' | '(' | ')' | '[' | ']'));
        if is_list && let Some(task) = issue(bare, home) {
            found.push(task);
            continue;
        }
        let is_joined = is_list && matches!(bare, "and" | "&" | "");
        is_list = is_joined || KEYWORDS.contains(&bare.to_ascii_lowercase().as_str());
    }
    found
}

/// `#12`, `octocat/hello#12`, or the address of an issue.
fn issue(word: &str, home: &str) -> Option<String> {
    if let Some((path, number)) = word.split_once('#') {
        let path = if path.is_empty() { home } else { path };
        return named(path, number);
    }
    let address = word.strip_prefix("https://").or_else(|| word.strip_prefix("http://"))?;
    let (_, path) = address.split_once('/')?;
    let (path, number) = path.split_once("/issues/")?;
    named(path.strip_suffix("/-").unwrap_or(path), number)
}

fn named(path: &str, number: &str) -> Option<String> {
    let is_path = path.contains('/')
        && path.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/'));
    (is_path && path.len() <= 150 && is_number(number)).then(|| format!("{path}#{number}"))
}

fn is_number(text: &str) -> bool {
    (1..=DIGITS).contains(&text.len())
        && !text.starts_with('0')
        && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `CS-214` wherever it stands by itself: in a branch's name as well.
fn keys(text: &str) -> Vec<String> {
    let is_apart = |c: char| !c.is_ascii_alphanumeric() && c != '-';
    let runs = text.split(is_apart).filter(|run| run.contains('-'));
    runs.filter_map(key).collect()
}

/// The key that a run of words and numbers joined by dashes begins with.
fn key(run: &str) -> Option<String> {
    let mut parts = run.split('-');
    let (prefix, number) = (parts.next()?, parts.next()?);
    let is_prefix = PREFIX.contains(&prefix.len())
        && prefix.starts_with(|c: char| c.is_ascii_uppercase())
        && prefix.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit());
    (is_prefix && is_number(number)).then(|| format!("{prefix}-{number}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<String> {
        tasks(&[text], "octocat/hello")
    }

    #[test]
    fn what_a_change_is_said_to_close_it_closes() {
        assert_eq!(of("Fixes #12."), ["octocat/hello#12"]);
        assert_eq!(
            of("this closes: #1, #2 and group/sub/x#3"),
            ["octocat/hello#1", "octocat/hello#2", "group/sub/x#3"]
        );
        assert_eq!(of("(resolved https://git.example.org/a/b/issues/7)"), ["a/b#7"]);
        assert_eq!(of("Implements https://git.example.org/a/b/c/-/issues/8"), ["a/b/c#8"]);
    }

    #[test]
    fn what_is_only_mentioned_is_not_closed() {
        for text in [
            "see #12",
            "fixes the build, see #12",
            "#12",
            "fix a#12",
            "fixes #0",
            "fixes #",
            "prefixes #12",
        ] {
            assert_eq!(of(text), [] as [&str; 0], "{text}");
        }
    }

    #[test]
    fn a_trackers_key_counts_wherever_it_stands() {
        assert_eq!(of("CS-214: mend the delay"), ["CS-214"]);
        assert_eq!(of("feature/CS-214-mend-the-delay"), ["CS-214"]);
        assert_eq!(of("[ABC2-7] and [ABC2-7] again"), ["ABC2-7"]);
        for text in ["cs-214", "C-1", "X-CS-1", "CS-0", "CS-", "CS-12a", "VERYLONGPREFIX-1"] {
            assert_eq!(of(text), [] as [&str; 0], "{text}");
        }
    }

    #[test]
    fn there_are_only_so_many() {
        let many: Vec<_> = (1..50).map(|n| format!("CS-{n}")).collect();
        assert_eq!(of(&many.join(" ")).len(), TASKS);
    }
}
