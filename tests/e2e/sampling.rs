//! Saves of a client that offers its own model, by MCP sampling. The client is the official SDK.

use std::process::Command;

use serde_json::Value;

use crate::cache::cache;
use crate::harness::{Service, binary};
use crate::mcp::script;

const CONFIG: &str = "chat: {models: {client: {provider: mcp_sampling, roles: [judge]}}}
judge: {wait_ms: 1500}
";

/// Runs the client; returns what it saved and was asked.
async fn saved(service: &Service, project: &str, transport: &[&str]) -> Value {
    service.project(project).await;
    let mut client = Command::new("python3");
    client.arg(script("sample.py")).env("PYTHONPATH", cache().join("mcp-client"));
    for (name, value) in service.environment() {
        client.env(name, value);
    }
    client.args(transport).arg(project).arg(service.data_dir.join("token"));
    let output = client.output().expect("python3 runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn check(found: &Value) {
    let save = |name: &str| &found["saves"][name];
    assert_eq!(save("doubt")["outcome"], "proposed", "{found}");
    let reason = save("doubt")["reason"].as_str().expect("a reason");
    assert!(reason.contains("without a lesson"), "{reason}");
    for name in ["prose", "reject", "slow"] {
        assert_eq!(save(name)["outcome"], "created", "{name}: {found}");
        assert!(save(name).get("awaits_judgment").is_none(), "{found}");
    }
    let questions = found["questions"].as_array().expect("questions");
    assert_eq!(questions.len(), 4, "each note is asked about once: {found}");
    let system = questions[0]["system"].as_str().expect("a system prompt");
    assert!(system.contains("Answer with JSON only"), "{system}");
}

#[tokio::test(flavor = "multi_thread")]
async fn model_of_the_client_judges_what_it_saves() {
    let mut service = Service::prepared();
    service.write_config(CONFIG);
    service.launch().await;
    service.until_ready().await;
    let binary = binary().to_str().expect("UTF-8");
    check(&saved(&service, "stdio", &["--stdio", binary]).await);
    let url = format!("{}/mcp", service.url);
    check(&saved(&service, "http", &["--http", &url]).await);

    let usage = service.get("/projects/http/chat-usage").await;
    let day = &usage["items"][0];
    assert_eq!((&day["model"], &day["request_count"]), (&"client".into(), &2.into()), "{usage}");
    // No server has the role, so the service asks nobody by itself.
    assert_eq!(service.doctor("chat"), None);
}
