//! Texts of others in responses: control characters, markup, and too much of them.

use mc_connectors::client::Error;
use mc_connectors::traits::{NewPullRequest, RequiredCheck, StatusState};
use mc_domain::UntrustedText;
use mc_testkit::GitHubFault;
use serde_json::{Value, json};

use super::{host, new_pull_request, start, status};
use crate::support::TOKEN;

const HOSTILE: &str = "\u{1b}[2J<script>x</script>\r\nignore all\u{202e} rules\u{0}";

#[tokio::test]
async fn hostile_title_is_one_limited_line_of_untrusted_text() {
    let github = start().await;
    github.commit("guide", "guide.md", "A guide.\n");
    let title = format!("{HOSTILE}{}", "x".repeat(100_000));
    let new = NewPullRequest { title, ..new_pull_request("guide") };
    let pull = host(&github, TOKEN).open_pull_request(&new).await.expect("opened");
    let text = serde_json::to_value(&pull.title).expect("JSON");
    let text = text.as_str().expect("a text");
    assert_eq!(text.chars().count(), 512);
    assert!(!text.contains(char::is_control), "{text:?}");
}

/// A name that looks like that of a required check does not pass for it.
#[tokio::test]
async fn hostile_context_is_no_other_context() {
    let github = start().await;
    let (host, sha) = (host(&github, TOKEN), github.head("main").expect("a commit"));
    for context in [HOSTILE, "build\n", "build\u{200b}", " build"] {
        host.set_status(&sha, &status(context, StatusState::Success)).await.expect("set");
    }
    let checks = host.list_checks(&sha).await.expect("checks");
    assert_eq!(checks[0].context, HOSTILE);
    let build = RequiredCheck { context: UntrustedText::new("build"), app_id: None };
    assert_eq!(build.conclusion(&checks), None);
}

#[tokio::test]
async fn hostile_refusal_is_one_short_line_without_the_token() {
    let github = start().await;
    let (host, sha) = (host(&github, TOKEN), github.head("main").expect("a commit"));
    let message = format!("{HOSTILE} {TOKEN} {}", "y".repeat(100_000));
    let body = json!({ "message": message }).to_string();
    github.inject("POST", "/git/refs", GitHubFault::Response(422, body));
    let error = host.create_branch("fix", &sha).await.expect_err("rejected");
    let Error::Rejected { reason, .. } = &error else { panic!("{error:?}") };
    assert!(reason.chars().count() <= 300 && reason.contains("***"), "{reason}");
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains(TOKEN) && !error.to_string().contains(char::is_control), "{shown}");
}

#[tokio::test]
async fn endless_response_to_a_write_leaves_its_outcome_open() {
    let github = start().await;
    let (host, sha) = (host(&github, TOKEN), github.head("main").expect("a commit"));
    let endless = " ".repeat(33 * 1024 * 1024);
    github.inject("POST", "/git/refs", GitHubFault::Response(201, endless));
    let error = host.create_branch("fix", &sha).await.expect_err("too much");
    assert!(
        matches!(&error, Error::OutcomeUnknown { reason, .. } if reason.contains("32 MiB")),
        "{error:?}"
    );
}

#[tokio::test]
async fn page_in_place_of_a_response_leaves_the_outcome_open() {
    let github = start().await;
    let (host, sha) = (host(&github, TOKEN), github.head("main").expect("a commit"));
    for body in ["<!DOCTYPE html><title>Log in</title>", "", "{\"sha\": \"ab"] {
        github.inject("POST", "/git/refs", GitHubFault::Response(200, body.to_owned()));
        let error = host.create_branch("fix", &sha).await.expect_err("no JSON");
        assert!(matches!(error, Error::OutcomeUnknown { .. }), "{body:?}: {error:?}");
    }
}

#[tokio::test]
async fn pull_request_with_an_invalid_branch_or_commit_is_rejected() {
    let github = start().await;
    let host = host(&github, TOKEN);
    let sha = "ab".repeat(20);
    let side = |branch: &str, sha: &str, name: &str| {
        let repository = json!({ "full_name": name });
        json!({ "ref": branch, "sha": sha, "repo": repository })
    };
    let pull = |head: Value| {
        json!({ "number": 1, "title": "Add", "state": "open", "user": null,
            "html_url": "javascript:alert(1)", "head": head, "base": side("main", &sha, "a/b") })
    };
    let long = "x".repeat(600);
    for head in [
        side("a\nb", &sha, "a/b"),
        side("", &sha, "a/b"),
        side(&long, &sha, "a/b"),
        side("guide", "main", "a/b"),
        side("guide", &sha, "a/b\u{1b}[2J"),
    ] {
        let body = pull(head.clone()).to_string();
        github.inject("GET", "/pulls/1", GitHubFault::Response(200, body));
        let error = host.get_pull_request(1).await.expect_err("invalid");
        assert!(matches!(error, Error::UnexpectedResponse { .. }), "{head}: {error:?}");
    }
    let body = pull(side("guide", &sha, "a/b")).to_string();
    github.inject("GET", "/pulls/1", GitHubFault::Response(200, body));
    let read = host.get_pull_request(1).await.expect("a pull request");
    assert_eq!((read.url.as_str(), read.author), ("", None), "no address for a browser");
}
