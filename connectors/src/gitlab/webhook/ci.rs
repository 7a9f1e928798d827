//! Pipelines and their jobs.

use mc_domain::CiConclusion;
use serde::Deserialize;
use url::Url;

use super::Project;
use crate::delivery::{ParseError, required, required_text};
use crate::event::{CiRun, Event, field, qualified_name};

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct PipelineBody {
    object_attributes: Pipeline,
    project: Project,
}

#[derive(Default, Deserialize)]
struct Pipeline {
    sha: Option<String>,
    source: Option<String>,
    status: Option<String>,
    url: Option<String>,
    created_at: Option<String>,
    finished_at: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct JobBody {
    sha: Option<String>,
    pipeline_id: Option<u64>,
    build_name: Option<String>,
    build_status: Option<String>,
    build_allow_failure: bool,
    build_created_at: Option<String>,
    build_started_at: Option<String>,
    build_finished_at: Option<String>,
    /// Missing in older versions, which send only the address of the repository.
    project: Option<Project>,
    repository: Repository,
}

#[derive(Default, Deserialize)]
struct Repository {
    homepage: Option<String>,
}

/// A pipeline that a push and a merge request start runs twice.
pub(super) fn pipeline(body: PipelineBody) -> Result<Event, ParseError> {
    let Pipeline { sha, source, status, url, created_at, finished_at } = body.object_attributes;
    let name = match source {
        Some(source) => format!("pipeline ({source})"),
        None => "pipeline".to_owned(),
    };
    let conclusion = conclusion(&required_text(status, "object_attributes.status")?);
    let [created_at, finished_at] = [created_at, finished_at].map(field::optional_time);
    let run = CiRun {
        repository: required_text(body.project.path_with_namespace, "project.path_with_namespace")?,
        sha: required_text(sha, "object_attributes.sha")?,
        name,
        conclusion,
        url: field::web_url(url),
        completed_at: finished_at.filter(|_| conclusion != CiConclusion::Pending),
        updated_at: finished_at.or(created_at),
    };
    Ok(Event::CiRun(run.truncated()?))
}

/// Pipelines of a commit may have a job of one name. A repeated job stays in its pipeline.
pub(super) fn job(body: JobBody) -> Result<Event, ParseError> {
    let [created_at, started_at, finished_at] =
        [body.build_created_at, body.build_started_at, body.build_finished_at]
            .map(field::optional_time);
    // The pipeline continues after such a failure.
    let conclusion = match conclusion(&required_text(body.build_status, "build_status")?) {
        CiConclusion::Failure if body.build_allow_failure => CiConclusion::Neutral,
        conclusion => conclusion,
    };
    let path_field = body.project.and_then(|project| project.path_with_namespace);
    let path_of_url = || body.repository.homepage.as_deref().and_then(path);
    let run = CiRun {
        repository: required(path_field.or_else(path_of_url), "project.path_with_namespace")?,
        sha: required_text(body.sha, "sha")?,
        name: qualified_name(
            &required_text(body.build_name, "build_name")?,
            "pipeline",
            body.pipeline_id,
        ),
        conclusion,
        url: String::new(),
        completed_at: finished_at.filter(|_| conclusion != CiConclusion::Pending),
        updated_at: finished_at.or(started_at).or(created_at),
    };
    Ok(Event::CiRun(run.truncated()?))
}

/// Returns `group/x` of `https://git.example.org/group/x`.
fn path(homepage: &str) -> Option<String> {
    let url = Url::parse(homepage).ok()?;
    let path = url.path().trim_matches('/');
    (!path.is_empty()).then(|| path.to_owned())
}

fn conclusion(status: &str) -> CiConclusion {
    match status {
        "success" => CiConclusion::Success,
        "failed" => CiConclusion::Failure,
        "canceled" => CiConclusion::Cancelled,
        "skipped" => CiConclusion::Neutral,
        _ => CiConclusion::Pending,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(event: Result<Event, ParseError>) -> CiRun {
        match event {
            Ok(Event::CiRun(run)) => run,
            other => panic!("{other:?}"),
        }
    }

    fn pipeline_run(status: &str, finished: &str) -> CiRun {
        let body = format!(
            r#"{{"object_attributes": {{"sha": "{}", "source": "push", "status": "{status}",
            "created_at": "2026-01-02 03:04:05 UTC", "finished_at": {finished}}},
            "project": {{"path_with_namespace": "group/x"}}}}"#,
            "ab".repeat(20)
        );
        run(pipeline(serde_json::from_str(&body).expect("JSON")))
    }

    #[test]
    fn pipeline_is_named_after_its_trigger() {
        let completed_at = field::time("2026-01-02T03:09:00Z");
        let expected = CiRun {
            repository: "group/x".to_owned(),
            sha: "ab".repeat(20),
            name: "pipeline (push)".to_owned(),
            conclusion: CiConclusion::Failure,
            url: String::new(),
            completed_at,
            updated_at: completed_at,
        };
        assert_eq!(pipeline_run("failed", r#""2026-01-02 03:09:00 UTC""#), expected);
        let running = pipeline_run("running", "null");
        assert_eq!((running.conclusion, running.completed_at), (CiConclusion::Pending, None));
        assert_eq!(pipeline_run("manual", "null").conclusion, CiConclusion::Pending);
        assert_eq!(pipeline_run("canceled", "null").conclusion, CiConclusion::Cancelled);
    }

    #[test]
    fn failure_of_an_optional_job_is_neutral() {
        let of = |may_fail: bool, project: &str| {
            let body = format!(
                r#"{{"sha": "{}", "build_name": "lint", "build_status": "failed", {project}
                "build_allow_failure": {may_fail}, "build_finished_at": "2026-01-02 03:09:00 UTC",
                "repository": {{"homepage": "https://git.example.org/group/x"}}}}"#,
                "ab".repeat(20)
            );
            run(job(serde_json::from_str(&body).expect("JSON")))
        };
        assert_eq!(of(false, "").conclusion, CiConclusion::Failure);
        assert_eq!(of(true, "").conclusion, CiConclusion::Neutral);
        assert_eq!(
            (of(false, "").repository.as_str(), of(false, "").name.as_str()),
            ("group/x", "lint")
        );
        let named = r#""project": {"path_with_namespace": "group/sub/y"},"#;
        assert_eq!(of(false, named).repository, "group/sub/y");
        assert_eq!(of(false, r#""pipeline_id": 31,"#).name, "pipeline 31: lint");
        assert_eq!(of(false, r#""pipeline_id": 32,"#).name, "pipeline 32: lint");
    }
}
