use mc_connectors::client::Error;
use mc_connectors::traits::{Approval, MergeMethod};
use mc_domain::{Classified as _, ErrorKind, PullRequestState};
use mc_testkit::GitHubFault;
use serde_json::json;

use super::{READER, REVIEWER, count_writes, host, merge_of, open, start};
use crate::support::TOKEN;

#[tokio::test]
async fn reviews_are_requested() {
    let github = start().await;
    let number = open(&github, "guide").await.number;
    let host = host(&github, TOKEN);
    let logins = ["vera".to_owned(), "eve".to_owned()];
    host.request_reviewers(number, &logins).await.expect("requested");
    let pull = host.get_pull_request(number).await.expect("a pull request");
    assert_eq!(pull.requested_reviewers, logins);
    host.request_reviewers(number, &[]).await.expect("nothing to do");
    assert_eq!(count_writes(&github, "/requested_reviewers"), 1);
}

#[tokio::test]
async fn review_of_the_author_or_a_stranger_is_not_requested() {
    let github = start().await;
    let number = open(&github, "guide").await.number;
    let host = host(&github, TOKEN);
    for login in ["bot", "stranger"] {
        let rejected = host.request_reviewers(number, &[login.to_owned()]).await;
        assert!(matches!(rejected, Err(Error::Rejected { status: 422, .. })), "{rejected:?}");
    }
}

#[tokio::test]
async fn approval_is_of_one_commit_and_sent_once() {
    let github = start().await;
    let pull = open(&github, "guide").await;
    let reviewer = host(&github, REVIEWER);
    let approve = async |sha: &str| reviewer.approve_pull_request(pull.number, sha, "Good.").await;
    let first = approve(&pull.head.sha).await.expect("approved");
    assert!(first.is_new);
    let second = approve(&pull.head.sha).await.expect("approved before");
    assert_eq!(second, Approval { is_new: false, ..first });
    assert_eq!(count_writes(&github, "/reviews"), 1);

    let head = github.commit("guide", "guide.md", "Another guide.\n");
    let error = approve(&pull.head.sha).await.expect_err("another head");
    assert!(matches!(&error, Error::HeadChanged { head: now, .. } if *now == head), "{error:?}");
    assert_eq!(error.kind(), ErrorKind::Conflict);
    let third = approve(&head).await.expect("approved");
    assert!(third.is_new && third.review_id != first.review_id);
    let sent = &github.writes().pop().expect("the review").body;
    assert_eq!(*sent, json!({ "commit_id": head, "event": "APPROVE", "body": "Good." }));
}

/// The client does not send it, and the server would refuse it.
#[tokio::test]
async fn own_pull_request_is_not_approved() {
    let github = start().await;
    let pull = open(&github, "guide").await;
    let own = host(&github, TOKEN).approve_pull_request(pull.number, &pull.head.sha, "Good.").await;
    let own = own.expect_err("own");
    assert!(matches!(own, Error::OwnPullRequest { .. }), "{own:?}");
    assert_eq!(own.kind(), ErrorKind::Forbidden);
    assert_eq!(count_writes(&github, "/reviews"), 0);

    let url = format!("{}/api/v3/repos/octocat/hello/pulls/{}/reviews", github.url(), pull.number);
    let body = json!({ "event": "APPROVE", "commit_id": pull.head.sha });
    let sent = reqwest::Client::new().post(url).bearer_auth(TOKEN).json(&body).send().await;
    assert_eq!(sent.expect("a response").status(), 422);
}

#[tokio::test]
async fn approval_after_a_lost_response_is_found_by_a_second_call() {
    let github = start().await;
    let pull = open(&github, "guide").await;
    github.inject("POST", "/reviews", GitHubFault::LostResponse);
    let reviewer = host(&github, REVIEWER);
    let approve = async || reviewer.approve_pull_request(pull.number, &pull.head.sha, "").await;
    let error = approve().await.expect_err("no response");
    assert!(matches!(error, Error::OutcomeUnknown { .. }), "{error:?}");
    assert!(!approve().await.expect("approved before").is_new);
    assert_eq!(count_writes(&github, "/reviews"), 1);
}

#[tokio::test]
async fn merged_pull_request_takes_no_new_approval() {
    let github = start().await;
    let pull = open(&github, "guide").await;
    let merge = merge_of(&pull, MergeMethod::Squash);
    host(&github, TOKEN).merge_pull_request(pull.number, &merge).await.expect("merged");
    let late = host(&github, REVIEWER).approve_pull_request(pull.number, &pull.head.sha, "").await;
    let state = PullRequestState::Merged;
    assert!(
        matches!(&late, Err(Error::PullRequestClosed { state: now, .. }) if *now == state),
        "{late:?}"
    );
    assert_eq!(count_writes(&github, "/reviews"), 0);
}

/// GitHub lets everyone approve who may read. Such an approval does not count for a protection.
#[tokio::test]
async fn reader_may_approve() {
    let github = start().await;
    let pull = open(&github, "guide").await;
    let reader = host(&github, READER);
    let approval = reader.approve_pull_request(pull.number, &pull.head.sha, "").await;
    assert!(approval.expect("approved").is_new);
}
