//! Commands of records and quarantine items.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use mc_domain::{QuarantineItemId, QuarantineState, RecordId, RecordKind, Visibility};

use super::{PageArgs, ProjectArg, value_parser_of};

/// Subcommands of `records`.
#[derive(Debug, Subcommand)]
pub enum RecordsCommand {
    /// List the project's live records, oldest first.
    List(RecordsListArgs),
    /// Show a record with its citations.
    Show {
        /// The record's id, as `records list` shows it.
        id: RecordId,
    },
    /// Show the earlier versions of a record, and who contributed to it.
    History {
        /// The record's id.
        id: RecordId,
    },
    /// Edit a record. What is not named keeps its value; the present version stays in its history.
    Edit(Box<RecordsEditArgs>),
    /// Confirm a version of a team record that you have reviewed.
    Confirm {
        /// The record's id.
        id: RecordId,
        /// The version that you reviewed.
        #[arg(long, value_name = "VERSION")]
        record_version: u32,
    },
    /// Share a private record with the team.
    Share {
        /// The record's id.
        id: RecordId,
    },
    /// Delete a record. `records restore` brings it back.
    Delete {
        /// The record's id.
        id: RecordId,
    },
    /// Restore a deleted or superseded record, or an earlier version; for maintainers.
    Restore {
        /// The record's id.
        id: RecordId,
        /// The version to restore; by default the previous one, or the last one of a deleted
        /// record.
        #[arg(long, value_name = "VERSION")]
        record_version: Option<u32>,
    },
}

/// Arguments of `records list`.
#[derive(Debug, Args)]
pub struct RecordsListArgs {
    #[command(flatten)]
    pub project: ProjectArg,
    /// Only records of this kind.
    #[arg(long, value_parser = value_parser_of(RecordKind::ALL, RecordKind::as_str))]
    pub kind: Option<RecordKind>,
    /// Only records of this visibility; by default the team's and your own.
    #[arg(long, value_parser = value_parser_of(Visibility::ALL, Visibility::as_str))]
    pub visibility: Option<Visibility>,
    /// Only records to which this user contributed.
    #[arg(long, value_name = "LOGIN")]
    pub saved_by: Option<String>,
    /// Only records to which this source contributed.
    #[arg(long)]
    pub source: Option<String>,
    #[command(flatten)]
    pub page: PageArgs,
}

/// Arguments of `records edit`.
#[derive(Debug, Args)]
pub struct RecordsEditArgs {
    /// The record's id.
    pub id: RecordId,
    /// The version that you have read; by default the present one.
    #[arg(long, value_name = "VERSION")]
    pub record_version: Option<u32>,
    /// New title.
    #[arg(long)]
    pub title: Option<String>,
    /// File with the new content; `-` reads standard input.
    #[arg(long, value_name = "FILE")]
    pub content_file: Option<PathBuf>,
    /// New kind.
    #[arg(long, value_parser = value_parser_of(RecordKind::ALL, RecordKind::as_str))]
    pub kind: Option<RecordKind>,
    /// Part of the system that the record is about; may be repeated. Replaces all; an empty one
    /// removes them.
    #[arg(long, value_name = "SCOPE")]
    pub scope: Vec<String>,
    /// Tag; may be repeated. Replaces all; an empty one removes them.
    #[arg(long = "tag", value_name = "TAG")]
    pub tags: Vec<String>,
    /// Who is responsible for it.
    #[arg(long)]
    pub owner: Option<String>,
    /// When it expires: a date or time, or `never`.
    #[arg(long, value_name = "DATE")]
    pub ttl: Option<String>,
}

/// Subcommands of `quarantine`.
#[derive(Debug, Subcommand)]
pub enum QuarantineCommand {
    /// List the quarantine items, newest first.
    List {
        #[command(flatten)]
        project: ProjectArg,
        /// Only the items in this state; by default those that wait for a decision.
        #[arg(long, default_value = "pending",
              value_parser = value_parser_of(QuarantineState::ALL, QuarantineState::as_str))]
        state: QuarantineState,
        #[command(flatten)]
        page: PageArgs,
    },
    /// Show an item with its text, masked. Do not give it to a model.
    Show {
        /// The item's id, as `quarantine list` shows it.
        id: QuarantineItemId,
    },
    /// Release an item: its text is stored, with secrets and personal data masked.
    Release {
        /// The item's id.
        id: QuarantineItemId,
    },
    /// Delete an item permanently; only the decision is kept.
    Delete {
        /// The item's id.
        id: QuarantineItemId,
    },
}
