//! `memory-copilot report`.

mod markdown;

use anyhow::{Context as _, Result};
use mc_contract::operations::usage_report::UsageReport;

use crate::api_client::ApiClient;
use crate::cli::{ReportArgs, ReportFormat};
use crate::output::{self, Format};

/// Prints the weekly report of a project.
pub async fn run(args: ReportArgs, remote: &ApiClient, format: Format) -> Result<()> {
    let (key, weeks) = (args.project.key()?, args.weeks.to_string());
    let mut query = vec![("project_key", key.as_str()), ("weeks", weeks.as_str())];
    query.extend(args.team.iter().map(|team| ("team", team.as_str())));
    let report = remote.get("/metrics/report", &query).await?;
    if format == Format::Json || args.format == ReportFormat::Json {
        output::line(&output::json(&report));
        return Ok(());
    }
    let report: UsageReport = serde_json::from_value(report)
        .context("the report is of another version; update this program or the service")?;
    output::document(markdown::report(&report).trim_end());
    Ok(())
}
