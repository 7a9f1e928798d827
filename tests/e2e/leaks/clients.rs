//! Canaries through the command line, MCP, and indexed repositories.

use std::path::Path;

use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::canaries::{Form, Kind};
use super::world::{PROJECT, World, output_of};
use crate::repository;

const WORD: usize = 120;

/// Runs the commands with canaries in all text arguments.
pub fn commands(world: &mut World) {
    let directory = TempDir::new().unwrap();
    let path = directory.path();
    for kind in [Kind::GithubToken, Kind::Mail] {
        let content = world.generator.text("content of save at the terminal", kind, Form::Plain);
        let title = world.line("title at the terminal", kind, WORD).unwrap_or("none".to_owned());
        let tag = world.word("tag at the terminal", kind, WORD).unwrap_or("none".to_owned());
        let cite =
            world.word("place cited at the terminal", kind, WORD).unwrap_or("none".to_owned());
        let cite = format!("{}#{}", "lib/cart.rb", cite);
        world.run_with(
            &["save", "-", "-p", PROJECT, "--title", &title, "--tag", &tag, "--cite", &cite],
            path,
            &content,
        );
        let query = world.generator.text("query at the terminal", kind, Form::Plain);
        world.run(&["recall", &query, "-p", PROJECT, "--signal", &tag]);
        let query = world.generator.text("search at the terminal", kind, Form::Plain);
        world.run(&["search", &query, "-p", PROJECT, "--explain"]);
    }
    let canary = world.word("option at the terminal", Kind::GithubToken, WORD).unwrap();
    for args in [
        vec!["save", "x", "-p", PROJECT, "--kind", &canary],
        vec!["search", "x", "-p", &canary],
        vec!["recall", "x", "-p", PROJECT, "--limit-tokens", &canary],
        vec!["ingest", &canary, "-p", PROJECT, "--detach"],
        vec!["token", "revoke", &canary],
        vec!["login", "--approve", &canary],
        vec!["config", "show", "--config", &canary],
        vec![canary.as_str()],
    ] {
        assert!(!world.run(&args), "{args:?}");
    }
    let records = world.generator.everything("record of an import");
    let record = json!({ "kind": "gotcha", "content": records, "title": "Imported" });
    std::fs::write(path.join("records.yaml"), record.to_string()).unwrap();
    assert!(world.run_with(&["import", "records.yaml", "-p", PROJECT], path, ""));
    let broken = world.generator.everything("broken import");
    std::fs::write(path.join("broken.yaml"), format!("- kind: fact\n  content: {broken}")).unwrap();
    world.run_with(&["import", "broken.yaml", "-p", PROJECT], path, "");
    let looked_at = world.generator.everything("file to sanitize");
    std::fs::write(path.join("secrets.txt"), looked_at).unwrap();
    for args in [vec!["sanitize", "secrets.txt"], vec!["sanitize", "--masked", "secrets.txt"]] {
        assert!(world.run_with(&args, path, ""));
    }
    for args in [
        vec!["export", "-p", PROJECT],
        vec!["--json", "export", "-p", PROJECT],
        vec!["config", "show"],
    ] {
        assert!(world.run(&args), "{args:?}");
    }
    assert!(world.witness.bytes_in("output of export") > 1_000);
}

/// Calls every tool with canaries in all its arguments and in unknown ones.
pub async fn tools(world: &mut World) {
    let mut messages = Vec::new();
    let mut request = |method: &str, params: Value| {
        let id = messages.len() + 1;
        messages.push(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    };
    request(
        "initialize",
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {
            "name": world.word("name of a client", Kind::GithubToken, WORD), "version": "1" } }),
    );
    for kind in Kind::SOME {
        for (tool, arguments) in arguments(world, kind) {
            request("tools/call", json!({ "name": tool, "arguments": arguments }));
        }
    }
    for kind in Kind::WORDS {
        let mut canary = |place: &str| world.word(place, kind, WORD).expect("a short canary");
        request("tools/call", json!({ "name": canary("unknown tool"), "arguments": {} }));
        request(
            "tools/call",
            json!({ "name": "recall", "arguments": { canary("unknown argument"): 1 } }),
        );
        request(
            "tools/call",
            json!({ "name": "save",
                "arguments": { "kind": canary("kind in MCP"), "content": "x" } }),
        );
        request(
            "tools/call",
            json!({ "name": "feedback",
                "arguments": { "bundle_id": canary("id in MCP"), "used": [] } }),
        );
        request(
            "resources/read",
            json!({ "uri": format!("memory://records/{}", canary("resource")) }),
        );
        request("resources/list", json!({ "cursor": canary("cursor") }));
        request(&canary("unknown method"), json!({}));
    }
    let input: String = messages.iter().map(|message| format!("{message}\n")).collect();
    let command = world.service.command(&["mcp", "--project", PROJECT]);
    let (_, said) = output_of(command, &input);
    assert!(String::from_utf8_lossy(&said).matches("\"jsonrpc\"").count() > 30);
    world.witness.note("output of mcp", said);
    over_http(world).await;
}

