//! GitHub as GitHub's own OpenAPI document has it: Prism checks each request against that, and makes the answers of it.

use std::net::TcpListener;
use std::process::Stdio;
use std::time::Duration;

use mc_connectors::client::{Connector, Provider};
use mc_connectors::traits::Cursor;
use serde_json::Value;
use tokio::process::{Child, Command};

use crate::cache::cache;
use crate::support::settings;

/// What the client asks for.
const PATHS: [&str; 7] = [
    "/repos/{owner}/{repo}",
    "/repos/{owner}/{repo}/git/ref/{ref}",
    "/repos/{owner}/{repo}/issues",
    "/repos/{owner}/{repo}/issues/comments/{comment_id}",
    "/repos/{owner}/{repo}/issues/{issue_number}/comments",
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
    /// `None` where it is not installed, which is said.
    #[expect(
        clippy::print_stderr,
        reason = "whoever runs the tests is to know what was not tested"
    )]
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

    fn system(&self) -> Connector {
        Connector::new(settings(Provider::Github, &self.url)).expect("settings")
    }
}

/// The paths at hand, where Enterprise Server has them.
fn part(whole: &[u8]) -> Vec<u8> {
    let mut document: Value = serde_json::from_slice(whole).expect("JSON");
    let paths = PATHS.iter().map(|path| {
        let operations = document["paths"][*path].clone();
        assert!(operations.is_object(), "GitHub has no {path}");
        (format!("/api/v3{path}"), operations)
    });
    document["paths"] = Value::Object(paths.collect());
    // GitHub's own example of a repository lacks what its schema requires; Prism makes another by the schema.
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

/// Everything that the client asks for is asked for as GitHub's document says; what the document's answers hold is read.
#[tokio::test]
async fn requests_are_as_githubs_own_document_has_them() {
    let Some(github) = GitHub::start().await else { return };
    let system = github.system();
    let tracker = system.tracker("octocat/Hello-World").expect("a tracker");
    let page = tracker.list_changed(&Cursor::default(), true).await.expect("issues and comments");
    // The example is of a pull request, or of an issue: either way it is read.
    assert!(page.items.len() <= 1);
    let since =
        Cursor(serde_json::json!({ "since": "2026-01-02T03:04:05Z", "place": { "offset": 2 } }));
    tracker.list_changed(&since, true).await.expect("a later page");
    tracker.list_ids(&Cursor::default()).await.expect("ids");
    let issue = "octocat/Hello-World#1347";
    let id = tracker.comment(issue, None, "Known.").await.expect("a comment");
    tracker.comment(issue, Some(&id), "Known. More.").await.expect("another text");
    tracker.list_own_comments(issue).await.expect("the comments");
    let host = system.git_host("octocat/Hello-World").expect("a host");
    assert!(host.resolve_ref(None).await.expect("a head").is_some());
    assert!(host.resolve_ref(Some("refs/heads/featureA")).await.expect("a head").is_some());
    assert_eq!(system.health().check().await.as_deref(), Ok("octocat"));
}

/// What Prism would say to another request, so that the test above can fail.
#[tokio::test]
async fn a_request_that_github_does_not_know_is_noticed() {
    let Some(github) = GitHub::start().await else { return };
    let url = format!("{}/api/v3/repos/octocat/hello/issues?state=nonsense", github.url);
    let answer = reqwest::get(url).await.expect("an answer");
    assert_eq!(answer.status(), 422);
}
