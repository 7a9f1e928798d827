//! GitHub by its own OpenAPI document: Prism checks each request against the document, and
//! generates the responses from it.

use std::net::TcpListener;
use std::process::Stdio;
use std::time::Duration;

use mc_connectors::client::{Connector, Provider};
use mc_connectors::traits::Cursor;
use serde_json::Value;
use tokio::process::{Child, Command};

use crate::cache::cache;
use crate::support::config;

/// The requests of the client.
const PATHS: [&str; 8] = [
    "/repos/{owner}/{repo}",
    "/repos/{owner}/{repo}/git/ref/{ref}",
    "/repos/{owner}/{repo}/issues",
    "/repos/{owner}/{repo}/issues/comments/{comment_id}",
    "/repos/{owner}/{repo}/issues/{issue_number}/comments",
    "/repos/{owner}/{repo}/pulls/{pull_number}/files",
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

/// Prism rejects other requests, so the test above can fail.
#[tokio::test]
async fn unknown_request_is_detected_by_the_openapi_mock() {
    let Some(github) = GitHub::start().await else { return };
    let url = format!("{}/api/v3/repos/octocat/hello/issues?state=nonsense", github.url);
    let answer = reqwest::get(url).await.expect("an answer");
    assert_eq!(answer.status(), 422);
}
