//! GitHub by its own OpenAPI document: Prism checks each request against the document, and
//! generates the responses from it.

use std::net::TcpListener;
use std::process::Stdio;
use std::time::Duration;

use mc_connectors::client::{Connector, Provider};
use mc_connectors::traits::{
    Cursor, MergeMethod, MergeRequest, NewPullRequest, NewStatus, StatusState,
};
use serde_json::Value;
use tokio::process::{Child, Command};

use crate::cache::cache;
use crate::support::config;

/// The requests of the client.
const PATHS: [&str; 19] = [
    "/repos/{owner}/{repo}",
    "/repos/{owner}/{repo}/git/ref/{ref}",
    "/repos/{owner}/{repo}/issues",
    "/repos/{owner}/{repo}/issues/comments/{comment_id}",
    "/repos/{owner}/{repo}/issues/{issue_number}/comments",
    "/repos/{owner}/{repo}/pulls/{pull_number}/files",
    "/repos/{owner}/{repo}/git/refs",
    "/repos/{owner}/{repo}/branches/{branch}",
    "/repos/{owner}/{repo}/rules/branches/{branch}",
    "/repos/{owner}/{repo}/pulls",
    "/repos/{owner}/{repo}/pulls/{pull_number}",
    "/repos/{owner}/{repo}/pulls/{pull_number}/requested_reviewers",
    "/repos/{owner}/{repo}/pulls/{pull_number}/reviews",
    "/repos/{owner}/{repo}/pulls/{pull_number}/merge",
    "/repos/{owner}/{repo}/statuses/{sha}",
    "/repos/{owner}/{repo}/commits/{ref}/status",
    "/repos/{owner}/{repo}/commits/{ref}/check-runs",
    "/rate_limit",
    "/user",
];

/// GitHub on this machine, until it is dropped.
struct GitHub {
    _process: Child,
    _folder: tempfile::TempDir,
    url: String,
}

