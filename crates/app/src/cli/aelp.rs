//! Commands of system prompts.

use std::path::PathBuf;

use clap::Subcommand;

use super::ProjectArg;

/// Subcommands of `aelp`.
#[derive(Debug, Subcommand)]
pub enum AelpCommand {
    /// Show the version in use, the one that is tried, and the last night.
    Status {
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Show the prompt that you get.
    Show {
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Show how a version differs from the one before.
    Diff {
        /// Version; by default the one that is tried, else the one in use.
        version: Option<i32>,
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Run the night now: decide on the version that is tried, or search a better one.
    Run {
        #[command(flatten)]
        project: ProjectArg,
        /// Report what it would do and change nothing.
        #[arg(long)]
        dry_run: bool,
    },
    /// Give all developers the version that is tried, without asking the rule.
    Promote {
        #[command(flatten)]
        project: ProjectArg,
    },
    /// End the trial; without one, use the version before the present one again.
    Rollback {
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Set the prompt by a YAML file with `instructions` and `examples`, each item with `id` and
    /// `text`.
    Set {
        /// File; `-` reads standard input.
        file: PathBuf,
        #[command(flatten)]
        project: ProjectArg,
    },
}
