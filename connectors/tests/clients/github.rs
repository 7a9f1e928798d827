use mc_connectors::client::{Error, Provider};
use mc_connectors::traits::{ChangedFile, ChangedFiles, Cursor};
use mc_domain::FileChange;
use serde_json::{Value, json};
use wiremock::matchers::{body_json, header, method, path, query_param, query_param_is_missing};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::support::{TOKEN, all, connector, delivered, ids, ids_and_texts};

const ISSUES: &str = "/api/v3/repos/octocat/hello/issues";

fn issue(number: u64, updated: &str) -> Value {
    json!({
        "number": number, "title": "It breaks", "state": "open", "body": "When I start it.",
        "user": { "login": "olga" }, "assignee": { "login": "vera" },
        "assignees": [{ "login": "vera" }], "labels": [{ "name": "bug" }, "old"], "comments": 0,
        "html_url": format!("https://git.example.org/Octocat/Hello/issues/{number}"),
        "repository_url": "https://git.example.org/api/v3/repos/Octocat/Hello",
        "created_at": "2026-01-01T00:00:00Z", "closed_at": "2026-01-01T06:00:00Z",
        "updated_at": updated
    })
}

fn with(mut issue: Value, key: &str, value: Value) -> Value {
    issue[key] = value;
    issue
}

#[tokio::test]
async fn issues_equal_those_of_webhooks() {
    let server = MockServer::start().await;
    let listed = with(issue(12, "2026-01-02T03:04:05Z"), "comments", json!(1));
    let listed = with(listed, "state", json!("closed"));
    let pull = with(issue(13, "2026-01-02T03:04:06Z"), "pull_request", json!({}));
    let first = Mock::given(method("GET")).and(path(ISSUES)).and(query_param_is_missing("since"));
    let first = first
        .and(query_param("state", "all"))
        .and(query_param("sort", "updated"))
        .and(query_param("direction", "asc"))
        .and(header("authorization", format!("Bearer {TOKEN}")))
        .and(header("x-github-api-version", "2022-11-28"));
    first
        .respond_with(ResponseTemplate::new(200).set_body_json([&listed, &pull]))
        .mount(&server)
        .await;
    let rest = Mock::given(method("GET"))
        .and(path(ISSUES))
        .and(query_param("since", "2026-01-02T03:04:05Z"));
    rest.respond_with(ResponseTemplate::new(200).set_body_json([&pull])).mount(&server).await;
    let comments = json!([{ "id": 7, "user": null, "body": "Me\r\ntoo.\u{0}",
        "created_at": "2026-01-02T00:00:00Z" }]);
    Mock::given(path(format!("{ISSUES}/12/comments")))
        .respond_with(ResponseTemplate::new(200).set_body_json(comments))
        .mount(&server)
        .await;

    let tracker = connector(Provider::Github, &server).tracker("octocat/hello").expect("a tracker");
    let (threads, _) = all(&*tracker, Cursor::default(), true).await;
    let sent = with(listed, "labels", json!([{ "name": "bug" }, { "name": "old" }]));
    let webhook = json!({ "action": "opened", "issue": sent,
        "repository": { "full_name": "Octocat/Hello" } });
    let expected = delivered(Provider::Github, Some("issues"), &webhook);
    assert_eq!(threads.len(), 1, "pull requests are left out");
    assert_eq!(threads[0].issue, expected);
    let comments: Vec<(&str, &str)> = threads[0]
        .comments
        .iter()
        .map(|comment| (comment.id.as_str(), comment.text.as_str()))
        .collect();
    assert_eq!(comments, [("description", "When I start it."), ("7", "Me\ntoo.")]);
    assert!(threads[0].has_all_comments);
}

