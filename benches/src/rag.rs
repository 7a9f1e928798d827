//! Measurements of the query pipeline over repositories: replayed commits, questions for
//! identifiers, searches for texts, and the modules.

pub mod ablation;
mod engine;
pub mod identifiers;
pub mod replays;
pub mod substrings;

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::harness::{Common, remove};
use crate::replay::source::Source;
use crate::replay::{self, generated};

/// The repository to measure.
#[derive(Debug, Clone, clap::Args)]
pub struct Repository {
    /// A git repository on this machine; a small generated one without it
    #[arg(long)]
    repo: Option<PathBuf>,
    /// Commit, branch or tag of the repository
    #[arg(long, default_value = "HEAD")]
    tip: String,
}

impl Repository {
    /// Copies the repository into an empty directory below the working directory. Its branch is at
    /// the tip, or `commits` before it. Returns the directory, too.
    pub fn copy(&self, common: &Common, name: &str, commits: usize) -> Result<(PathBuf, Source)> {
        let work = common.work(name)?;
        remove(&work)?;
        let work = common.work(name)?;
        let repository = if let Some(repository) = &self.repo {
            repository.canonicalize().context("there is no such --repo")?
        } else {
            let generated = work.join("generated");
            generated::create(&generated, commits.max(1), SEED).map_err(boxed)?;
            generated
        };
        let source = Source::of(&repository, &self.tip, commits, &work.join("bare"));
        Ok((work.clone(), source.map_err(boxed)?))
    }

    pub fn describe(&self, source: &Source) -> String {
        let name = self.repo.as_ref().and_then(|repository| repository.file_name());
        let name = name.map_or("generated".into(), |name| name.to_string_lossy());
        let tip = source.commits.last().map_or("", |commit| &commit[..12]);
        format!("repository {name} at {tip}")
    }
}

/// Seed of the generated repository.
const SEED: u64 = 26;

/// Converts the error of a replay.
fn boxed(error: Box<dyn std::error::Error + Send + Sync>) -> anyhow::Error {
    anyhow::Error::from_boxed(error)
}

/// Result of a replay as one of a benchmark.
trait Converted<T> {
    fn converted(self) -> Result<T>;
}

impl<T> Converted<T> for replay::Result<T> {
    fn converted(self) -> Result<T> {
        self.map_err(boxed)
    }
}
