//! Requests one by one, and responses that the stand-in does not give.

use mc_connectors::client::{Error, Provider};
use mc_connectors::traits::{
    MergeMethod, MergeRequest, NewPullRequest, NewStatus, PullRequestHost, StatusState,
};
use serde_json::{Value, json};
use std::sync::Arc;
use wiremock::matchers::{body_json, header, method, path, query_param};
use wiremock::{Mock, MockBuilder, MockServer, ResponseTemplate};

use crate::support::{TOKEN, connector};

const REPOSITORY: &str = "/api/v3/repos/octocat/hello";

fn host(server: &MockServer) -> Arc<dyn PullRequestHost> {
    connector(Provider::Github, server).pull_request_host("octocat/hello").expect("a host")
}

fn sha(digits: &str) -> String {
    digits.repeat(20)
}

fn given(verb: &str, rest: &str) -> MockBuilder {
    let given = Mock::given(method(verb)).and(path(format!("{REPOSITORY}{rest}")));
    given.and(header("authorization", format!("Bearer {TOKEN}")))
}

async fn answer(server: &MockServer, verb: &str, rest: &str, status: u16, body: Value) {
    let answer = ResponseTemplate::new(status).set_body_json(body);
    given(verb, rest).respond_with(answer).mount(server).await;
}

/// A pull request of `olga` from `guide` into `main`.
fn pull(number: u64, head: &str) -> Value {
    let repository = json!({ "full_name": "Octocat/Hello" });
    let side = |branch: &str, sha: String| json!({ "ref": branch, "sha": sha, "repo": repository });
    json!({ "number": number, "title": "Add a guide", "state": "open", "user": { "login": "olga" },
        "merged": false, "merge_commit_sha": sha("99"), "head": side("guide", sha(head)),
        "base": side("main", sha("00")) })
}

async fn answer_user(server: &MockServer, status: u16) {
    let user = ResponseTemplate::new(status).set_body_json(json!({ "login": "bot" }));
    Mock::given(path("/api/v3/user")).respond_with(user).mount(server).await;
}

#[tokio::test]
async fn each_write_has_the_documented_body() {
    let server = MockServer::start().await;
    let head = sha("ab");
    answer_user(&server, 200).await;
    answer(&server, "GET", "/pulls/12", 200, pull(12, "ab")).await;
    answer(&server, "GET", "/pulls/12/reviews", 200, json!([])).await;
    let expected = [
        ("POST", "/git/refs", json!({ "ref": "refs/heads/guide", "sha": head }), json!({})),
        (
            "POST",
            "/pulls",
            json!({ "head": "guide", "base": "main", "title": "Add", "body": "It.",
                "draft": true }),
            pull(12, "ab"),
        ),
        ("POST", "/pulls/12/requested_reviewers", json!({ "reviewers": ["vera"] }), json!({})),
        (
            "POST",
            "/pulls/12/reviews",
            json!({ "commit_id": head, "event": "APPROVE", "body": "Good." }),
            json!({ "id": 80 }),
        ),
        (
            "PUT",
            "/pulls/12/merge",
            json!({ "sha": head, "merge_method": "squash", "commit_title": "Add (#12)",
                "commit_message": "It." }),
            json!({ "sha": sha("cd"), "merged": true }),
        ),
        (
            "POST",
            &format!("/statuses/{head}"),
            json!({ "state": "failure", "context": "build", "description": "It fails",
                "target_url": "https://ci.example.org/1" }),
            json!({ "id": 1 }),
        ),
    ];
    for (verb, rest, body, response) in expected {
        let answer = ResponseTemplate::new(200).set_body_json(response);
        let write = given(verb, rest).and(body_json(body)).respond_with(answer);
        write.expect(1).mount(&server).await;
    }

    let host = host(&server);
    host.create_branch("guide", &head).await.expect("a branch");
    let (title, body) = ("Add".to_owned(), "It.".to_owned());
    let (branch, base) = ("guide".to_owned(), "main".to_owned());
    let new = NewPullRequest { head: branch, base, title, body, draft: true };
    assert_eq!(host.open_pull_request(&new).await.expect("opened").number, 12);
    host.request_reviewers(12, &["vera".to_owned()]).await.expect("requested");
    let approval = host.approve_pull_request(12, &head, "Good.").await.expect("approved");
    assert_eq!(approval.review_id, 80);
    let (title, message) = ("Add (#12)".to_owned(), "It.".to_owned());
    let method = MergeMethod::Squash;
    let merge = MergeRequest { method, head_sha: head.clone(), title, message };
    let merge = host.merge_pull_request(12, &merge).await.expect("merged");
    assert_eq!(merge.sha, Some(sha("cd")));
    let status = NewStatus {
        state: StatusState::Failure,
        context: "build".to_owned(),
        description: "It fails".to_owned(),
        target_url: Some("https://ci.example.org/1".to_owned()),
    };
    host.set_status(&head, &status).await.expect("set");
}

