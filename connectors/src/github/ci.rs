//! What runs on a commit: checks, their suites, workflows, and statuses that others set.

use mc_domain::CiConclusion;
use serde::Deserialize;

use super::Repository;
use crate::ci::{CiRun, part};
use crate::delivery::{ParseError, needed, text};
use crate::event::{self, Event};

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

/// What the three have in common, and what one has alone.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Run {
    id: Option<u64>,
    name: Option<String>,
    head_sha: Option<String>,
    status: Option<String>,
    conclusion: Option<String>,
    html_url: Option<String>,
    /// Of a check.
    started_at: Option<String>,
    completed_at: Option<String>,
    /// Of a suite and a workflow.
    updated_at: Option<String>,
    /// What started a workflow.
    event: Option<String>,
    /// Whose a suite is.
    app: Option<App>,
    /// The one that a check is part of.
    check_suite: Option<Suite>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Suite {
    id: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct App {
    name: Option<String>,
}

/// Where the fields stand that nothing can be said without.
struct Paths {
    sha: &'static str,
    name: &'static str,
}

/// Two workflows may each have a check of one name. A check that is run again stays in its suite.
pub(super) fn check_run(body: CheckRunBody) -> Result<Event, ParseError> {
    let mut run = body.check_run;
    let paths = Paths { sha: "check_run.head_sha", name: "check_run.name" };
    let suite = run.check_suite.take().and_then(|suite| suite.id);
    let name = run.name.take().map(|name| part(&name, "suite", suite));
    told(run, name, body.repository, &paths)
}

/// A commit has one suite for each workflow, all of them one app's: only the id tells them apart.
pub(super) fn check_suite(body: CheckSuiteBody) -> Result<Event, ParseError> {
    let mut suite = body.check_suite;
    let paths = Paths { sha: "check_suite.head_sha", name: "check_suite.id" };
    let app = suite.app.take().and_then(|app| app.name).unwrap_or_else(|| "suite".to_owned());
    let name = suite.id.map(|id| format!("{app}, suite {id}"));
    told(suite, name, body.repository, &paths)
}

/// One that runs for a push and for a pull request runs twice.
pub(super) fn workflow_run(body: WorkflowRunBody) -> Result<Event, ParseError> {
    let mut run = body.workflow_run;
    let paths = Paths { sha: "workflow_run.head_sha", name: "workflow_run.name" };
    let name =
        run.name.take().filter(|name| !name.is_empty()).unwrap_or_else(|| "workflow".to_owned());
    let name = match &run.event {
        Some(event) => format!("{name} ({event})"),
        None => name,
    };
    told(run, Some(name), body.repository, &paths)
}

pub(super) fn status(body: StatusBody) -> Result<Event, ParseError> {
    let conclusion = match text(body.state, "state")?.as_str() {
        "success" => CiConclusion::Success,
        "failure" | "error" => CiConclusion::Failure,
        _ => CiConclusion::Pending,
    };
    let updated_at = body.updated_at.or(body.created_at).as_deref().and_then(event::time);
    CiRun {
        repository: text(body.repository.full_name, "repository.full_name")?,
        sha: text(body.sha, "sha")?,
        name: text(body.context, "context")?,
        conclusion,
        url: event::page(body.target_url),
        completed_at: updated_at.filter(|_| conclusion != CiConclusion::Pending),
        updated_at,
    }
    .bounded()
}

fn told(
    run: Run,
    name: Option<String>,
    repository: Repository,
    paths: &Paths,
) -> Result<Event, ParseError> {
    let time = |at: Option<String>| at.as_deref().and_then(event::time);
    let conclusion = conclusion(run.status.as_deref(), run.conclusion.as_deref());
    let has_ended = conclusion != CiConclusion::Pending;
    let ended_at = time(run.completed_at).filter(|_| has_ended);
    let updated_at = time(run.updated_at);
    CiRun {
        repository: text(repository.full_name, "repository.full_name")?,
        sha: text(run.head_sha, paths.sha)?,
        name: needed(name, paths.name)?,
        conclusion,
        url: event::page(run.html_url),
        completed_at: ended_at.or(updated_at.filter(|_| has_ended)),
        updated_at: updated_at.or(ended_at).or(time(run.started_at)),
    }
    .bounded()
}

/// What waits for a person has not ended.
fn conclusion(status: Option<&str>, conclusion: Option<&str>) -> CiConclusion {
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
mod tests {
    use super::*;

    const REPOSITORY: &str = r#""repository": {"full_name": "octocat/hello"}"#;

    fn run(event: Result<Event, ParseError>) -> CiRun {
        match event {
            Ok(Event::Ci(run)) => run,
            other => panic!("{other:?}"),
        }
    }

    fn read<T: serde::de::DeserializeOwned>(body: &str) -> T {
        let body = body.replace("SHA", &"AB".repeat(20));
        serde_json::from_str(&format!("{{{body}, {REPOSITORY}}}")).expect("JSON")
    }

    #[test]
    fn a_check_is_told_by_its_name() {
        let told = run(check_run(read(
            r#""check_run": {"id": 4, "name": "build", "head_sha": "SHA", "status": "completed",
            "conclusion": "timed_out", "html_url": "https://git.example.org/runs/4",
            "started_at": "2026-01-02T03:04:05Z", "completed_at": "2026-01-02T03:06:00Z"}"#,
        )));
        let ended = event::time("2026-01-02T03:06:00Z");
        let expected = CiRun {
            repository: "octocat/hello".to_owned(),
            sha: "ab".repeat(20),
            name: "build".to_owned(),
            conclusion: CiConclusion::Failure,
            url: "https://git.example.org/runs/4".to_owned(),
            completed_at: ended,
            updated_at: ended,
        };
        assert_eq!(told, expected);
        let begun = run(check_run(read(
            r#""check_run": {"name": "build", "head_sha": "SHA", "status": "in_progress",
            "conclusion": null, "started_at": "2026-01-02T03:04:05Z"}"#,
        )));
        assert_eq!((begun.conclusion, begun.completed_at), (CiConclusion::Pending, None));
        assert_eq!(begun.updated_at, event::time("2026-01-02T03:04:05Z"));
    }

    #[test]
    fn what_runs_more_than_once_on_a_commit_is_told_apart() {
        let suite = run(check_suite(read(
            r#""check_suite": {"id": 9, "head_sha": "SHA", "status": "completed",
            "conclusion": "success", "app": {"name": "Runner"}}"#,
        )));
        assert_eq!(suite.name, "Runner, suite 9");
        let check = |suite: u64| {
            let body = format!(
                r#""check_run": {{"name": "build", "head_sha": "SHA", "status": "completed",
                "conclusion": "success", "check_suite": {{"id": {suite}}}}}"#
            );
            run(check_run(read(&body))).name
        };
        assert_eq!(
            (check(9), check(10)),
            ("suite 9: build".to_owned(), "suite 10: build".to_owned())
        );
        let by = |event: &str| {
            let body = format!(
                r#""workflow_run": {{"id": 1, "name": "CI", "event": "{event}", "head_sha": "SHA",
                "status": "completed", "conclusion": "success"}}"#
            );
            run(workflow_run(read(&body))).name
        };
        assert_eq!(
            (by("push"), by("pull_request")),
            ("CI (push)".to_owned(), "CI (pull_request)".to_owned())
        );
    }

    #[test]
    fn a_status_is_told_by_its_context() {
        let of = |state: &str| {
            let body = format!(
                r#""sha": "SHA", "context": "ci/deploy", "state": "{state}",
                "updated_at": "2026-01-02T03:04:05+00:00""#
            );
            run(status(read(&body)))
        };
        assert_eq!(
            (of("error").conclusion, of("error").name),
            (CiConclusion::Failure, "ci/deploy".to_owned())
        );
        assert_eq!(
            (of("pending").conclusion, of("pending").completed_at),
            (CiConclusion::Pending, None)
        );
    }

    #[test]
    fn every_word_of_an_end_is_known() {
        let of = |word| conclusion(Some("completed"), Some(word));
        for word in ["failure", "timed_out", "startup_failure"] {
            assert_eq!(of(word), CiConclusion::Failure, "{word}");
        }
        assert_eq!((of("stale"), of("skipped")), (CiConclusion::Cancelled, CiConclusion::Neutral));
        assert_eq!(of("action_required"), CiConclusion::Pending);
        assert_eq!(conclusion(Some("queued"), Some("success")), CiConclusion::Pending);
    }

    #[test]
    fn a_run_on_no_commit_is_refused() {
        let body: CheckRunBody = read(r#""check_run": {"name": "build", "head_sha": "main"}"#);
        assert!(matches!(check_run(body), Err(ParseError::Unfit { .. })));
        let body: CheckRunBody = read(r#""check_run": {"name": "build"}"#);
        assert_eq!(check_run(body), Err(ParseError::Missing("check_run.head_sha")));
    }
}
