use mc_connectors::client::{Connector, Error, Provider};
use mc_domain::{Classified as _, ErrorKind};

use super::{READER, count_writes, host, start};
use crate::support::{TOKEN, config};

#[tokio::test]
async fn branch_is_created_at_a_commit() {
    let github = start().await;
    let first = github.head("main").expect("a commit");
    github.commit("main", "a.md", "More.\n");
    let host = host(&github, TOKEN);
    assert_eq!(host.find_branch("fix/start").await, Ok(None));
    host.create_branch("fix/start", &first).await.expect("created");
    assert_eq!(host.find_branch("fix/start").await, Ok(Some(first.clone())));
    assert_eq!(github.head("fix/start"), Some(first));
}

#[tokio::test]
async fn existing_branch_is_reported_with_its_commit_and_not_moved() {
    let github = start().await;
    let first = github.head("main").expect("a commit");
    let second = github.commit("main", "a.md", "More.\n");
    let host = host(&github, TOKEN);
    host.create_branch("fix", &first).await.expect("created");
    for requested in [&first, &second] {
        let error = host.create_branch("fix", requested).await.expect_err("it exists");
        let Error::BranchExists { branch, sha, .. } = &error else { panic!("{error:?}") };
        assert_eq!((branch.as_str(), sha), ("fix", &first));
        assert_eq!(error.kind(), ErrorKind::Conflict);
    }
    assert_eq!(github.head("fix"), Some(first));
}

#[tokio::test]
async fn branch_of_a_missing_commit_is_rejected() {
    let github = start().await;
    let error = host(&github, TOKEN).create_branch("fix", &"ab".repeat(20)).await;
    assert!(
        matches!(&error, Err(Error::Rejected { status: 422, reason, .. })
            if reason == "Object does not exist"),
        "{error:?}"
    );
    assert_eq!(github.head("fix"), None);
}

#[tokio::test]
async fn invalid_branch_or_commit_is_not_sent() {
    let github = start().await;
    let (host, sha) = (host(&github, TOKEN), github.head("main").expect("a commit"));
    for name in ["", "../main", "a b", "a\nb", "refs/heads/a", "-f"] {
        let errors = [
            host.create_branch(name, &sha).await.err(),
            host.find_branch(name).await.err(),
            host.list_required_checks(name).await.err(),
            host.find_pull_request(name, "main").await.err(),
        ];
        for error in errors {
            assert!(matches!(error, Some(Error::InvalidResource { .. })), "{name:?}: {error:?}");
        }
    }
    for commit in ["", "main", &sha[..7], "../../user"] {
        let errors = [
            host.create_branch("fix", commit).await.err(),
            host.list_checks(commit).await.err(),
            host.approve_pull_request(1, commit, "").await.err(),
        ];
        for error in errors {
            assert!(matches!(error, Some(Error::InvalidResource { .. })), "{commit:?}: {error:?}");
        }
    }
    assert_eq!(github.requests(), []);
}

/// The response of the first request is lost after the branch was created.
#[tokio::test]
async fn branch_after_a_lost_response_is_found_by_a_second_call() {
    let github = start().await;
    let sha = github.head("main").expect("a commit");
    github.inject("POST", "/git/refs", mc_testkit::GitHubFault::LostResponse);
    let host = host(&github, TOKEN);
    let error = host.create_branch("fix", &sha).await.expect_err("no response");
    let Error::OutcomeUnknown { action, .. } = &error else { panic!("{error:?}") };
    assert_eq!(action, "to create the branch fix");
    assert!(!error.kind().is_transient(), "no job may repeat it by itself");
    assert_eq!(count_writes(&github, "/git/refs"), 1, "it is not repeated");
    let error = host.create_branch("fix", &sha).await.expect_err("it exists");
    assert!(matches!(&error, Error::BranchExists { sha: head, .. } if *head == sha), "{error:?}");
}

#[tokio::test]
async fn missing_repository_differs_from_missing_branch() {
    let github = start().await;
    let connector = Connector::new(config(Provider::Github, &github.url())).expect("a connector");
    let host = connector.pull_request_host("octocat/gone").expect("a host");
    let missing = host.find_branch("main").await;
    assert!(matches!(missing, Err(Error::NotFound { .. })), "{missing:?}");
}

#[tokio::test]
async fn token_without_push_rights_is_denied_and_recognized_before() {
    let github = start().await;
    let (host, sha) = (host(&github, READER), github.head("main").expect("a commit"));
    let access = host.access().await.expect("access");
    assert_eq!((access.login.as_deref(), access.can_push), (Some("eve"), false));
    let denied = host.create_branch("fix", &sha).await.expect_err("denied");
    assert!(matches!(denied, Error::Denied { status: 403, .. }), "{denied:?}");
    assert!(denied.to_string().contains("to Contents, Pull requests and Commit statuses"));
    assert_eq!(github.head("fix"), None);
}

/// `public_repo` does not let a classic token create a branch.
#[tokio::test]
async fn classic_token_needs_the_scope_repo() {
    let github = start().await;
    let check = async |token: &str, scopes: Option<&str>, expected: bool| {
        github.add_credential(mc_testkit::GitHubCredential {
            scopes: scopes.map(str::to_owned),
            ..mc_testkit::GitHubCredential::new(token, "olga")
        });
        let access = host(&github, token).access().await.expect("access");
        let listed = scopes.map(|scopes| {
            scopes.split(", ").filter(|scope| !scope.is_empty()).map(str::to_owned).collect()
        });
        assert_eq!((access.scopes, access.can_push), (listed, expected), "{scopes:?}");
    };
    check("t0ken-1", None, true).await;
    check("t0ken-2", Some("read:org, repo"), true).await;
    check("t0ken-3", Some("public_repo, read:org"), false).await;
    check("t0ken-4", Some(""), false).await;
}

#[test]
fn only_github_has_writes() {
    for kind in Provider::ALL.iter().filter(|kind| **kind != Provider::Github) {
        let connector = Connector::new(config(*kind, "https://example.org")).expect("a connector");
        let error = connector.pull_request_host("a/b").err().expect("no writes");
        assert!(matches!(error, Error::UnsupportedWrites(..)), "{kind}: {error:?}");
    }
}
