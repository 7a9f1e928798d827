//! The log has one event per line, and no secrets, whatever the input.

use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{Service, binary};
use crate::repository;

/// An argument that imitates a log line.
const FORGED: &str = "x\n2026-01-01T00:00:00Z ERROR forged\u{1b}[2J\u{9b}2J\u{202e}";

fn token() -> String {
    format!("{}_{}", "ghp", "16C7e42F292c6912E7710c838347Ae178B4a")
}

#[tokio::test]
async fn text_log_has_no_secrets_and_no_forged_lines() {
    let log = log_of_hostile_work("text").await;
    for line in log.lines() {
        let (time, _) = line.split_once(' ').expect(line);
        assert!(time.starts_with("20") && time.ends_with('Z') && !time.starts_with("2026-01-01"));
    }
    assert!(log.contains("x\\n2026-01-01T00:00:00Z ERROR forged\\u{1b}[2J"));
}

#[tokio::test]
async fn json_log_has_no_secrets_and_one_object_per_line() {
    let log = log_of_hostile_work("json").await;
    for line in log.lines() {
        let event: Value = serde_json::from_str(line).expect(line);
        assert!(event["level"].is_string() && event["fields"].is_object(), "{line}");
    }
}

/// Returns the log of a service and an MCP server at their most verbose levels, while they process
/// names with a secret and line breaks.
async fn log_of_hostile_work(format: &str) -> String {
    let directory = TempDir::new().unwrap();
    let repository = hostile_repository(directory.path());
    let mut service = Service::prepared();
    service.set("MEMORY_COPILOT__LOG__FORMAT", format.into());
    service.set("MEMORY_COPILOT__LOG__LEVEL", "debug,rmcp=trace,hyper=trace".into());
    service.launch().await;
    service.project("shop").await;
    service.index("shop", &repository).await;
    let body = json!({ "project_key": "shop", "kind": "fact", "content": token() });
    service.try_post("/save", &body).await.unwrap();
    let refused = json!({ "project_key": token(), "kind": token(), "content": token() });
    assert_eq!(service.try_post("/save", &refused).await.unwrap().0, 400);
    let log_of_server = log_of_hostile_call(&service);
    assert!(service.stop().success());

    let log = service.log() + &log_of_server;
    assert!(log.contains("ignore file skipped") && log.contains("tool call failed"));
    assert!(log.contains("[secret:github-token]") && !log.contains(&token()));
    let is_escape = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
    assert!(!log.contains(is_escape));
    log
}

/// A symlinked ignore file is not followed, and the log names its path.
fn hostile_repository(directory: &Path) -> PathBuf {
    let repository = repository::cart_sessions(directory);
    let hostile = repository.join(token());
    std::fs::create_dir(&hostile).unwrap();
    symlink("/dev/null", hostile.join(".gitignore")).unwrap();
    repository
}

/// Returns the log of an MCP server for calls with unknown arguments.
fn log_of_hostile_call(service: &Service) -> String {
    let mut command = service.command(&["mcp", "--project", "shop"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut server = command.spawn().unwrap();
    let mut input = server.stdin.take().unwrap();
    let call = |id: u32, method: &str, params: Value| {
        json!({ "jsonrpc": "2.0", "id": id,
        "method": method, "params": params })
    };
    let client = json!({ "name": token(), "version": FORGED });
    let hello =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    writeln!(input, "{}", call(1, "initialize", hello)).unwrap();
    writeln!(input, "{}", json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
        .unwrap();
    for (id, name) in [(2, FORGED.to_owned()), (3, token())] {
        let arguments = json!({ "name": "recall", "arguments": { name: 1 } });
        writeln!(input, "{}", call(id, "tools/call", arguments)).unwrap();
    }
    drop(input);
    String::from_utf8(server.wait_with_output().unwrap().stderr).unwrap()
}

#[test]
fn failed_command_prints_no_secret() {
    let directory = TempDir::new().unwrap();
    let run = |args: &[&str]| {
        let mut command = Command::new(binary());
        command.args(args).env("MEMORY_COPILOT__DATA_DIR", directory.path());
        let output = command.env("DATABASE_URL", "").output().unwrap();
        assert!(!output.status.success(), "{args:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let token = token();
    let missing = format!("{}/{token}.yaml", directory.path().display());
    for args in [
        ["save", "x", "--project", "shop", &format!("--{token}")],
        ["search", "x", "--project", "shop", &format!("--limit={token}")],
        ["config", "show", "--json", "--config", &missing],
    ] {
        let said = run(&args);
        assert!(said.contains("[secret:github-token]") && !said.contains(&token), "{said}");
    }
}
