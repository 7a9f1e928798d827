//! Commit statuses and check runs.

use mc_domain::UntrustedText;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;

use super::RepositoryPullRequests;
use crate::error::Error;
use crate::event::field;
use crate::github::webhook;
use crate::resource_name;
use crate::traits::{CommitCheck, NewStatus};

/// Characters of a description.
const DESCRIPTION: usize = 140;

#[derive(Deserialize)]
struct CombinedStatus {
    statuses: Vec<Status>,
}

/// The latest status of a context.
#[derive(Deserialize)]
struct Status {
    state: String,
    context: String,
    target_url: Option<String>,
}

#[derive(Deserialize)]
struct CheckRuns {
    check_runs: Vec<CheckRun>,
}

#[derive(Deserialize)]
struct CheckRun {
    id: u64,
    name: String,
    status: Option<String>,
    conclusion: Option<String>,
    html_url: Option<String>,
    app: Option<App>,
}

#[derive(Deserialize)]
struct App {
    id: Option<u64>,
}

impl RepositoryPullRequests {
    pub(super) async fn post_status(&self, sha: &str, status: &NewStatus) -> Result<(), Error> {
        let sha = resource_name::commit(self.http(), sha)?;
        let mut body = json!({
            "state": status.state.as_str(),
            "context": status.context,
            "description": field::line(&status.description, DESCRIPTION),
        });
        if let Some(url) = &status.target_url {
            body["target_url"] = url.as_str().into();
        }
        let set = self.client.post(&self.route(&format!("/statuses/{sha}")), &body).await;
        let action = format!("to set the status of {sha}");
        let IgnoredAny = set.map_err(|error| self.http().write_error(error, &action))?;
        Ok(())
    }

    pub(super) async fn read_checks(&self, sha: &str) -> Result<Vec<CommitCheck>, Error> {
        let sha = resource_name::commit(self.http(), sha)?;
        let rest = format!("/commits/{sha}/status");
        let statuses = self.read_all(&rest, |page: CombinedStatus| page.statuses).await?;
        let rest = format!("/commits/{sha}/check-runs");
        let mut runs = self.read_all(&rest, |page: CheckRuns| page.check_runs).await?;
        runs.sort_unstable_by_key(|run| run.id);
        let mut checks: Vec<CommitCheck> = statuses.into_iter().map(Status::into_check).collect();
        for run in runs.into_iter().map(CheckRun::into_check) {
            insert_latest(&mut checks, run);
        }
        Ok(checks)
    }
}

/// Adds a check run, or replaces an earlier run of the same name and app. A run without an app does
/// not replace a status.
fn insert_latest(checks: &mut Vec<CommitCheck>, run: CommitCheck) {
    let is_earlier = |check: &&mut CommitCheck| {
        check.app_id.is_some() && check.app_id == run.app_id && check.context == run.context
    };
    match checks.iter_mut().find(is_earlier) {
        Some(earlier) => *earlier = run,
        None => checks.push(run),
    }
}

impl Status {
    fn into_check(self) -> CommitCheck {
        CommitCheck {
            context: UntrustedText::new(self.context),
            app_id: None,
            conclusion: webhook::status_conclusion(&self.state),
            url: field::web_url(self.target_url),
        }
    }
}

impl CheckRun {
    fn into_check(self) -> CommitCheck {
        let conclusion = webhook::conclusion(self.status.as_deref(), self.conclusion.as_deref());
        CommitCheck {
            context: UntrustedText::new(self.name),
            app_id: self.app.and_then(|app| app.id),
            conclusion,
            url: field::web_url(self.html_url),
        }
    }
}
