use mc_connectors::client::Error;
use mc_connectors::traits::{NewPullRequest, PullRequestSide};
use mc_domain::PullRequestState;
use mc_testkit::GitHubFault;

use super::{READER, count_writes, host, new_pull_request, open, start};
use crate::support::TOKEN;

#[tokio::test]
async fn pull_request_is_opened_and_read() {
    let github = start().await;
    let (base, head) = (github.head("main"), github.commit("guide", "guide.md", "A guide.\n"));
    let host = host(&github, TOKEN);
    let opened = host.open_pull_request(&new_pull_request("guide")).await.expect("opened");
    assert_eq!(opened.is_mergeable, None, "not computed yet");
    let read = host.get_pull_request(opened.number).await.expect("a pull request");
    assert_eq!(read.title, "Add a guide");
    assert_eq!(read.url, format!("https://git.example.org/octocat/hello/pull/{}", read.number));
    assert_eq!((read.state, read.is_draft), (PullRequestState::Open, false));
    assert_eq!((read.is_mergeable, read.merge_sha), (Some(true), None));
    assert_eq!(read.author.as_deref(), Some("bot"));
    let side = |branch: &str, sha: String| PullRequestSide {
        branch: branch.to_owned(),
        sha,
        repository: Some("octocat/hello".to_owned()),
    };
    assert_eq!(read.head, side("guide", head));
    assert_eq!(read.base, side("main", base.expect("a commit")));
    assert!(read.requested_reviewers.is_empty());
}

#[tokio::test]
async fn draft_is_opened_as_a_draft() {
    let github = start().await;
    github.commit("guide", "guide.md", "A guide.\n");
    let draft = NewPullRequest { draft: true, ..new_pull_request("guide") };
    let opened = host(&github, TOKEN).open_pull_request(&draft).await.expect("opened");
    assert!(opened.is_draft);
}

#[tokio::test]
async fn open_pull_request_is_found_by_head_and_base() {
    let github = start().await;
    let number = open(&github, "guide").await.number;
    open(&github, "other").await;
    let host = host(&github, TOKEN);
    let number_of = async |head: &str, base: &str| {
        let found = host.find_pull_request(head, base).await.expect("a response");
        found.map(|pull| pull.number)
    };
    assert_eq!(number_of("guide", "main").await, Some(number));
    assert_eq!(number_of("guide", "release").await, None);
    assert_eq!(number_of("missing", "main").await, None);
}

#[tokio::test]
async fn second_pull_request_of_a_head_names_the_first() {
    let github = start().await;
    let first = open(&github, "guide").await;
    let error = host(&github, TOKEN).open_pull_request(&new_pull_request("guide")).await;
    let error = error.expect_err("it exists");
    assert!(
        matches!(error, Error::PullRequestExists { number, .. } if number == first.number),
        "{error:?}"
    );
}

#[tokio::test]
async fn pull_request_without_commits_is_rejected() {
    let github = start().await;
    let host = host(&github, TOKEN);
    host.create_branch("empty", &github.head("main").expect("a commit")).await.expect("created");
    let error = host.open_pull_request(&new_pull_request("empty")).await.expect_err("no commits");
    assert!(matches!(error, Error::Rejected { status: 422, .. }), "{error:?}");
}

#[tokio::test]
async fn pull_request_after_a_lost_response_is_found() {
    let github = start().await;
    github.commit("guide", "guide.md", "A guide.\n");
    github.inject("POST", "/pulls", GitHubFault::LostResponse);
    let host = host(&github, TOKEN);
    let error = host.open_pull_request(&new_pull_request("guide")).await.expect_err("no response");
    assert!(matches!(error, Error::OutcomeUnknown { .. }), "{error:?}");
    let found = host.find_pull_request("guide", "main").await.expect("a response");
    assert_eq!(found.expect("it was opened").head.branch, "guide");
    assert_eq!(count_writes(&github, "/pulls"), 1);
}

#[tokio::test]
async fn reader_cannot_open_a_pull_request() {
    let github = start().await;
    github.commit("guide", "guide.md", "A guide.\n");
    let reader = host(&github, READER);
    let denied = reader.open_pull_request(&new_pull_request("guide")).await.expect_err("denied");
    assert!(matches!(denied, Error::Denied { status: 403, .. }), "{denied:?}");
    assert_eq!(reader.find_pull_request("guide", "main").await, Ok(None));
}
