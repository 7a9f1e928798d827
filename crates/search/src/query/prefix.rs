//! Scope prefix of a query: the part before the colon of `fix(jwt): ...` or `ignore: ...`.

use crate::analyzer::{TermKind, analyze};

/// Types of conventional commits, which are not a part of the system.
const TYPES: &[&str] =
    &["build", "chore", "ci", "docs", "feat", "fix", "perf", "refactor", "revert", "style", "test"];

/// Returns the stems of the words of the scope prefix; none if the text has no prefix.
pub(super) fn terms(text: &str) -> Vec<String> {
    scope(text).map(stems).unwrap_or_default()
}

/// Returns the stems of the words of a name or path, each once.
pub fn stems(name: &str) -> Vec<String> {
    let is_stem = |kind| matches!(kind, TermKind::Word | TermKind::Part | TermKind::Bigram);
    let lexemes = analyze(name).into_iter();
    let mut stems: Vec<_> = lexemes.filter(|l| is_stem(l.kind)).map(|l| l.text).collect();
    stems.sort();
    stems.dedup();
    stems
}

/// Returns `jwt` for `fix(jwt)!: text`, `ignore` for `ignore: text`, and `None` for `fix: text`.
fn scope(text: &str) -> Option<&str> {
    let (prefix, rest) = text.trim_start().split_once(':')?;
    if !rest.starts_with(char::is_whitespace) {
        return None;
    }
    let prefix = prefix.strip_suffix('!').unwrap_or(prefix);
    let (kind, inner) = match prefix.strip_suffix(')') {
        Some(open) => open.split_once('(').map(|(kind, inner)| (kind, Some(inner)))?,
        None => (prefix, None),
    };
    let is_name = |c: char| c.is_alphanumeric() || "_/.-".contains(c);
    if kind.is_empty()
        || !kind.chars().all(is_name)
        || inner.is_some_and(|i| i.contains([')', '\n']))
    {
        return None;
    }
    let is_type = TYPES.contains(&kind.to_lowercase().as_str());
    inner.filter(|inner| !inner.trim().is_empty()).or((!is_type).then_some(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scope_differs_from_commit_types_and_prose() {
        for (text, expected) in [
            ("fix(jwt): refuse unsigned tokens", Some("jwt")),
            ("feat(jsx/dom)!: hydrate", Some("jsx/dom")),
            ("ignore: read the parent directories", Some("ignore")),
            ("crates/cli: print the version", Some("crates/cli")),
            ("parser(expr): precedence", Some("expr")),
            ("fix: off by one", None),
            ("FIX: off by one", None),
            ("chore(): bump", None),
            ("see the log: nothing is there", None),
            ("Foo::bar is gone", None),
            ("at 12:30 it stops", None),
            ("no prefix", None),
            (": nothing", None),
        ] {
            assert_eq!(scope(text), expected, "{text}");
        }
    }

    #[test]
    fn scope_and_path_have_the_same_stems() {
        assert_eq!(terms("fix(jsx/dom): hydrate"), ["dom", "jsx"]);
        assert_eq!(terms("fix(bodyLimit): stream"), ["bodi", "limit"]);
        assert!(stems("src/middleware/body-limit/index.ts").contains(&"bodi".to_owned()));
    }
}
