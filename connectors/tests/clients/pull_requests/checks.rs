use mc_connectors::client::Error;
use mc_connectors::traits::{CommitCheck, NewStatus, RequiredCheck, RequiredChecks, StatusState};
use mc_domain::{CiConclusion, UntrustedText};

use super::{READER, host, start, status};
use crate::support::TOKEN;

fn check(context: &str, app_id: Option<u64>, conclusion: CiConclusion) -> CommitCheck {
    CommitCheck { context: UntrustedText::new(context), app_id, conclusion, url: String::new() }
}

fn required(context: &str, app_id: Option<u64>) -> RequiredCheck {
    RequiredCheck { context: UntrustedText::new(context), app_id }
}

#[tokio::test]
async fn later_status_of_a_context_replaces_the_earlier() {
    let github = start().await;
    let (host, sha) = (host(&github, TOKEN), github.head("main").expect("a commit"));
    let states = [
        ("build", StatusState::Pending),
        ("lint", StatusState::Error),
        ("build", StatusState::Success),
    ];
    for (context, state) in states {
        host.set_status(&sha, &status(context, state)).await.expect("set");
    }
    let expected =
        [check("lint", None, CiConclusion::Failure), check("build", None, CiConclusion::Success)];
    assert_eq!(host.list_checks(&sha).await.expect("checks"), expected);
    github.commit("main", "a.md", "More.\n");
    let head = github.head("main").expect("a commit");
    assert_eq!(host.list_checks(&head).await, Ok(Vec::new()), "of another commit");
}

#[tokio::test]
async fn description_of_a_status_is_one_line_of_140_characters() {
    let github = start().await;
    let (host, sha) = (host(&github, TOKEN), github.head("main").expect("a commit"));
    let long = NewStatus {
        description: format!("Two\nlines {}", "ü".repeat(200)),
        target_url: Some("https://ci.example.org/1".to_owned()),
        ..status("build", StatusState::Failure)
    };
    host.set_status(&sha, &long).await.expect("set");
    let sent = github.writes().pop().expect("the status").body;
    let description = sent["description"].as_str().expect("a text");
    assert_eq!(description.chars().count(), 140);
    assert!(description.starts_with("Two lines ü"), "{description}");
    let checks = host.list_checks(&sha).await.expect("checks");
    assert_eq!(checks[0].url, "https://ci.example.org/1");
}

#[tokio::test]
async fn latest_run_of_a_check_counts_for_each_app() {
    let github = start().await;
    let sha = github.head("main").expect("a commit");
    github.add_check_run(&sha, "build", 1, Some("failure"));
    github.add_check_run(&sha, "build", 2, Some("success"));
    github.add_check_run(&sha, "build", 1, None);
    github.add_check_run(&sha, "lint", 1, Some("action_required"));
    github.add_check_run(&sha, "docs", 1, Some("skipped"));
    let expected = [
        check("build", Some(1), CiConclusion::Pending),
        check("build", Some(2), CiConclusion::Success),
        check("lint", Some(1), CiConclusion::Pending),
        check("docs", Some(1), CiConclusion::Neutral),
    ];
    assert_eq!(host(&github, TOKEN).list_checks(&sha).await.expect("checks"), expected);
}

#[tokio::test]
async fn all_pages_of_checks_are_read() {
    let github = start().await;
    let sha = github.head("main").expect("a commit");
    for number in 0..250 {
        github.add_check_run(&sha, &format!("build {number}"), 1, Some("success"));
    }
    let checks = host(&github, TOKEN).list_checks(&sha).await.expect("checks");
    assert_eq!(checks.len(), 250);
    assert!(required("build 0", None).is_passed(&checks), "it is on the last page");
}

#[tokio::test]
async fn required_checks_are_those_of_rulesets_and_protection() {
    let github = start().await;
    github.add_rule("main", "build", Some(7));
    github.add_rule("main", "lint", None);
    github.protect("main", "lint");
    github.protect("main", "docs");
    github.protect("release", "slow");
    let checks = host(&github, READER).list_required_checks("main").await.expect("checks");
    let expected = vec![required("build", Some(7)), required("lint", None), required("docs", None)];
    assert_eq!(checks, RequiredChecks { checks: expected, is_complete: true });
}

#[tokio::test]
async fn unprotected_branch_requires_nothing_and_a_missing_one_is_an_error() {
    let github = start().await;
    let host = host(&github, TOKEN);
    let none = RequiredChecks { checks: Vec::new(), is_complete: true };
    assert_eq!(host.list_required_checks("main").await, Ok(none));
    let missing = host.list_required_checks("missing").await;
    assert!(matches!(missing, Err(Error::NotFound { .. })), "{missing:?}");
}

#[tokio::test]
async fn reader_sets_no_status() {
    let github = start().await;
    let sha = github.head("main").expect("a commit");
    let set = host(&github, READER).set_status(&sha, &status("build", StatusState::Success)).await;
    assert!(matches!(set, Err(Error::Denied { status: 403, .. })), "{set:?}");
    assert_eq!(host(&github, TOKEN).list_checks(&sha).await, Ok(Vec::new()));
}

#[test]
fn required_check_is_passed_by_the_worst_result_of_its_name() {
    use CiConclusion::{Cancelled, Failure, Neutral, Pending, Success};

    let conclusion_of = |app: Option<u64>, checks: &[(Option<u64>, CiConclusion)]| {
        let checks: Vec<CommitCheck> =
            checks.iter().map(|(app, conclusion)| check("build", *app, *conclusion)).collect();
        let required = required("build", app);
        let conclusion = required.conclusion(&checks);
        let is_passed = matches!(conclusion, Some(Success | Neutral));
        assert_eq!(required.is_passed(&checks), is_passed);
        conclusion
    };
    assert_eq!(conclusion_of(None, &[]), None);
    assert_eq!(conclusion_of(None, &[(None, Success)]), Some(Success));
    assert_eq!(conclusion_of(None, &[(Some(1), Neutral)]), Some(Neutral));
    assert_eq!(conclusion_of(None, &[(None, Success), (Some(1), Failure)]), Some(Failure));
    assert_eq!(conclusion_of(None, &[(Some(1), Pending), (Some(2), Success)]), Some(Pending));
    assert_eq!(conclusion_of(None, &[(Some(1), Cancelled), (None, Pending)]), Some(Cancelled));
    assert_eq!(conclusion_of(Some(1), &[(Some(1), Success), (Some(2), Failure)]), Some(Success));
    assert_eq!(conclusion_of(Some(1), &[(Some(2), Success), (None, Success)]), None);
    assert!(!required("build ", None).is_passed(&[check("build", None, Success)]));
}
