//! The log: one event a line, and no secrets in it, whoever chose the words.

use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{Service, binary};
use crate::repository;

/// What an argument is called by somebody who wants the log to say something else.
const FORGED: &str = "x\n2026-01-01T00:00:00Z ERROR forged\u{1b}[2J\u{9b}2J\u{202e}";

fn token() -> String {
    format!("{}_{}", "ghp", "16C7e42F292c6912E7710c838347Ae178B4a")
}

#[tokio::test]
async fn lines_for_people_hold_no_secrets_and_can_not_be_forged() {
    let log = log_of_hostile_work("text").await;
    for line in log.lines() {
        let (time, _) = line.split_once(' ').expect(line);
        assert!(time.starts_with("20") && time.ends_with('Z') && !time.starts_with("2026-01-01"));
    }
    assert!(log.contains("x\\n2026-01-01T00:00:00Z ERROR forged\\u{1b}[2J"));
}

#[tokio::test]
async fn lines_for_machines_hold_no_secrets_and_are_objects_each() {
    let log = log_of_hostile_work("json").await;
    for line in log.lines() {
        let event: Value = serde_json::from_str(line).expect(line);
        assert!(event["level"].is_string() && event["fields"].is_object(), "{line}");
    }
}

/// Everything that a service and an MCP server say, at the most talkative of their own levels, while they
/// work on names that hold a secret and line breaks.
async fn log_of_hostile_work(format: &str) -> String {
    let folder = TempDir::new().unwrap();
    let repository = hostile_repository(folder.path());
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
    assert!(log.contains("the ignore file is not honoured") && log.contains("a tool call failed"));
    assert!(log.contains("[secret:github-token]") && !log.contains(&token()));
    let is_escape = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
    assert!(!log.contains(is_escape));
    log
}

/// An ignore file that is a link is not followed, and the log says where it is.
fn hostile_repository(folder: &Path) -> PathBuf {
    let repository = repository::cart_sessions(folder);
    let hostile = repository.join(token());
    std::fs::create_dir(&hostile).unwrap();
    symlink("/dev/null", hostile.join(".gitignore")).unwrap();
    repository
}

/// What an MCP server logs of calls with arguments that no tool has.
fn log_of_hostile_call(service: &Service) -> String {
    let mut command = service.command(&["mcp", "--project", "shop"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut server = command.spawn().unwrap();
    let mut input = server.stdin.take().unwrap();
    let call = |id: u32, method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
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
fn a_command_that_can_not_be_done_repeats_no_secret() {
    let folder = TempDir::new().unwrap();
    let run = |args: &[&str]| {
        let mut command = Command::new(binary());
        command.args(args).env("MEMORY_COPILOT__DATA_DIR", folder.path());
        let output = command.env("DATABASE_URL", "").output().unwrap();
        assert!(!output.status.success(), "{args:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let token = token();
    let missing = format!("{}/{token}.yaml", folder.path().display());
    for args in [
        ["save", "x", "--project", "shop", &format!("--{token}")],
        ["search", "x", "--project", "shop", &format!("--limit={token}")],
        ["config", "show", "--json", "--config", &missing],
    ] {
        let said = run(&args);
        assert!(said.contains("[secret:github-token]") && !said.contains(&token), "{said}");
    }
}
