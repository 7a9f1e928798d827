//! Paths that a patch may change.

use mc_workspaces::path::resolve;

use crate::Error;
use crate::masking::masked;

/// Paths that a patch may change, and that it may not. A path stands for the file, or for all files
/// in the directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathRules {
    targets: Vec<String>,
    forbidden: Vec<String>,
}

/// Why a path may not be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathProblem {
    /// It is not among those to change.
    #[error("is not one of the paths to change ({}); change only these", listed(.0))]
    NotTarget(Vec<String>),
    /// It is forbidden.
    #[error("must not be changed, as {} is forbidden; leave it as it is", shown(.0))]
    Forbidden(String),
}

/// Most paths that a message lists.
const LISTED: usize = 5;

fn listed(paths: &[String]) -> String {
    let more = paths.len().saturating_sub(LISTED);
    let listed: Vec<_> = paths.iter().take(LISTED).map(|path| shown(path)).collect();
    let listed = listed.join(", ");
    if more == 0 { listed } else { format!("{listed} and {more} more") }
}

/// Returns a path as it is shown: the root has no name.
pub(crate) fn shown(path: &str) -> &str {
    if path.is_empty() { "." } else { path }
}

impl PathRules {
    /// Creates rules of paths from the root of a workspace. Without `targets`, all are.
    pub fn new<'a>(
        targets: impl IntoIterator<Item = &'a str>,
        forbidden: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, mc_workspaces::Error> {
        let resolved = |path| resolve("", path);
        Ok(Self {
            targets: targets.into_iter().map(resolved).collect::<Result<_, _>>()?,
            forbidden: forbidden.into_iter().map(resolved).collect::<Result<_, _>>()?,
        })
    }

    /// Refuses paths with a secret or personal data: masked, they would be other paths.
    pub(crate) fn check_masking(&self) -> Result<(), Error> {
        for (field, paths) in [("targetPaths", &self.targets), ("forbiddenPaths", &self.forbidden)]
        {
            if let Some(path) = paths.iter().find(|path| masked(path) != **path) {
                return Err(Error::UnmaskedPath { field, path: masked(path) });
            }
        }
        Ok(())
    }

    /// Returns the paths that may be changed; empty for all.
    pub fn targets(&self) -> &[String] {
        &self.targets
    }

    /// Returns the paths that may not be changed.
    pub fn forbidden(&self) -> &[String] {
        &self.forbidden
    }

    /// Checks a path from the root.
    pub fn check(&self, path: &str) -> Result<(), PathProblem> {
        // On some file systems, names differ by more than their case.
        let lower = path.to_lowercase();
        let forbidden = self.forbidden.iter();
        if let Some(rule) =
            forbidden.filter(|rule| is_below(&lower, &rule.to_lowercase())).max_by_key(|r| r.len())
        {
            return Err(PathProblem::Forbidden(rule.clone()));
        }
        if self.targets.is_empty() || self.targets.iter().any(|rule| is_below(path, rule)) {
            return Ok(());
        }
        Err(PathProblem::NotTarget(self.targets.clone()))
    }
}

/// Returns whether a path is the one of a rule, or below it.
fn is_below(path: &str, rule: &str) -> bool {
    let rest = path.strip_prefix(rule);
    rest.is_some_and(|rest| rule.is_empty() || rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forbidden_paths_come_before_targets() {
        let rules = PathRules::new(["src/", "/workspace/README.md"], ["src/secret", "Docs"]);
        let rules = rules.expect("paths");
        for allowed in ["src/lib.rs", "README.md", "src/secrets.rs"] {
            assert_eq!(rules.check(allowed), Ok(()), "{allowed}");
        }
        let forbidden = |rule: &str| Err(PathProblem::Forbidden(rule.to_owned()));
        assert_eq!(rules.check("src/secret/key"), forbidden("src/secret"));
        assert_eq!(rules.check("SRC/Secret"), forbidden("src/secret"));
        assert_eq!(rules.check("docs/a.md"), forbidden("Docs"));
        for other in ["srcs/lib.rs", "README.md.orig", "Src/lib.rs"] {
            assert!(matches!(rules.check(other), Err(PathProblem::NotTarget(_))), "{other}");
        }
    }

    #[test]
    fn messages_name_the_root_and_no_more_than_some_paths() {
        let rules = PathRules::new((0..100).map(|_| "src"), ["."]).expect("paths");
        let forbidden = rules.check("a").expect_err("the root is forbidden").to_string();
        assert!(forbidden.contains("as . is forbidden"), "{forbidden}");
        let other = PathRules::new((0..100).map(|_| "src"), []).expect("paths");
        let other = other.check("a").expect_err("no target").to_string();
        assert!(other.contains("src, src, src, src, src and 95 more"), "{other}");
        let address = PathRules::new([], ["notes/anna.schmidt@corp-mail.de"]).expect("paths");
        let refused = address.check_masking().expect_err("an address").to_string();
        assert!(refused.contains("notes/[personal:email] has"), "{refused}");
    }

    #[test]
    fn without_targets_all_other_paths_may_be_changed() {
        let rules = PathRules::new([], ["docs"]).expect("paths");
        assert_eq!(rules.check("src/lib.rs"), Ok(()));
        assert!(rules.check("docs").is_err());
        let root = PathRules::new(["."], [""]).expect("paths");
        assert!(root.check("a").is_err(), "the root is forbidden");
        PathRules::new(["../a"], []).expect_err("outside");
        PathRules::new([], [".git/config"]).expect_err("a path of git");
    }
}
