//! Commands that operate the service and set up its clients.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use mc_domain::JobState;

use super::{PageArgs, value_parser_of};

/// Subcommands of `jobs`.
#[derive(Debug, Subcommand)]
pub enum JobsCommand {
    /// List the newest jobs, without the housekeeping of the service.
    List {
        /// Also list the housekeeping: jobs that the schedule enqueues each minute or hour. --state
        /// and --kind list it, too.
        #[arg(long)]
        all: bool,
        /// Only the jobs in this state.
        #[arg(long, value_parser = value_parser_of(JobState::ALL, JobState::as_str))]
        state: Option<JobState>,
        /// Only the jobs of this kind, such as `sync_integration`.
        #[arg(long)]
        kind: Option<String>,
        #[command(flatten)]
        page: PageArgs,
    },
    /// Show a job with all its fields.
    Show {
        /// The job's id, as `jobs list` shows it.
        id: String,
    },
    /// Retry a discarded job.
    Retry {
        /// The job's id.
        id: String,
    },
    /// Delete a job that is discarded or pending, including one that waits for a retry.
    Delete {
        /// The job's id.
        id: String,
    },
}

/// Arguments of `backup`.
#[derive(Debug, Args)]
pub struct BackupArgs {
    /// Output file, which exists once the backup is complete; `-` writes to standard output.
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
}

/// Arguments of `restore`.
#[derive(Debug, Args)]
pub struct RestoreArgs {
    /// Backup file.
    pub file: PathBuf,
    /// Restore although the encryption key is lost. Its encrypted data stays unreadable (secrets of
    /// webhooks and notifications, signing keys of logins, quarantined texts), and the audit log
    /// can't be verified.
    #[arg(long)]
    pub without_encryption_key: bool,
}

/// Arguments of `sanitize`.
#[derive(Debug, Args)]
pub struct SanitizeArgs {
    /// File to read; `-` reads standard input.
    pub file: PathBuf,
    /// Print the whole masked text.
    #[arg(long)]
    pub masked: bool,
}

/// Subcommands of `config`.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print the effective configuration with masked secrets.
    Show,
}
