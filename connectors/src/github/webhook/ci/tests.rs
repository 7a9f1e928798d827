use super::*;

const REPOSITORY: &str = r#""repository": {"full_name": "octocat/hello"}"#;

fn run(event: Result<Event, ParseError>) -> CiRun {
    match event {
        Ok(Event::CiRun(run)) => run,
        other => panic!("{other:?}"),
    }
}

fn parsed<T: serde::de::DeserializeOwned>(body: &str) -> T {
    let body = body.replace("SHA", &"AB".repeat(20));
    serde_json::from_str(&format!("{{{body}, {REPOSITORY}}}")).expect("JSON")
}

#[test]
fn check_run_has_its_name() {
    let completed = run(check_run(parsed(
        r#""check_run": {"id": 4, "name": "build", "head_sha": "SHA", "status": "completed",
        "conclusion": "timed_out", "html_url": "https://git.example.org/runs/4",
        "started_at": "2026-01-02T03:04:05Z", "completed_at": "2026-01-02T03:06:00Z"}"#,
    )));
    let ended = field::time("2026-01-02T03:06:00Z");
    let expected = CiRun {
        repository: "octocat/hello".to_owned(),
        sha: "ab".repeat(20),
        name: "build".to_owned(),
        conclusion: CiConclusion::Failure,
        url: "https://git.example.org/runs/4".to_owned(),
        completed_at: ended,
        updated_at: ended,
    };
    assert_eq!(completed, expected);
    let started = run(check_run(parsed(
        r#""check_run": {"name": "build", "head_sha": "SHA", "status": "in_progress",
        "conclusion": null, "started_at": "2026-01-02T03:04:05Z"}"#,
    )));
    assert_eq!((started.conclusion, started.completed_at), (CiConclusion::Pending, None));
    assert_eq!(started.updated_at, field::time("2026-01-02T03:04:05Z"));
}

#[test]
fn runs_of_one_commit_have_different_names() {
    let suite = run(check_suite(parsed(
        r#""check_suite": {"id": 9, "head_sha": "SHA", "status": "completed",
        "conclusion": "success", "app": {"name": "Runner"}}"#,
    )));
    assert_eq!(suite.name, "Runner, suite 9");
    let check = |suite: u64| {
        let body = format!(
            r#""check_run": {{"name": "build", "head_sha": "SHA", "status": "completed",
            "conclusion": "success", "check_suite": {{"id": {suite}}}}}"#
        );
        run(check_run(parsed(&body))).name
    };
    assert_eq!((check(9), check(10)), ("suite 9: build".to_owned(), "suite 10: build".to_owned()));
    let by = |event: &str| {
        let body = format!(
            r#""workflow_run": {{"id": 1, "name": "CI", "event": "{event}", "head_sha": "SHA",
            "status": "completed", "conclusion": "success"}}"#
        );
        run(workflow_run(parsed(&body))).name
    };
    assert_eq!(
        (by("push"), by("pull_request")),
        ("CI (push)".to_owned(), "CI (pull_request)".to_owned())
    );
}

#[test]
fn nameless_runs_of_one_commit_have_different_names() {
    let check = |id: u64| {
        let body = format!(
            r#""check_run": {{"id": {id}, "name": "", "head_sha": "SHA",
            "status": "completed", "conclusion": "success", "check_suite": {{"id": 9}}}}"#
        );
        run(check_run(parsed(&body))).name
    };
    assert_eq!((check(4), check(5)), ("suite 9: run 4".to_owned(), "suite 9: run 5".to_owned()));
    let workflow = |id: u64| {
        let body = format!(
            r#""workflow_run": {{"id": 1, "workflow_id": {id}, "event": "push",
            "head_sha": "SHA", "status": "completed", "conclusion": "success"}}"#
        );
        run(workflow_run(parsed(&body))).name
    };
    assert_eq!(
        (workflow(7), workflow(8)),
        ("workflow 7 (push)".to_owned(), "workflow 8 (push)".to_owned())
    );
}

#[test]
fn status_has_its_context_as_name() {
    let of = |state: &str| {
        let body = format!(
            r#""sha": "SHA", "context": "ci/deploy", "state": "{state}",
            "updated_at": "2026-01-02T03:04:05+00:00""#
        );
        run(status(parsed(&body)))
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
fn github_conclusions_map_to_ours() {
    let of = |word| conclusion(Some("completed"), Some(word));
    for word in ["failure", "timed_out", "startup_failure"] {
        assert_eq!(of(word), CiConclusion::Failure, "{word}");
    }
    assert_eq!((of("stale"), of("skipped")), (CiConclusion::Cancelled, CiConclusion::Neutral));
    assert_eq!(of("action_required"), CiConclusion::Pending);
    assert_eq!(conclusion(Some("queued"), Some("success")), CiConclusion::Pending);
}

#[test]
fn run_without_a_commit_is_rejected() {
    let body: CheckRunBody = parsed(r#""check_run": {"name": "build", "head_sha": "main"}"#);
    assert!(matches!(check_run(body), Err(ParseError::InvalidValue(_))));
    let body: CheckRunBody = parsed(r#""check_run": {"name": "build"}"#);
    assert_eq!(check_run(body), Err(ParseError::MissingField("check_run.head_sha")));
}
