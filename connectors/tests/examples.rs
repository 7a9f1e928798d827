//! All example bodies of GitHub's own library are parsed: of GitHub in the cloud and of each
//! version of its server. `scripts/setup webhook-examples` downloads them.

#[path = "../../tests/cache.rs"]
mod cache;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use cache::cache;
use http::{HeaderMap, HeaderValue};
use mc_connectors::{Event, parse};
use mc_domain::{Provider, PullRequestState};
use serde::Deserialize;
use serde_json::Value;

/// The examples of one event.
#[derive(Deserialize)]
struct Examples {
    name: String,
    examples: Vec<Value>,
}

#[test]
fn github_cloud_examples_are_parsed() {
    insta::assert_snapshot!(outcomes(&["api.github.com"]));
}

#[test]
fn github_server_examples_are_parsed() {
    insta::assert_snapshot!(outcomes(&["ghes-31", "ghes-32", "ghes-33", "ghes-34", "ghes-35"]));
}

/// Every example of a pull request and of an issue has the times of its opening and its end.
#[test]
fn github_examples_have_times() {
    let (mut issues, mut pull_requests) = (0, 0);
    for Examples { name, examples } in examples("api.github.com") {
        for body in examples {
            let mut headers = HeaderMap::new();
            headers.insert("x-github-event", HeaderValue::from_str(&name).expect("a header"));
            let parsed = parse(Provider::Github, &headers, body.to_string().as_bytes());
            match parsed.expect("readable").event {
                Event::Issue(issue) => {
                    let is_closed = issue.status.as_deref() == Some("closed");
                    assert!(issue.opened_at.is_some(), "{body:#}");
                    assert_eq!(issue.closed_at.is_some(), is_closed, "{body:#}");
                    issues += 1;
                }
                Event::PullRequest(pull_request) => {
                    let state = pull_request.state;
                    assert!(pull_request.opened_at.is_some(), "{body:#}");
                    let has_ended = state != PullRequestState::Open;
                    assert_eq!(pull_request.closed_at.is_some(), has_ended, "{body:#}");
                    let is_merged = state == PullRequestState::Merged;
                    assert_eq!(pull_request.merged_at.is_some(), is_merged, "{body:#}");
                    pull_requests += 1;
                }
                _ => {}
            }
        }
    }
    assert!(issues > 10 && pull_requests > 10, "{issues} issues, {pull_requests} pull requests");
}

/// Returns a line for each event type and outcome, with the number of bodies.
fn outcomes(editions: &[&str]) -> String {
    let mut counted: BTreeMap<(String, String), usize> = BTreeMap::new();
    for Examples { name, examples } in editions.iter().flat_map(|edition| examples(edition)) {
        for body in examples {
            *counted.entry((name.clone(), outcome(&name, &body))).or_default() += 1;
        }
    }
    let mut lines = String::new();
    for ((name, outcome), n) in counted {
        writeln!(lines, "{name}: {n} {outcome}").expect("text");
    }
    lines
}

/// Describes the event of a body.
fn outcome(name: &str, body: &Value) -> String {
    let mut headers = HeaderMap::new();
    headers.insert("x-github-event", HeaderValue::from_str(name).expect("a header's value"));
    let delivery = parse(Provider::Github, &headers, body.to_string().as_bytes());
    let delivery = delivery.unwrap_or_else(|error| panic!("{name}: {error}\n{body:#}"));
    assert_ne!(delivery.name, "unreadable", "{name}: {:?}\n{body:#}", delivery.event);
    match delivery.event {
        Event::PullRequest(pull_request) => format!("{} pull request", pull_request.state),
        Event::CiRun(run) => format!("CI run ({})", run.conclusion),
        Event::Ignored { reason } => format!("ignored: {reason}"),
        Event::Issue(issue) if issue.comment.is_some() => "issue with a comment".to_owned(),
        Event::Release(release) if release.is_deleted => "withdrawn release".to_owned(),
        other => other.encode()["kind"].to_string(),
    }
}

fn examples(edition: &str) -> Vec<Examples> {
    let packages = cache().join("webhook-examples/node_modules");
    let file = packages.join("@octokit/webhooks-examples").join(edition).join("index.json");
    let read = std::fs::read(&file).unwrap_or_else(|error| {
        panic!("{}: {error}; run `scripts/setup webhook-examples`", file.display())
    });
    serde_json::from_slice(&read).expect("the package's examples")
}