/// A server may ignore the filter of the head, and a fork may have a branch of the same name.
#[tokio::test]
async fn pull_request_of_a_fork_or_another_branch_is_not_found() {
    let server = MockServer::start().await;
    let mut fork = pull(1, "aa");
    fork["head"]["repo"]["full_name"] = json!("eve/hello");
    let mut deleted = pull(2, "aa");
    deleted["head"]["repo"] = Value::Null;
    let mut other = pull(3, "aa");
    other["head"]["ref"] = json!("other");
    let list = given("GET", "/pulls")
        .and(query_param("state", "open"))
        .and(query_param("head", "octocat:guide"))
        .and(query_param("base", "main"));
    let items =
        ResponseTemplate::new(200).set_body_json([fork, deleted, other.clone(), pull(4, "aa")]);
    list.respond_with(items).up_to_n_times(1).with_priority(1).mount(&server).await;
    answer(&server, "GET", "/pulls/4", 200, pull(4, "aa")).await;
    answer(&server, "GET", "/pulls", 200, json!([other])).await;
    let host = host(&server);
    let found = host.find_pull_request("guide", "main").await.expect("a response");
    let found = found.expect("a pull request");
    assert_eq!((found.number, found.merge_sha), (4, None), "not merged yet");
    // The second list has the pull request of another branch only.
    let found = host.find_pull_request("guide", "main").await;
    assert_eq!(found, Ok(None));
}

/// The last verdict of the user decides. Comments, and reviews of others, change nothing.
#[tokio::test]
async fn withdrawn_approval_is_given_again() {
    let review = |id: u64, login: &str, state: &str, commit: &str| {
        let user = json!({ "login": login });
        json!({ "id": id, "user": user, "state": state, "commit_id": sha(commit) })
    };
    let check = async |reviews: Value, is_new: bool| {
        let server = MockServer::start().await;
        answer_user(&server, 200).await;
        answer(&server, "GET", "/pulls/12", 200, pull(12, "ab")).await;
        answer(&server, "GET", "/pulls/12/reviews", 200, reviews.clone()).await;
        answer(&server, "POST", "/pulls/12/reviews", 200, json!({ "id": 90 })).await;
        let approval = host(&server).approve_pull_request(12, &sha("ab"), "").await;
        assert_eq!(approval.expect("approved").is_new, is_new, "{reviews}");
    };
    check(json!([review(1, "Bot", "APPROVED", "ab")]), false).await;
    let comment = review(2, "bot", "COMMENTED", "ab");
    check(json!([review(1, "bot", "APPROVED", "ab"), comment]), false).await;
    check(json!([review(1, "bot", "APPROVED", "aa")]), true).await;
    check(json!([review(1, "vera", "APPROVED", "ab")]), true).await;
    check(json!([review(1, "bot", "DISMISSED", "ab")]), true).await;
    let withdrawn = review(2, "bot", "CHANGES_REQUESTED", "ab");
    check(json!([review(1, "bot", "APPROVED", "ab"), withdrawn]), true).await;
}

