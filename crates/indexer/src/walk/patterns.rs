//! Patterns of the files that index runs read, as a project sets them for a repository.

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::ignore_rules::add_pattern;

/// Patterns of paths, in the syntax of `.gitignore`.
#[derive(Debug, Clone)]
pub struct PathPatterns {
    /// Without a pattern, all files match.
    include: Gitignore,
    exclude: Gitignore,
}

/// A pattern that is not valid, by its list and position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} {}", Self::RULE)]
pub struct InvalidPattern {
    /// `include[0]`.
    pub field: String,
}

impl InvalidPattern {
    /// The rule that the pattern breaks.
    pub const RULE: &str = "is not a pattern of .gitignore; write one such as docs/** or *.snap";
}

impl PathPatterns {
    /// Parses the patterns of the only files to index, and of files that are not.
    pub fn parse(include: &[String], exclude: &[String]) -> Result<Self, InvalidPattern> {
        Ok(Self { include: parse("include", include)?, exclude: parse("exclude", exclude)? })
    }

    /// Whether a file is indexed. A pattern of a directory applies to all files below.
    pub fn accepts(&self, path: &str) -> bool {
        let matches =
            |rules: &Gitignore| rules.matched_path_or_any_parents(path, false).is_ignore();
        (self.include.is_empty() || matches(&self.include)) && !matches(&self.exclude)
    }

    /// Whether a file or a directory that could not be inspected is excluded.
    pub(super) fn excludes(&self, path: &str) -> bool {
        [false, true].into_iter().any(|is_directory| {
            self.exclude.matched_path_or_any_parents(path, is_directory).is_ignore()
        })
    }
}

fn parse(field: &str, patterns: &[String]) -> Result<Gitignore, InvalidPattern> {
    let mut builder = GitignoreBuilder::new("");
    for (index, pattern) in patterns.iter().enumerate() {
        if !add_pattern(&mut builder, pattern) {
            return Err(InvalidPattern { field: format!("{field}[{index}]") });
        }
    }
    builder.build().map_err(|_| InvalidPattern { field: field.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(include: &[&str], exclude: &[&str]) -> PathPatterns {
        let owned = |patterns: &[&str]| patterns.iter().map(|&one| one.to_owned()).collect();
        let [include, exclude]: [Vec<_>; 2] = [include, exclude].map(owned);
        PathPatterns::parse(&include, &exclude).expect("patterns")
    }

    #[test]
    fn files_are_included_and_excluded_by_directory_and_name() {
        let rules = patterns(&["src/", "*.md"], &["src/generated/", "!src/generated/keep.rs"]);
        for (path, is_accepted) in [
            ("src/main.rs", true),
            ("lib/src/deep.rs", true),
            ("docs/guide.md", true),
            ("src/generated/a.rs", false),
            ("main.rs", false),
        ] {
            assert_eq!(rules.accepts(path), is_accepted, "{path}");
        }
        let all = patterns(&[], &["*.snap"]);
        assert!(all.accepts("a/b.rs") && !all.accepts("a/b.snap"));
    }

    #[test]
    fn invalid_pattern_is_named() {
        let braces = "{".repeat(65);
        let error = PathPatterns::parse(&["*.rs".to_owned()], &["a".to_owned(), braces]);
        assert_eq!(error.expect_err("too many braces").field, "exclude[1]");
    }
}
