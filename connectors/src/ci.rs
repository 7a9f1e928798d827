//! Runs of CI, in one vocabulary for their hosts.

use chrono::{DateTime, Utc};
use mc_domain::CiConclusion;
use serde::{Deserialize, Serialize};

use crate::delivery::ParseError;
use crate::event::{self, Event};

/// How a run of CI on a commit stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CiRun {
    /// The repository at its host, such as `octocat/hello`.
    pub repository: String,
    /// The commit.
    pub sha: String,
    /// What ran: another run of the same name takes its place.
    pub name: String,
    /// How it stands.
    pub conclusion: CiConclusion,
    /// Where people look at it; may be empty.
    pub url: String,
    /// When it ended.
    pub completed_at: Option<DateTime<Utc>>,
    /// When the host said so, by its clock.
    pub updated_at: Option<DateTime<Utc>>,
}

impl CiRun {
    /// The event, unless it can't be said of what it is.
    pub(crate) fn bounded(self) -> Result<Event, ParseError> {
        let rule = "must be a commit's id of 40 or 64 hexadecimal digits";
        let what = "the commit of the run";
        let sha = event::commit(Some(self.sha)).ok_or(ParseError::Unfit { what, rule })?;
        Ok(Event::Ci(Self {
            repository: event::checked_path(self.repository)?,
            sha,
            name: event::name(Some(self.name)).unwrap_or_else(|| "unnamed".to_owned()),
            conclusion: self.conclusion,
            url: event::page(Some(self.url)),
            completed_at: event::bounded_time(self.completed_at),
            updated_at: event::bounded_time(self.updated_at),
        }))
    }

    pub(crate) fn mask(&mut self, mask: &mut impl FnMut(&str) -> String) {
        self.repository = event::path_masked(&self.repository, &mut *mask);
        self.name = mask(&self.name);
        self.url = mask(&self.url);
    }
}

/// The name of a run that is part of another, such as `suite 12: build`: of one name there may be several on a commit,
/// and one must not take the place of another. It is the same when the run is repeated. The id stands first, where it is
/// not cut off, and where no name makes it look like a telephone number (`mobile 2025550143`), which would be masked.
pub(crate) fn part(name: &str, of: &str, id: Option<u64>) -> String {
    match id {
        Some(id) => format!("{of} {id}: {name}"),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_told_from_others_however_long_its_name_is() {
        assert_eq!(part("build", "suite", Some(12)), "suite 12: build");
        assert_eq!(part("build", "suite", None), "build");
        let cut = event::name(Some(part(&"x".repeat(500), "pipeline", Some(31))));
        assert!(cut.is_some_and(|name| name.starts_with("pipeline 31: x")));
    }
}
