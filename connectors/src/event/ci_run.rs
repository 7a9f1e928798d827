//! CI runs.

use chrono::{DateTime, Utc};
use mc_domain::CiConclusion;
use serde::{Deserialize, Serialize};

use super::field;
use crate::delivery::ParseError;

/// The state of a CI run on a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CiRun {
    /// The repository at its host, such as `octocat/hello`.
    pub repository: String,
    /// The commit.
    pub sha: String,
    /// The name of the check, job or pipeline. A later run of the same name replaces this one.
    pub name: String,
    /// The result.
    pub conclusion: CiConclusion,
    /// Where people read the log; may be empty.
    pub url: String,
    /// When the run ended.
    pub completed_at: Option<DateTime<Utc>>,
    /// When the run last changed, by the host's clock.
    pub updated_at: Option<DateTime<Utc>>,
}

impl CiRun {
    /// Truncates texts; fails on an invalid commit id or path, and without a name.
    pub(crate) fn truncated(self) -> Result<Self, ParseError> {
        let sha = field::commit(Some(self.sha))
            .ok_or(ParseError::InvalidValue("`sha` must be 40 or 64 hexadecimal digits"))?;
        let name = field::unique_name(&self.name)
            .ok_or(ParseError::InvalidValue("the name of the run must not be blank"))?;
        Ok(Self {
            repository: field::checked_path(self.repository)?,
            sha,
            name,
            conclusion: self.conclusion,
            url: field::web_url(Some(self.url)),
            completed_at: field::checked_time(self.completed_at),
            updated_at: field::checked_time(self.updated_at),
        })
    }

    pub(super) fn mask(&mut self, mask: &mut impl FnMut(&str) -> String) {
        self.repository = field::path_masked(&self.repository, &mut *mask);
        self.name = mask(&self.name);
        self.url = mask(&self.url);
    }
}

/// Returns the name of a run that is part of another, such as `suite 12: build`.
///
/// A commit may have several jobs with the same name, and one must not replace another. A repeated
/// run keeps its name. The id comes first, where truncation does not remove it, and where the
/// sanitizer does not take it for a telephone number (`mobile 2025550143`).
pub(crate) fn qualified_name(name: &str, parent_kind: &str, parent_id: Option<u64>) -> String {
    match parent_id {
        Some(id) => format!("{parent_kind} {id}: {name}"),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qualified_name_keeps_the_id_of_the_parent_when_truncated() {
        assert_eq!(qualified_name("build", "suite", Some(12)), "suite 12: build");
        assert_eq!(qualified_name("build", "suite", None), "build");
        let long = qualified_name(&"x".repeat(500), "pipeline", Some(31));
        let truncated = field::unique_name(&long);
        assert!(truncated.is_some_and(|name| name.starts_with("pipeline 31: x")));
    }

    fn truncated(name: &str) -> Result<CiRun, ParseError> {
        let run = CiRun {
            repository: "octocat/hello".to_owned(),
            sha: "ab".repeat(20),
            name: name.to_owned(),
            conclusion: CiConclusion::Failure,
            url: String::new(),
            completed_at: None,
            updated_at: None,
        };
        run.truncated()
    }

    #[test]
    fn long_names_with_the_same_beginning_stay_different() {
        let name = |system: &str| {
            let long = format!("suite 9: test ({}, {system})", "feature, ".repeat(20));
            truncated(&long).expect("a valid run").name
        };
        assert_ne!(name("linux"), name("windows"));
        assert_eq!(name("linux"), name("linux"));
        assert_eq!(name("linux").chars().count(), 128);
    }

    #[test]
    fn blank_name_is_rejected() {
        for name in ["", " ", "\u{7}\n"] {
            assert!(matches!(truncated(name), Err(ParseError::InvalidValue(_))), "{name:?}");
        }
    }
}
