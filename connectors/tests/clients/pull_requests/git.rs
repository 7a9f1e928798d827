//! The stand-in itself: git over HTTP with the credentials of the API.

use mc_testkit::GitHub;
use tokio::process::Command;

use super::{READER, host, new_pull_request, start};
use crate::support::TOKEN;

/// Runs git with a token as password, and returns whether it succeeded.
async fn git(github: &GitHub, token: &str, arguments: &[&str]) -> bool {
    let address = github.git_url().replace("http://", &format!("http://x-access-token:{token}@"));
    let mut command = Command::new("git");
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_TERMINAL_PROMPT", "0");
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "Vera");
        command.env(format!("GIT_{role}_EMAIL"), "vera@example.org");
    }
    command.args(arguments.iter().map(|argument| argument.replace("URL", &address)));
    command.output().await.expect("git runs").status.success()
}

#[tokio::test]
async fn branch_is_pushed_by_git_with_a_token_that_may_push() {
    let github = start().await;
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().to_str().expect("a path");
    assert!(git(&github, READER, &["clone", "--quiet", "URL", path]).await);
    let commit = ["-C", path, "commit", "--quiet", "--allow-empty", "--message=Start"];
    assert!(git(&github, READER, &commit).await);
    let push = ["-C", path, "push", "--quiet", "URL", "HEAD:refs/heads/guide"];
    assert!(!git(&github, "wr0ng", &push).await, "an unknown token");
    assert!(!git(&github, READER, &push).await, "a token that may only read");
    assert_eq!(github.head("guide"), None);
    assert!(git(&github, TOKEN, &push).await);
    let head = github.head("guide").expect("it was pushed");
    let host = host(&github, TOKEN);
    assert_eq!(host.find_branch("guide").await, Ok(Some(head.clone())));
    let pull = host.open_pull_request(&new_pull_request("guide")).await.expect("opened");
    assert_eq!(pull.head.sha, head);
}

#[tokio::test]
async fn unknown_token_is_refused_by_the_api() {
    let github = start().await;
    let denied = host(&github, "wr0ng").access().await.expect_err("denied");
    let is_denied = matches!(denied, mc_connectors::client::Error::Denied { status: 401, .. });
    assert!(is_denied, "{denied:?}");
}