/// Returns the arguments of tools that accept text.
fn arguments(world: &mut World, kind: Kind) -> Vec<(&'static str, Value)> {
    let line = world.line("line in MCP", kind, WORD);
    let mut text = |place: &str| world.generator.text(place, kind, Form::Json);
    let mut calls = vec![
        ("recall", json!({ "query": text("recall in MCP"), "symbols": [text("symbol in MCP")] })),
        ("search", json!({ "query": text("search in MCP"), "explain": true })),
        ("search_code", json!({ "query": text("code search in MCP") })),
        ("open_doc", json!({ "title": text("title in MCP") })),
        ("link_issue", json!({ "task_external_id": text("task in MCP") })),
        (
            "save",
            json!({ "kind": "gotcha", "content": text("save in MCP"),
                "meta": { "env": text("meta in MCP") },
                "steps": [text("step in MCP")], "title": "Saved by a tool" }),
        ),
    ];
    if let Some(line) = line {
        let all = json!({ "kind": "fact", "content": "The carts are emptied at night.",
            "tags": [line], "title": line, "owner": line });
        calls.push(("save", all));
    }
    calls
}

async fn over_http(world: &mut World) {
    let bearer = format!("Bearer {}", world.service.token());
    for kind in Kind::WORDS {
        let canary = world.word("argument to /mcp", kind, WORD).unwrap();
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": "recall",
                "arguments": { canary.clone(): canary, "query": "x" } } });
        let headers = [
            ("authorization", bearer.as_str()),
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", "2025-06-18"),
            ("x-memory-copilot-project", PROJECT),
        ];
        world.send_raw(Method::POST, "/mcp", &headers, &body.to_string()).await;
    }
}

/// Indexes repositories with canaries in files, names, commits and branches.
pub async fn repositories(world: &mut World) {
    let directory = TempDir::new().unwrap();
    let repository = repository::cart_sessions(directory.path());
    for file in [
        "notes.md",
        "app.rb",
        "main.py",
        "settings.json",
        "settings.yaml",
        "deploy.sh",
        "data.txt",
        "lib.rs",
        ".env",
    ] {
        let text = world.generator.everything(&format!("file {file}"));
        repository::write(&repository, file, &text);
    }
    for kind in Kind::WORDS {
        let canary = world.word("definition in a file", Kind::GithubToken, WORD).unwrap();
        let code = format!("class Cart\n  def {canary}\n    1\n  end\nend\n");
        repository::write(&repository, &format!("lib/{kind:?}.rb"), &code);
    }
    for kind in [Kind::GithubToken, Kind::Mail] {
        let canary = world.word("name of a file", kind, WORD).unwrap();
        repository::write(
            &repository,
            &format!("names/{canary}.md"),
            "# A note\n\nIt says little.\n",
        );
    }
    let canary = world.word("name of a folder", Kind::GithubToken, WORD).unwrap();
    repository::write(
        &repository,
        &format!("{canary}/cart.rb"),
        "class Cart\n  def x\n    1\n  end\nend\n",
    );
    let message = world.generator.everything("message of a commit");
    repository::commit(&repository, &message);
    let indexed = index(world, &repository).await;
    assert_eq!(indexed["status"], "SUCCEEDED", "{indexed}");
    assert_eq!(indexed["files_skipped"]["revealing_name"], 3, "{indexed}");
    // A second run compares files that are already stored.
    repository::write(&repository, "notes.md", &world.generator.everything("changed file"));
    assert_eq!(index(world, &repository).await["status"], "SUCCEEDED");
}

async fn index(world: &mut World, repository: &Path) -> Value {
    let body = json!({ "project_key": PROJECT, "location": repository });
    let run = world.post("/ingest/git", &body).await;
    let path = format!("/ingest/runs/{}", run["ingest_id"].as_str().expect("an id"));
    let is_over = |run: &Value| matches!(run["status"].as_str(), Some("SUCCEEDED" | "FAILED"));
    world.service.until(&path, is_over).await;
    world.send(Method::GET, &path, &Value::Null).await.1
}
