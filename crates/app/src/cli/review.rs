//! Commands of hygiene, duplicates, proposals and exports.

use std::path::PathBuf;

use clap::Subcommand;
use mc_domain::{
    DuplicateClusterId, ExpiryDecision, ExportId, HygieneRunId, HygieneTask, RecordId,
};

use super::{PageArgs, ProjectArg, value_parser_of};

/// Subcommands of `hygiene`.
#[derive(Debug, Subcommand)]
pub enum HygieneCommand {
    /// List the newest hygiene runs.
    List {
        #[command(flatten)]
        project: ProjectArg,
        /// Only the runs of this task.
        #[arg(long, value_parser = value_parser_of(HygieneTask::ALL, HygieneTask::as_str))]
        task: Option<HygieneTask>,
        #[command(flatten)]
        page: PageArgs,
    },
    /// Show a hygiene run and its findings.
    Show {
        /// The run's id, as `hygiene list` shows it.
        id: HygieneRunId,
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Run a hygiene task now.
    Run {
        /// Hygiene task to run.
        #[arg(value_parser = value_parser_of(HygieneTask::ALL, HygieneTask::as_str))]
        task: HygieneTask,
        #[command(flatten)]
        project: ProjectArg,
        /// Change nothing; report what the task would change.
        #[arg(long)]
        dry_run: bool,
        /// With `expiry`: the decision about records whose expiry is suspended.
        #[arg(long, value_parser = value_parser_of(ExpiryDecision::ALL, ExpiryDecision::as_str))]
        expiry_decision: Option<ExpiryDecision>,
    },
}

/// Subcommands of `duplicates`.
#[derive(Debug, Subcommand)]
pub enum DuplicatesCommand {
    /// List the clusters of duplicate records that wait for a decision.
    List {
        #[command(flatten)]
        project: ProjectArg,
        #[command(flatten)]
        page: PageArgs,
    },
    /// Merge the records of a cluster into one.
    Merge {
        /// The cluster's id, as `duplicates list` shows it.
        id: DuplicateClusterId,
        #[command(flatten)]
        project: ProjectArg,
        /// The record to keep; without it the first of the cluster.
        #[arg(long, value_name = "ID")]
        keep: Option<RecordId>,
    },
    /// Dismiss a cluster: its records are not duplicates.
    Dismiss {
        /// The cluster's id.
        id: DuplicateClusterId,
        #[command(flatten)]
        project: ProjectArg,
    },
}

/// Subcommands of `proposals`.
#[derive(Debug, Subcommand)]
pub enum ProposalsCommand {
    /// List the proposals that wait for a reviewer.
    List {
        #[command(flatten)]
        project: ProjectArg,
        /// Only the records that hygiene demoted (`hygiene.unused_records` of the policy).
        #[arg(long)]
        demoted: bool,
    },
    /// Show a proposal with the change that it makes.
    Show {
        /// The proposal's id, as `proposals list` shows it.
        id: RecordId,
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Accept a proposal; a demoted record is recalled again.
    Accept {
        /// The proposal's id.
        id: RecordId,
        /// The version that you reviewed.
        #[arg(long, value_name = "VERSION")]
        record_version: u32,
        /// The version that you reviewed of the record that the proposal changes, if it changes
        /// one.
        #[arg(long, value_name = "VERSION")]
        amends_version: Option<u32>,
    },
    /// Reject a proposal; a demoted record is deleted.
    Reject {
        /// The record's id.
        id: RecordId,
        /// The reason, for the audit log.
        #[arg(long, default_value = "not useful")]
        reason: String,
    },
}

/// Subcommands of `exports`.
#[derive(Debug, Subcommand)]
pub enum ExportsCommand {
    /// List the weekly exports of the project's records.
    List {
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Download an export in the format that `import` reads.
    Download {
        /// The export's id, as `exports list` shows it.
        id: ExportId,
        #[command(flatten)]
        project: ProjectArg,
        /// Output file; without it standard output.
        #[arg(long, short)]
        output: Option<PathBuf>,
    },
}
