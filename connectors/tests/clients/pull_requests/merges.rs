use mc_connectors::client::Error;
use mc_connectors::traits::{Merge, MergeMethod, NewPullRequest, StatusState};
use mc_domain::{Classified as _, ErrorKind, PullRequestState};
use mc_testkit::{GitHub, GitHubFault};

use super::{READER, count_writes, host, merge_of, new_pull_request, open, start, status};
use crate::support::TOKEN;

/// Merges a pull request of two commits into a base that has changed. Returns the merge, and the
/// commit of the base before.
async fn merge_by(github: &GitHub, method: MergeMethod) -> (String, String) {
    github.commit("guide", "guide.md", "A guide.\n");
    github.commit("guide", "second.md", "A second.\n");
    let base = github.commit("main", "other.md", "Other.\n");
    let host = host(github, TOKEN);
    let pull = host.open_pull_request(&new_pull_request("guide")).await.expect("opened");
    let merge = merge_of(&pull, method);
    let Merge { sha, is_new } = host.merge_pull_request(pull.number, &merge).await.expect("merged");
    assert!(is_new);
    assert_eq!(sha, github.head("main"));
    let pull = host.get_pull_request(pull.number).await.expect("a pull request");
    assert_eq!((pull.state, &pull.merge_sha), (PullRequestState::Merged, &sha));
    (sha.expect("a commit"), base)
}

#[tokio::test]
async fn squash_makes_one_commit() {
    let github = start().await;
    let (sha, base) = merge_by(&github, MergeMethod::Squash).await;
    assert_eq!(github.git(&["log", "-1", "--format=%P", &sha]), base);
    let message = github.git(&["log", "-1", "--format=%B", &sha]);
    assert_eq!(message.trim(), "Add a guide (#1)\n\nIt explains the start.");
    let files = github.git(&["ls-tree", "--name-only", &sha]);
    assert_eq!(files, "README.md\nguide.md\nother.md\nsecond.md");
}

#[tokio::test]
async fn rebase_copies_each_commit_with_its_message() {
    let github = start().await;
    let (sha, base) = merge_by(&github, MergeMethod::Rebase).await;
    let subjects = github.git(&["log", "--format=%s", &format!("{base}..{sha}")]);
    assert_eq!(subjects, "Change second.md\nChange guide.md");
    let sent = github.writes().pop().expect("the merge").body;
    assert_eq!(sent.get("commit_title"), None);
}

#[tokio::test]
async fn merge_has_both_parents() {
    let github = start().await;
    let (sha, base) = merge_by(&github, MergeMethod::Merge).await;
    let head = github.head("guide").expect("a commit");
    assert_eq!(github.git(&["log", "-1", "--format=%P", &sha]), format!("{base} {head}"));
}

#[tokio::test]
async fn second_merge_is_recognized_and_not_sent() {
    let github = start().await;
    let pull = open(&github, "guide").await;
    let (host, merge) = (host(&github, TOKEN), merge_of(&pull, MergeMethod::Squash));
    let first = host.merge_pull_request(pull.number, &merge).await.expect("merged");
    github.commit("guide", "later.md", "Later.\n");
    let second = host.merge_pull_request(pull.number, &merge).await.expect("merged before");
    assert_eq!(second, Merge { is_new: false, ..first });
    assert_eq!(count_writes(&github, "/merge"), 1);
}

#[tokio::test]
async fn merge_after_a_lost_response_is_found_by_a_second_call() {
    let github = start().await;
    let pull = open(&github, "guide").await;
    github.inject("PUT", "/merge", GitHubFault::LostResponse);
    let (host, merge) = (host(&github, TOKEN), merge_of(&pull, MergeMethod::Squash));
    let error = host.merge_pull_request(pull.number, &merge).await.expect_err("no response");
    assert!(matches!(error, Error::OutcomeUnknown { .. }), "{error:?}");
    let found = host.merge_pull_request(pull.number, &merge).await.expect("merged before");
    assert_eq!(found, Merge { sha: github.head("main"), is_new: false });
    assert_eq!(count_writes(&github, "/merge"), 1);
}

/// Checks that a merge is refused for this reason, and that the base does not move.
async fn check_refused(github: &GitHub, number: u64, method: MergeMethod, expected: &str) {
    let (host, base) = (host(github, TOKEN), github.head("main"));
    let pull = host.get_pull_request(number).await.expect("a pull request");
    let error = host.merge_pull_request(number, &merge_of(&pull, method)).await;
    let error = error.expect_err("refused");
    let Error::NotMergeable { reason, .. } = &error else { panic!("{error:?}") };
    assert_eq!(reason, expected);
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(github.head("main"), base);
}