#[tokio::test]
async fn comments_beyond_the_limit_are_reported() {
    let server = MockServer::start().await;
    let listed = with(issue(12, "2026-01-02T03:04:05Z"), "comments", json!(2_000));
    Mock::given(path(ISSUES))
        .respond_with(ResponseTemplate::new(200).set_body_json([listed]))
        .mount(&server)
        .await;
    let comment = |id: u32| json!({ "id": id, "user": null, "body": "Me too." });
    let comments: Vec<Value> = (0..100).map(comment).collect();
    Mock::given(path(format!("{ISSUES}/12/comments")))
        .respond_with(ResponseTemplate::new(200).set_body_json(comments))
        .mount(&server)
        .await;
    let tracker = connector(Provider::Github, &server).tracker("octocat/hello").expect("a tracker");
    let page = tracker.list_changed(&Cursor::default(), true).await.expect("a page");
    assert_eq!(page.items[0].comments.len(), 1_001);
    assert!(!page.items[0].has_all_comments);
}

#[tokio::test]
async fn comments_beyond_the_limit_leave_the_newest() {
    let server = MockServer::start().await;
    let listed = with(issue(12, "2026-01-02T03:04:05Z"), "comments", json!(1_101));
    Mock::given(path(ISSUES))
        .respond_with(ResponseTemplate::new(200).set_body_json([listed]))
        .mount(&server)
        .await;
    let comment = |id: u32| json!({ "id": id, "user": null, "body": "Me too." });
    for page in 3..=12 {
        let first = (page - 1) * 100 + 1;
        let comments: Vec<Value> = (first..(first + 100).min(1_102)).map(comment).collect();
        Mock::given(path(format!("{ISSUES}/12/comments")))
            .and(query_param("page", page.to_string()))
            .respond_with(ResponseTemplate::new(200).set_body_json(comments))
            .expect(1)
            .mount(&server)
            .await;
    }
    let tracker = connector(Provider::Github, &server).tracker("octocat/hello").expect("a tracker");
    let page = tracker.list_changed(&Cursor::default(), true).await.expect("a page");
    let comments: Vec<&str> =
        page.items[0].comments.iter().map(|comment| comment.id.as_str()).collect();
    assert_eq!((comments[0], comments[1], comments.len()), ("description", "201", 902));
    assert_eq!(comments.last(), Some(&"1101"));
    assert!(!page.items[0].has_all_comments);
}

#[tokio::test]
async fn comment_is_posted_once() {
    let server = MockServer::start().await;
    let written = Mock::given(method("POST")).and(path(format!("{ISSUES}/12/comments")));
    let written = written.and(body_json(json!({ "body": "Known." })));
    let answer = ResponseTemplate::new(201).set_body_json(json!({ "id": 1, "body": "Known." }));
    written.respond_with(answer).expect(1).mount(&server).await;
    let trouble = Mock::given(method("POST")).and(path(format!("{ISSUES}/13/comments")));
    trouble.respond_with(ResponseTemplate::new(502)).expect(1).mount(&server).await;

    let tracker = connector(Provider::Github, &server).tracker("octocat/hello").expect("a tracker");
    let id = tracker.upsert_comment("Octocat/Hello#12", None, "Known.").await.expect("written");
    assert_eq!(id, "1");
    // The failed request may have been carried out.
    assert!(tracker.upsert_comment("octocat/hello#13", None, "Known.").await.is_err());
    for other in ["octocat/other#12", "octocat/hello#x", "12", ""] {
        let refused = tracker.upsert_comment(other, None, "Known.").await;
        assert!(matches!(refused, Err(Error::InvalidResource { .. })), "{other}");
    }
}

