//! Names of revisions.

use crate::{Error, check_ref};

/// Checks that a text names one commit: a branch, tag or commit, `HEAD`, or an entry of the stash
/// such as `stash@{0}`, optionally with steps to its ancestors, such as `main~2` or `HEAD^`.
pub fn check_revision(revision: &str) -> Result<(), Error> {
    let steps = revision.find(['~', '^']).unwrap_or(revision.len());
    let (name, steps) = revision.split_at(steps);
    let is_step = |c: char| matches!(c, '~' | '^') || c.is_ascii_digit();
    let is_stash = name
        .strip_prefix("stash@{")
        .and_then(|rest| rest.strip_suffix('}'))
        .is_some_and(|number| !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()));
    let is_valid = !name.is_empty() && (is_stash || check_ref(name).is_ok());
    if is_valid && steps.len() <= 20 && steps.chars().all(is_step) {
        Ok(())
    } else {
        Err(Error::InvalidRef(revision.chars().take(60).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_commits_are_revisions() {
        for valid in ["HEAD", "main", "v1.2", "main~2", "HEAD^", "HEAD^2~1", "stash@{0}", "4b825dc"]
        {
            check_revision(valid).expect(valid);
        }
        for invalid in [
            "",
            "~1",
            "--output=x",
            "-x",
            "a..b",
            "HEAD:file",
            "main@{1}",
            "stash@{}",
            "stash@{x}",
            ":/text",
            "HEAD^{tree}",
            "HEAD^-1",
            "a b",
            "HEAD~1..main",
            "@",
        ] {
            check_revision(invalid).expect_err(invalid);
        }
    }
}