impl GitHub {
    /// Returns `None` and prints a notice if Prism is not installed.
    #[expect(clippy::print_stderr, reason = "reports the skipped test")]
    async fn start() -> Option<Self> {
        let place = cache().join("vendors");
        let (node, modules) = (place.join("bin/node"), place.join("node_modules"));
        if !node.is_file() {
            eprintln!("skipped: {} is missing; run `scripts/setup vendors`", node.display());
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let document = folder.path().join("github.json");
        let whole = std::fs::read(modules.join("@octokit/openapi/generated/api.github.com.json"));
        std::fs::write(&document, part(&whole.expect("the document"))).expect("written");
        let port = free_port();
        let process = Command::new(node)
            .arg(modules.join("@stoplight/prism-cli/dist/index.js"))
            .args(["mock", "--errors", "--host", "127.0.0.1", "--port", &port.to_string()])
            .arg(document)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("node runs");
        let github =
            Self { _process: process, _folder: folder, url: format!("http://127.0.0.1:{port}") };
        github.wait(port).await;
        Some(github)
    }

    async fn wait(&self, port: u16) {
        for _ in 0..600 {
            if tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("it does not start");
    }

    fn connector(&self) -> Connector {
        Connector::new(config(Provider::Github, &self.url)).expect("a valid config")
    }
}

/// The part of the document with the used paths, at the address of Enterprise Server.
fn part(whole: &[u8]) -> Vec<u8> {
    let mut document: Value = serde_json::from_slice(whole).expect("JSON");
    let paths = PATHS.iter().map(|path| {
        let operations = document["paths"][*path].clone();
        assert!(operations.is_object(), "GitHub has no {path}");
        (format!("/api/v3{path}"), operations)
    });
    document["paths"] = Value::Object(paths.collect());
    // GitHub's example of a repository lacks required fields. Prism generates another one.
    let repository =
        &mut document["paths"]["/api/v3/repos/{owner}/{repo}"]["get"]["responses"]["200"];
    if let Some(content) = repository["content"]["application/json"].as_object_mut() {
        content.remove("examples");
    }
    let examples = &mut document["components"]["examples"];
    // The teams in the examples lack a required field.
    for name in ["pull-request", "pull-request-simple-items", "pull-request-review-request"] {
        let value = &mut examples[name]["value"];
        let pull = if value.is_array() { &mut value[0] } else { value };
        pull["requested_teams"] = Value::Array(Vec::new());
    }
    // The example's author is the user of the token, who can't approve it.
    examples["pull-request"]["value"]["user"]["login"] = "olga".into();
    document.to_string().into_bytes()
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

/// Each request of the client conforms to the document, and the responses are parsed.
#[tokio::test]
async fn requests_conform_to_githubs_openapi_document() {
    let Some(github) = GitHub::start().await else { return };
    let connector = github.connector();
    let tracker = connector.tracker("octocat/Hello-World").expect("a tracker");
    let page = tracker.list_changed(&Cursor::default(), true).await.expect("issues and comments");
    // The example is a pull request or an issue; both are parsed.
    assert!(page.items.len() <= 1);
    let since =
        Cursor(serde_json::json!({ "since": "2026-01-02T03:04:05Z", "marker": { "offset": 2 } }));
    tracker.list_changed(&since, true).await.expect("a later page");
    tracker.list_ids(&Cursor::default()).await.expect("ids");
    let issue = "octocat/Hello-World#1347";
    let id = tracker.upsert_comment(issue, None, "Known.").await.expect("a comment");
    tracker.upsert_comment(issue, Some(&id), "Known. More.").await.expect("another text");
    tracker.list_own_comments(issue).await.expect("the comments");
    let host = connector.git_host("octocat/Hello-World").expect("a host");
    assert!(host.resolve_ref(None).await.expect("a head").is_some());
    assert!(host.resolve_ref(Some("refs/heads/featureA")).await.expect("a head").is_some());
    let files = host.list_changed_files("octocat/Hello-World!1347").await.expect("the files");
    assert_eq!(files.files.len(), 1);
    assert_eq!(connector.check_access().await.as_deref(), Ok("octocat"));
}

/// The same for writes.
#[tokio::test]
async fn writes_conform_to_githubs_openapi_document() {
    let Some(github) = GitHub::start().await else { return };
    let host = github.connector().pull_request_host("octocat/Hello-World").expect("a host");
    let (number, head_sha) = (1347, "6dcb09b5b57875f334f61aebed695e2e4193db5e");
    assert_eq!(host.access().await.expect("access").login.as_deref(), Some("octocat"));
    assert!(host.find_branch("featureA").await.expect("a branch").is_some());
    host.create_branch("featureA", head_sha).await.expect("a branch");
    let found = host.find_pull_request("new-topic", "master").await.expect("a response");
    assert_eq!(found.expect("a pull request").number, number);
    let new = NewPullRequest {
        head: "new-topic".to_owned(),
        base: "master".to_owned(),
        title: "Amazing new feature".to_owned(),
        body: "It is new.".to_owned(),
        draft: false,
    };
    assert_eq!(host.open_pull_request(&new).await.expect("opened").head.sha, head_sha);
    host.request_reviewers(number, &["hubot".to_owned()]).await.expect("requested");
    assert!(host.approve_pull_request(number, head_sha, "Good.").await.expect("approved").is_new);
    for method in [MergeMethod::Squash, MergeMethod::Rebase, MergeMethod::Merge] {
        let (head_sha, title) = (head_sha.to_owned(), "Amazing".to_owned());
        let merge = MergeRequest { method, head_sha, title, message: String::new() };
        assert!(host.merge_pull_request(number, &merge).await.expect("merged").is_new);
    }
    for state in
        [StatusState::Error, StatusState::Failure, StatusState::Pending, StatusState::Success]
    {
        let (context, description) = ("build".to_owned(), "Done".to_owned());
        let target_url = Some("https://ci.example.org/1".to_owned());
        let status = NewStatus { state, context, description, target_url };
        host.set_status(head_sha, &status).await.expect("set");
    }
    assert_eq!(host.list_checks(head_sha).await.expect("checks").len(), 3);
    assert!(host.list_required_checks("main").await.expect("checks").is_complete);
    host.list_merge_methods().await.expect("methods");
}

/// Prism rejects other requests, so the tests above can fail.
#[tokio::test]
async fn unknown_request_is_detected_by_the_openapi_mock() {
    let Some(github) = GitHub::start().await else { return };
    let url = format!("{}/api/v3/repos/octocat/hello/issues?state=nonsense", github.url);
    let answer = reqwest::get(url).await.expect("an answer");
    assert_eq!(answer.status(), 422);
}