#[tokio::test]
async fn own_comment_is_found_and_updated() {
    let server = MockServer::start().await;
    let many: Vec<Value> = (1..=100).map(|id| json!({ "id": id, "body": "Me too" })).collect();
    let comments = || Mock::given(method("GET")).and(path(format!("{ISSUES}/12/comments")));
    let first = comments().and(query_param("page", "1"));
    first.respond_with(ResponseTemplate::new(200).set_body_json(many)).mount(&server).await;
    let last = json!([{ "id": 101, "user": { "login": "bot" }, "body": "Known. More." },
        { "id": 102, "user": { "login": "eve" }, "body": "Known. More." }, { "id": 103,
        "body": "Known. More." }]);
    let me = ResponseTemplate::new(200).set_body_json(json!({ "login": "bot" }));
    Mock::given(path("/api/v3/user")).respond_with(me).mount(&server).await;
    let second = comments().and(query_param("page", "2"));
    second.respond_with(ResponseTemplate::new(200).set_body_json(last)).mount(&server).await;
    let changed = Mock::given(method("PATCH")).and(path(format!("{ISSUES}/comments/101")));
    let changed = changed.and(body_json(json!({ "body": "Known. Less." })));
    let answer = ResponseTemplate::new(200).set_body_json(json!({ "id": 101 }));
    changed.respond_with(answer).expect(1).mount(&server).await;

    let tracker = connector(Provider::Github, &server).tracker("octocat/hello").expect("a tracker");
    let own = tracker.list_own_comments("octocat/hello#12").await.expect("comments");
    assert_eq!(ids_and_texts(&own), [("101", "Known. More.")], "others may say the same");
    let id = tracker.upsert_comment("octocat/hello#12", Some("101"), "Known. Less.").await;
    assert_eq!(id.as_deref(), Ok("101"));
    let elsewhere = tracker.upsert_comment("octocat/hello#12", Some("../1"), "Known.").await;
    assert!(matches!(elsewhere, Err(Error::InvalidResource { .. })));
}

#[tokio::test]
async fn denied_write_names_the_missing_permission() {
    let server = MockServer::start().await;
    let refused = ResponseTemplate::new(403).set_body_json(json!({ "message": "Forbidden" }));
    Mock::given(method("POST")).respond_with(refused).mount(&server).await;
    let tracker = connector(Provider::Github, &server).tracker("octocat/hello").expect("a tracker");
    let refused =
        tracker.upsert_comment("octocat/hello#12", None, "Known.").await.expect_err("refused");
    assert!(refused.to_string().contains("write access to Issues"), "{refused}");
}

#[tokio::test]
async fn unchanged_ref_is_read_by_a_conditional_request() {
    let server = MockServer::start().await;
    let place = "/api/v3/repos/octocat/hello/git/ref/heads%2Fmain";
    let sha = "ab".repeat(20);
    let body = json!({ "ref": "refs/heads/main", "node_id": "x", "url": "https://git.example.org/x",
        "object": { "type": "commit", "sha": sha, "url": "https://git.example.org/y" } });
    let known = Mock::given(path(place)).and(header("if-none-match", "\"v1\""));
    let known = known.respond_with(ResponseTemplate::new(304)).with_priority(1);
    known.expect(1).mount(&server).await;
    let answer = ResponseTemplate::new(200).set_body_json(body).insert_header("etag", "\"v1\"");
    Mock::given(path(place)).respond_with(answer).expect(1).mount(&server).await;

    let host = connector(Provider::Github, &server).git_host("octocat/hello").expect("a host");
    for _ in 0..2 {
        let head = host.resolve_ref(Some("refs/heads/main")).await.expect("an answer");
        assert_eq!(head.as_deref(), Some(sha.as_str()));
    }
}

#[tokio::test]
async fn missing_ref_differs_from_missing_repository() {
    let server = MockServer::start().await;
    let there = json!({ "default_branch": "main" });
    Mock::given(path("/api/v3/repos/octocat/hello"))
        .respond_with(ResponseTemplate::new(200).set_body_json(there))
        .mount(&server)
        .await;
    let connector = connector(Provider::Github, &server);
    let host = connector.git_host("octocat/hello").expect("a host");
    assert_eq!(host.resolve_ref(Some("wip")).await, Ok(None));
    assert_eq!(host.resolve_ref(None).await, Ok(None), "an empty repository");
    let missing =
        connector.git_host("octocat/gone").expect("a host").resolve_ref(Some("wip")).await;
    assert!(matches!(missing, Err(Error::NotFound { .. })), "{missing:?}");
}

