//! Commands of patches.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Subcommands of `patch`.
#[derive(Debug, Subcommand)]
pub enum PatchCommand {
    /// Check whether a patch applies to a directory: how well, and what is risky. Needs no service.
    ///
    /// The patch is a unified diff, or search/replace blocks. The exit code is 0 if it applies.
    Check(PatchCheckArgs),
}

/// Arguments of `patch check`.
#[derive(Debug, Args)]
pub struct PatchCheckArgs {
    /// Directory with the files.
    #[arg(long, value_name = "DIR")]
    pub workspace: PathBuf,
    /// Write the changes into the directory, if the patch applies: all of them, or none.
    #[arg(long)]
    pub apply: bool,
    /// The patch; standard input by default.
    #[arg(default_value = "-", value_name = "FILE")]
    pub file: PathBuf,
}
