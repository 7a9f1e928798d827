//! Tests that some systems or users can't run.

use std::ffi::OsStr;

use rustix::process::geteuid;

/// Environment variable. If it is `required`, as in a release, a test that needs root fails for
/// other users. Otherwise it is skipped.
const ROOT: &str = "MC_TEST_ROOT";

/// Returns whether the test runs as root. For other users, prints that the test, or the rest of it,
/// is skipped, and `reason`, which says what only root can do.
///
/// # Panics
/// If the user is not root, and `MC_TEST_ROOT` is `required`.
pub fn runs_as_root(reason: &str) -> bool {
    is_included(geteuid().is_root(), std::env::var_os(ROOT).as_deref(), reason, "as root")
}

/// Prints that the test is skipped, the reason, and how to run the test to include it.
///
/// # Panics
/// If the environment variable is `required`.
pub fn skip(variable: &str, reason: &str, how: &str) {
    is_included(false, std::env::var_os(variable).as_deref(), reason, how);
}

#[expect(clippy::print_stderr, reason = "reports the skipped test")]
fn is_included(is_possible: bool, requirement: Option<&OsStr>, reason: &str, how: &str) -> bool {
    if !is_possible {
        let is_required = requirement.is_some_and(|value| value == "required");
        assert!(!is_required, "{reason}; run the test {how}");
        eprintln!("skipped: {reason}; run the test {how} to include it");
    }
    is_possible
}

#[cfg(test)]
mod tests {
    use super::*;

    const REASON: &str = "only root can give a directory to another user";
    const HOW: &str = "as root";

    #[test]
    fn test_for_root_is_skipped_for_other_users() {
        for requirement in [None, Some(OsStr::new(""))] {
            assert!(is_included(true, requirement, REASON, HOW));
            assert!(!is_included(false, requirement, REASON, HOW));
        }
    }

    #[test]
    #[should_panic = "only root can give a directory to another user; run the test as root"]
    fn skipped_test_for_root_fails_a_release() {
        let requirement = Some(OsStr::new("required"));
        assert!(is_included(true, requirement, REASON, HOW));
        is_included(false, requirement, REASON, HOW);
    }
}
