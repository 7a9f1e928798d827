//! Commands of reasoning schemas.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::ProjectArg;

/// Subcommands of `sgr`.
#[derive(Debug, Subcommand)]
pub enum SgrCommand {
    /// List the built-in schemas, and with a project its own.
    List {
        #[command(flatten)]
        project: OptionalProjectArg,
    },
    /// Show a schema with its steps.
    Show {
        /// Name of the schema.
        schema: String,
        #[command(flatten)]
        project: OptionalProjectArg,
        /// Print the JSON Schema of an answer instead.
        #[arg(long)]
        answer_schema: bool,
    },
    /// Create or replace a schema of the project with a YAML file, which names it.
    Set {
        /// File; `-` reads standard input.
        file: PathBuf,
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Delete a schema of the project; a built-in one of the same name is used again.
    Delete {
        /// Name of the schema.
        schema: String,
        #[command(flatten)]
        project: ProjectArg,
    },
}

/// A project, or none.
#[derive(Debug, Args)]
pub struct OptionalProjectArg {
    /// Project key; only the built-in schemas without it.
    #[arg(long, short, env = "MEMORY_COPILOT_PROJECT", value_name = "KEY")]
    pub project: Option<String>,
}