#[tokio::test]
async fn redirect_of_a_renamed_repository_is_followed() {
    let server = MockServer::start().await;
    let moved =
        ResponseTemplate::new(301).insert_header("location", "/api/v3/repositories/1/issues");
    Mock::given(path(ISSUES)).respond_with(moved).mount(&server).await;
    Mock::given(path("/api/v3/repositories/1/issues"))
        .and(header("authorization", format!("Bearer {TOKEN}")))
        .respond_with(ResponseTemplate::new(200).set_body_json([issue(1, "2026-01-02T03:04:05Z")]))
        .mount(&server)
        .await;
    let tracker = connector(Provider::Github, &server).tracker("octocat/hello").expect("a tracker");
    let (threads, _) = all(&*tracker, Cursor::default(), false).await;
    assert_eq!(ids(&threads), ["Octocat/Hello#1"]);
}

#[tokio::test]
async fn access_check_returns_the_tokens_user() {
    let server = MockServer::start().await;
    Mock::given(path("/api/v3/user"))
        .respond_with(ResponseTemplate::new(200).set_body_json(json!({ "login": "bot" })))
        .mount(&server)
        .await;
    let user = connector(Provider::Github, &server).check_access().await;
    assert_eq!(user.as_deref(), Ok("bot"));
}

#[tokio::test]
async fn issue_with_missing_comments_does_not_stop_the_sync() {
    let server = MockServer::start().await;
    let missing = with(issue(1, "2026-01-02T03:04:05Z"), "comments", json!(1));
    let page = [missing, issue(2, "2026-01-02T03:04:06Z")];
    let first = Mock::given(path(ISSUES)).and(query_param_is_missing("since"));
    first.respond_with(ResponseTemplate::new(200).set_body_json(page)).mount(&server).await;
    let tracker = connector(Provider::Github, &server).tracker("octocat/hello").expect("a tracker");
    let page = tracker.list_changed(&Cursor::default(), true).await.expect("a page");
    assert_eq!(ids(&page.items), ["Octocat/Hello#1", "Octocat/Hello#2"]);
    assert!(page.items[0].comments.is_empty() && !page.items[0].has_all_comments);
    assert!(page.items[1].has_all_comments);
}

#[tokio::test]
async fn files_of_a_pull_request_are_read_page_by_page() {
    let server = MockServer::start().await;
    let place = "/api/v3/repos/octocat/hello/pulls/12/files";
    let file = |name: &str, status: &str| {
        json!({ "sha": "ab", "filename": name, "status": status, "additions": 2, "deletions": 1,
            "changes": 3, "patch": "@@ -1 +1,2 @@\n-a\n+b\n+c" })
    };
    let first: Vec<Value> = (0..100).map(|n| file(&format!("src/{n}.rs"), "modified")).collect();
    let renamed = with(file("src/new.rs", "renamed"), "previous_filename", json!("src/old.rs"));
    let mut binary = file("logo.png", "added");
    binary.as_object_mut().expect("an object").remove("patch");
    for (page, files) in [("1", first), ("2", vec![renamed, binary, file("gone.rs", "removed")])] {
        Mock::given(method("GET"))
            .and(path(place))
            .and(query_param("per_page", "100"))
            .and(query_param("page", page))
            .respond_with(ResponseTemplate::new(200).set_body_json(files))
            .expect(1)
            .mount(&server)
            .await;
    }
    let host = connector(Provider::Github, &server).git_host("octocat/hello").expect("a host");
    let ChangedFiles { files, is_complete } =
        host.list_changed_files("Octocat/Hello!12").await.expect("files");
    assert_eq!((files.len(), is_complete), (103, true));
    let expected = ChangedFile {
        path: "src/new.rs".to_owned(),
        previous_path: Some("src/old.rs".to_owned()),
        change: FileChange::Renamed,
        additions: Some(2),
        deletions: Some(1),
        diff: Some("@@ -1 +1,2 @@\n-a\n+b\n+c".to_owned()),
    };
    assert_eq!(files[100], expected);
    assert_eq!((files[101].change, files[101].diff.as_ref()), (FileChange::Added, None));
    assert_eq!(files[102].change, FileChange::Removed);
    for other in ["octocat/other!12", "octocat/hello#12", "octocat/hello!../1"] {
        let refused = host.list_changed_files(other).await;
        assert!(matches!(refused, Err(Error::InvalidResource { .. })), "{other}");
    }
}