#[tokio::test]
async fn merge_waits_for_the_required_status() {
    let github = start().await;
    let pull = open(&github, "guide").await;
    github.protect("main", "ci/build");
    let host = host(&github, TOKEN);
    let check = async |expected: &str| {
        let expected = format!("Required status check \"ci/build\" is {expected}.");
        check_refused(&github, pull.number, MergeMethod::Squash, &expected).await;
    };
    let set = async |context: &str, state| {
        host.set_status(&pull.head.sha, &status(context, state)).await.expect("set");
    };
    check("expected").await;
    set("ci/other", StatusState::Success).await;
    check("expected").await;
    set("ci/build", StatusState::Pending).await;
    check("pending").await;
    set("ci/build", StatusState::Error).await;
    check("failing").await;
    set("ci/build", StatusState::Success).await;
    let merge = merge_of(&pull, MergeMethod::Squash);
    assert!(host.merge_pull_request(pull.number, &merge).await.expect("merged").is_new);
}

#[tokio::test]
async fn merge_waits_for_the_check_run_of_the_required_app() {
    let github = start().await;
    let pull = open(&github, "guide").await;
    github.add_rule("main", "build", Some(7));
    let missing = "Required status check \"build\" is expected.";
    github.add_check_run(&pull.head.sha, "build", 8, Some("success"));
    check_refused(&github, pull.number, MergeMethod::Squash, missing).await;
    github.add_check_run(&pull.head.sha, "build", 7, Some("success"));
    let merge = merge_of(&pull, MergeMethod::Squash);
    let merged = host(&github, TOKEN).merge_pull_request(pull.number, &merge).await;
    assert!(merged.expect("merged").is_new);
}

#[tokio::test]
async fn conflict_is_not_merged() {
    let github = start().await;
    github.commit("guide", "guide.md", "A guide.\n");
    github.commit("main", "guide.md", "Another guide.\n");
    let host = host(&github, TOKEN);
    let pull = host.open_pull_request(&new_pull_request("guide")).await.expect("opened");
    let read = host.get_pull_request(pull.number).await.expect("a pull request");
    assert_eq!(read.is_mergeable, Some(false));
    for method in [MergeMethod::Squash, MergeMethod::Rebase, MergeMethod::Merge] {
        check_refused(&github, pull.number, method, "Pull Request is not mergeable").await;
    }
}

#[tokio::test]
async fn draft_is_not_merged() {
    let github = start().await;
    github.commit("guide", "guide.md", "A guide.\n");
    let draft = NewPullRequest { draft: true, ..new_pull_request("guide") };
    let pull = host(&github, TOKEN).open_pull_request(&draft).await.expect("opened");
    let reason = "Pull Request is still a draft";
    check_refused(&github, pull.number, MergeMethod::Squash, reason).await;
}

#[tokio::test]
async fn method_that_is_not_allowed_is_refused() {
    let github = start().await;
    let pull = open(&github, "guide").await;
    github.allow_merge_methods(&["squash"]);
    let methods = host(&github, TOKEN).list_merge_methods().await;
    assert_eq!(methods, Ok(Some(vec![MergeMethod::Squash])));
    assert_eq!(host(&github, READER).list_merge_methods().await, Ok(None));
    let reason = "rebase merges are not allowed on this repository.";
    check_refused(&github, pull.number, MergeMethod::Rebase, reason).await;
}

#[tokio::test]
async fn changed_head_is_not_merged() {
    let github = start().await;
    let pull = open(&github, "guide").await;
    let base = github.head("main");
    let head = github.commit("guide", "guide.md", "Another guide.\n");
    let merge = merge_of(&pull, MergeMethod::Squash);
    let error = host(&github, TOKEN).merge_pull_request(pull.number, &merge).await;
    let error = error.expect_err("another head");
    assert!(matches!(&error, Error::HeadChanged { head: now, .. } if *now == head), "{error:?}");
    assert_eq!(count_writes(&github, "/merge"), 0);
    assert_eq!(github.head("main"), base);
}

#[tokio::test]
async fn reader_cannot_merge() {
    let github = start().await;
    let (pull, base) = (open(&github, "guide").await, github.head("main"));
    let merge = merge_of(&pull, MergeMethod::Squash);
    let denied = host(&github, READER).merge_pull_request(pull.number, &merge).await;
    assert!(matches!(denied, Err(Error::Denied { status: 403, .. })), "{denied:?}");
    assert_eq!(github.head("main"), base);
}
