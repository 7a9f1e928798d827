//! Check runs, check suites, workflow runs, and commit statuses of other services.

use mc_domain::CiConclusion;
use serde::Deserialize;

use super::Repository;
use crate::delivery::{ParseError, required, required_text};
use crate::event::{CiRun, Event, field, qualified_name};

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct CheckRunBody {
    check_run: Run,
    repository: Repository,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct CheckSuiteBody {
    check_suite: Run,
    repository: Repository,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct WorkflowRunBody {
    workflow_run: Run,
    repository: Repository,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct StatusBody {
    sha: Option<String>,
    context: Option<String>,
    state: Option<String>,
    target_url: Option<String>,
    created_at: Option<String>,
    updated_at: Option<String>,
    repository: Repository,
}

/// The fields of a check run, a check suite or a workflow run.
#[derive(Default, Deserialize)]
struct Run {
    id: Option<u64>,
    name: Option<String>,
    head_sha: Option<String>,
    status: Option<String>,
    conclusion: Option<String>,
    html_url: Option<String>,
    /// Of a check run.
    started_at: Option<String>,
    completed_at: Option<String>,
    /// Of a check suite and a workflow run.
    updated_at: Option<String>,
    /// The event that started a workflow run.
    event: Option<String>,
    /// The workflow of a workflow run.
    workflow_id: Option<u64>,
    /// The app of a check suite.
    app: Option<App>,
    check_suite: Option<Suite>,
}

#[derive(Default, Deserialize)]
struct Suite {
    id: Option<u64>,
}

#[derive(Default, Deserialize)]
struct App {
    name: Option<String>,
}

/// Check runs of two workflows may have the same name. A repeated check run stays in its suite.
pub(super) fn check_run(body: CheckRunBody) -> Result<Event, ParseError> {
    let mut run = body.check_run;
    let paths = ["check_run.head_sha", "check_run.name"];
    let suite = run.check_suite.take().and_then(|suite| suite.id);
    let name = named(run.name.take(), "run", run.id);
    let name = name.map(|name| qualified_name(&name, "suite", suite));
    event(run, name, body.repository, paths)
}

/// A commit has a suite for each workflow, all of the same app. Only their ids differ.
pub(super) fn check_suite(body: CheckSuiteBody) -> Result<Event, ParseError> {
    let mut suite = body.check_suite;
    let paths = ["check_suite.head_sha", "check_suite.id"];
    let app = suite.app.take().and_then(|app| app.name).unwrap_or_else(|| "suite".to_owned());
    let name = suite.id.map(|id| format!("{app}, suite {id}"));
    event(suite, name, body.repository, paths)
}

/// A workflow that a push and a pull request start runs twice.
pub(super) fn workflow_run(body: WorkflowRunBody) -> Result<Event, ParseError> {
    let mut run = body.workflow_run;
    let paths = ["workflow_run.head_sha", "workflow_run.name"];
    let name = named(run.name.take(), "workflow", run.workflow_id);
    let name = name.unwrap_or_else(|| "workflow".to_owned());
    let name = match &run.event {
        Some(event) => format!("{name} ({event})"),
        None => name,
    };
    event(run, Some(name), body.repository, paths)
}

pub(super) fn status(body: StatusBody) -> Result<Event, ParseError> {
    let conclusion = status_conclusion(&required_text(body.state, "state")?);
    let updated_at = field::optional_time(body.updated_at.or(body.created_at).as_deref());
    let run = CiRun {
        repository: required_text(body.repository.full_name, "repository.full_name")?,
        sha: required_text(body.sha, "sha")?,
        name: required_text(body.context, "context")?,
        conclusion,
        url: field::web_url(body.target_url),
        completed_at: updated_at.filter(|_| conclusion != CiConclusion::Pending),
        updated_at,
    };
    Ok(Event::CiRun(run.truncated()?))
}

/// Returns the name, or one of kind and id if it is blank: equal names would replace each other.
fn named(name: Option<String>, kind: &str, id: Option<u64>) -> Option<String> {
    let name = name.filter(|name| !name.trim().is_empty());
    name.or_else(|| id.map(|id| format!("{kind} {id}")))
}

/// `sha_path` and `name_path` are the required fields, for messages.
fn event(
    run: Run,
    name: Option<String>,
    repository: Repository,
    [sha_path, name_path]: [&'static str; 2],
) -> Result<Event, ParseError> {
    let conclusion = conclusion(run.status.as_deref(), run.conclusion.as_deref());
    let is_completed = conclusion != CiConclusion::Pending;
    let completed_at = field::optional_time(run.completed_at.as_deref()).filter(|_| is_completed);
    let updated_at = field::optional_time(run.updated_at.as_deref());
    let run = CiRun {
        repository: required_text(repository.full_name, "repository.full_name")?,
        sha: required_text(run.head_sha, sha_path)?,
        name: required(name, name_path)?,
        conclusion,
        url: field::web_url(run.html_url),
        completed_at: completed_at.or(updated_at.filter(|_| is_completed)),
        updated_at: updated_at.or(completed_at).or(field::optional_time(run.started_at.as_deref())),
    };
    Ok(Event::CiRun(run.truncated()?))
}

/// A run that waits for a person is pending.
/// Returns the conclusion of a commit status by its state.
pub(in crate::github) fn status_conclusion(state: &str) -> CiConclusion {
    match state {
        "success" => CiConclusion::Success,
        "failure" | "error" => CiConclusion::Failure,
        _ => CiConclusion::Pending,
    }
}

pub(in crate::github) fn conclusion(
    status: Option<&str>,
    conclusion: Option<&str>,
) -> CiConclusion {
    if status.is_some_and(|status| status != "completed") {
        return CiConclusion::Pending;
    }
    match conclusion {
        Some("success") => CiConclusion::Success,
        Some("failure" | "timed_out" | "startup_failure") => CiConclusion::Failure,
        Some("cancelled" | "stale") => CiConclusion::Cancelled,
        Some("neutral" | "skipped") => CiConclusion::Neutral,
        _ => CiConclusion::Pending,
    }
}

#[cfg(test)]
mod tests;
