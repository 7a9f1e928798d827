//! Commands of repositories.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use mc_contract::text::RepositoryPart;
use mc_domain::IngestRunId;

use super::ProjectArg;

/// Subcommands of `repos`.
#[derive(Debug, Subcommand)]
pub enum ReposCommand {
    /// List the indexed repositories of the project.
    List {
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Remove a repository with its files from the index.
    Remove {
        #[command(flatten)]
        repository: RepositoryArg,
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Rename a repository. Its documents and integrations follow.
    Rename {
        #[command(flatten)]
        repository: RepositoryArg,
        /// The new OWNER/NAME.
        #[arg(value_parser = repository_name, value_name = "NEW_OWNER/NEW_NAME")]
        new_name: RepositoryName,
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Change which files of a repository are indexed, and index it again.
    Patterns {
        #[command(flatten)]
        repository: RepositoryArg,
        #[command(flatten)]
        patterns: PatternArgs,
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Cancel an index run. The files that it has indexed stay.
    Cancel {
        /// The run's id, as `ingest` and `repos list` show it.
        run: IngestRunId,
    },
    /// Watch a local directory, and index it whenever it changes, until Ctrl-C.
    Watch {
        /// Directory.
        #[arg(default_value = ".")]
        dir: PathBuf,
        #[command(flatten)]
        project: ProjectArg,
    },
}

/// Patterns of files.
#[derive(Debug, Args)]
pub struct PatternArgs {
    /// Pattern of the only files to index, in the syntax of .gitignore; may be repeated. Replaces
    /// all; an empty one removes them.
    #[arg(long, value_name = "PATTERN")]
    pub include: Vec<String>,
    /// Pattern of files that are not indexed; may be repeated. Replaces all; an empty one removes
    /// them.
    #[arg(long, value_name = "PATTERN")]
    pub exclude: Vec<String>,
}

/// A repository.
#[derive(Debug, Args)]
pub struct RepositoryArg {
    /// OWNER/NAME, as `repos list` shows it; a directory has the owner `local`.
    #[arg(value_parser = repository_name, value_name = "OWNER/NAME")]
    pub repository: RepositoryName,
}

/// The owner and the name of a repository.
#[derive(Debug, Clone)]
pub struct RepositoryName {
    pub owner: RepositoryPart,
    pub name: RepositoryPart,
}

fn repository_name(text: &str) -> Result<RepositoryName, String> {
    let (owner, name) = text.split_once('/').ok_or("write OWNER/NAME, such as acme/shop")?;
    let part = |text| RepositoryPart::parse(text).map_err(|error| error.to_string());
    Ok(RepositoryName { owner: part(owner)?, name: part(name)? })
}
