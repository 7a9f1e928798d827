use mc_connectors::client::{Connector, Error, Provider};
use mc_connectors::traits::{MergeMethod, StatusState};
use mc_domain::{Classified as _, ErrorKind};
use mc_testkit::GitHubFault;

use super::{REVIEWER, count_writes, host, merge_of, new_pull_request, open, start, status};
use crate::support::{TOKEN, config};

/// Each write, after a failure of the server that leaves its outcome open.
#[tokio::test]
async fn failing_server_leaves_the_outcome_of_a_write_open_and_gets_it_once() {
    let github = start().await;
    let pull = open(&github, "guide").await;
    github.commit("second", "second.md", "A second.\n");
    let (bot, vera) = (host(&github, TOKEN), host(&github, REVIEWER));
    let (number, sha) = (pull.number, pull.head.sha.as_str());
    let before = github.writes().len();
    let fail = |method: &str, end: &str| {
        github.inject(method, end, GitHubFault::Response(502, "{}".to_owned()));
    };
    fail("POST", "/git/refs");
    let branch = bot.create_branch("fix", sha).await.err();
    fail("POST", "/pulls");
    let opened = bot.open_pull_request(&new_pull_request("second")).await.err();
    fail("POST", "/requested_reviewers");
    let requested = bot.request_reviewers(number, &["vera".to_owned()]).await.err();
    fail("POST", "/reviews");
    let approved = vera.approve_pull_request(number, sha, "").await.err();
    fail("PUT", "/merge");
    let merged = bot.merge_pull_request(number, &merge_of(&pull, MergeMethod::Merge)).await.err();
    fail("POST", &format!("/statuses/{sha}"));
    let set = bot.set_status(sha, &status("build", StatusState::Success)).await.err();

    for error in [branch, opened, requested, approved, merged, set] {
        let Some(Error::OutcomeUnknown { reason, .. }) = &error else { panic!("{error:?}") };
        assert_eq!(reason, "it responded with status 502");
        assert_eq!(error.map(|error| error.kind()), Some(ErrorKind::Conflict));
    }
    assert_eq!(github.writes().len() - before, 6, "each is sent once");
    assert_eq!(github.head("fix"), None);
}

#[tokio::test]
async fn failing_read_is_retried() {
    let github = start().await;
    github.inject("GET", "/git/ref/heads/main", GitHubFault::Response(502, "{}".to_owned()));
    let found = host(&github, TOKEN).find_branch("main").await;
    assert_eq!(found, Ok(github.head("main")));
    assert_eq!(github.requests().len(), 2);
}

/// Nothing was sent, so the same request may be sent later.
#[tokio::test]
async fn write_without_a_connection_was_not_carried_out() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    drop(listener);
    let connector = Connector::new(config(Provider::Github, &url)).expect("a valid config");
    let host = connector.pull_request_host("octocat/hello").expect("a host");
    let error = host.create_branch("fix", &"ab".repeat(20)).await.expect_err("no server");
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
    assert!(error.kind().is_transient());
}

#[tokio::test]
async fn secondary_rate_limit_stops_writes_until_its_end() {
    let github = start().await;
    let (host, sha) = (host(&github, TOKEN), github.head("main").expect("a commit"));
    github.inject("POST", "/git/refs", GitHubFault::SecondaryRateLimit(Some(0)));
    let limited = host.create_branch("fix", &sha).await;
    assert!(matches!(limited, Err(Error::RateLimited { .. })), "{limited:?}");
    assert_eq!(github.head("fix"), None);
    host.create_branch("fix", &sha).await.expect("the limit has ended");

    github.inject("POST", "/git/refs", GitHubFault::SecondaryRateLimit(None));
    let sent = count_writes(&github, "/git/refs");
    for _ in 0..3 {
        let limited = host.create_branch("fix2", &sha).await;
        assert!(matches!(limited, Err(Error::RateLimited { .. })), "{limited:?}");
    }
    assert_eq!(count_writes(&github, "/git/refs"), sent + 1);
}