/// The head, or the base, changes between the read and the merge.
#[tokio::test]
async fn conflict_of_a_merge_is_told_by_the_head() {
    let merge = MergeRequest {
        method: MergeMethod::Rebase,
        head_sha: sha("ab"),
        title: String::new(),
        message: String::new(),
    };
    let error_if_head_is = async |digits: &str| {
        let server = MockServer::start().await;
        let before = ResponseTemplate::new(200).set_body_json(pull(12, "ab"));
        let before = given("GET", "/pulls/12").respond_with(before).with_priority(1);
        before.up_to_n_times(1).mount(&server).await;
        answer(&server, "GET", "/pulls/12", 200, pull(12, digits)).await;
        let message = json!({ "message": "Base branch was modified." });
        answer(&server, "PUT", "/pulls/12/merge", 409, message).await;
        host(&server).merge_pull_request(12, &merge).await.expect_err("a conflict")
    };
    let error = error_if_head_is("cd").await;
    assert!(matches!(&error, Error::HeadChanged { head, .. } if *head == sha("cd")), "{error:?}");
    let error = error_if_head_is("ab").await;
    assert!(
        matches!(&error, Error::NotMergeable { reason, .. }
            if reason == "Base branch was modified."),
        "{error:?}"
    );
}

#[tokio::test]
async fn token_of_an_installation_has_no_login_and_approves_nothing() {
    let server = MockServer::start().await;
    answer_user(&server, 403).await;
    answer(&server, "GET", "", 200, json!({ "permissions": { "push": true } })).await;
    let host = host(&server);
    let access = host.access().await.expect("access");
    assert_eq!((access.login, access.scopes, access.can_push), (None, None, true));
    let denied = host.approve_pull_request(12, &sha("ab"), "").await;
    assert!(matches!(denied, Err(Error::Denied { status: 403, .. })), "{denied:?}");
}

#[tokio::test]
async fn hidden_or_missing_rules_are_told_apart() {
    let check = async |rules: u16, branch: Value, expected: (usize, bool)| {
        let server = MockServer::start().await;
        answer(&server, "GET", "/branches/main", 200, branch.clone()).await;
        answer(&server, "GET", "/rules/branches/main", rules, json!([])).await;
        let checks = host(&server).list_required_checks("main").await.expect("checks");
        assert_eq!((checks.checks.len(), checks.is_complete), expected, "{rules} {branch}");
    };
    let free = json!({ "protected": false });
    let hidden = json!({ "protected": true });
    let old = json!({ "protected": true, "protection": { "required_status_checks": {
        "contexts": ["build", "lint"] } } });
    let any_app = json!({ "protected": true, "protection": { "required_status_checks": {
        "contexts": ["build"], "checks": [{ "context": "build", "app_id": -1 }] } } });
    check(200, free.clone(), (0, true)).await;
    check(404, free.clone(), (0, true)).await;
    check(403, free, (0, false)).await;
    check(200, hidden, (0, false)).await;
    check(200, old, (2, true)).await;
    check(200, any_app, (1, true)).await;
}

#[tokio::test]
async fn list_without_an_end_is_an_error() {
    let server = MockServer::start().await;
    let statuses: Vec<Value> = (0..100)
        .map(|number| json!({ "state": "success", "context": format!("build {number}") }))
        .collect();
    let rest = format!("/commits/{}/status", sha("ab"));
    answer(&server, "GET", &rest, 200, json!({ "statuses": statuses })).await;
    let error = host(&server).list_checks(&sha("ab")).await.expect_err("no end");
    assert!(error.to_string().contains("more than 3,000 items"), "{error}");
}

#[tokio::test]
async fn write_to_a_moved_repository_is_not_redirected() {
    let server = MockServer::start().await;
    let moved = ResponseTemplate::new(307).insert_header("location", "/api/v3/repositories/1");
    given("POST", "/git/refs").respond_with(moved).expect(1).mount(&server).await;
    let error = host(&server).create_branch("fix", &sha("ab")).await.expect_err("moved");
    assert!(matches!(error, Error::ResourceMoved { .. }), "{error:?}");
}
