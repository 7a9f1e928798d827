//! The command `report`.

use clap::{Args, ValueEnum};

use super::ProjectArg;

/// Arguments of `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    #[command(flatten)]
    pub project: ProjectArg,
    /// Number of weeks, the present one included.
    #[arg(long, default_value_t = 4, value_name = "N",
          value_parser = clap::value_parser!(u16).range(1..=53))]
    pub weeks: u16,
    /// Count only the members of this team.
    #[arg(long, value_name = "TEAM")]
    pub team: Option<String>,
    /// Format of the report.
    #[arg(long, value_enum, default_value_t)]
    pub format: ReportFormat,
}

/// Formats of a report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// Text for people.
    #[default]
    Markdown,
    /// The JSON of the service.
    Json,
}
