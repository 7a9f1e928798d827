//! Saves of a client that offers its own model, by MCP sampling. The client is the official SDK.

use std::process::Command;

use serde_json::Value;

use crate::cache::cache;
use crate::harness::{Service, binary};
use crate::mcp::script;

/// Returns a service that asks the models of clients, and whose saves wait for an answer.
async fn service(wait_ms: u32) -> Service {
    let mut service = Service::prepared();
    service.write_config(&format!(
        "chat: {{models: {{client: {{provider: mcp_sampling, roles: [judge]}}}}}}\n\
         judge: {{wait_ms: {wait_ms}}}\n"
    ));
    service.launch().await;
    service.until_ready().await;
    service
}

/// Runs the client over each transport. Returns its saves and the questions that it got.
async fn saved(service: &Service, notes: &[&str]) -> Vec<Value> {
    let url = format!("{}/mcp", service.url);
    let binary = binary().to_str().expect("UTF-8");
    let mut found = Vec::new();
    for (project, transport) in [("stdio", ["--stdio", binary]), ("http", ["--http", &url])] {
        service.project(project).await;
        let mut client = Command::new("python3");
        client.arg(script("sample.py")).env("PYTHONPATH", cache().join("mcp-client"));
        for (name, value) in service.environment() {
            client.env(name, value);
        }
        client.args(transport).arg(project).arg(service.data_dir.join("token")).args(notes);
        let output = client.output().expect("python3 runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        found.push(serde_json::from_slice(&output.stdout).expect("JSON"));
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn model_of_the_client_judges_what_it_saves() {
    let service = service(20_000).await;
    for found in saved(&service, &["doubt", "prose", "reject"]).await {
        let save = |name: &str| &found["saves"][name];
        assert_eq!(save("doubt")["outcome"], "proposed", "{found}");
        let reason = save("doubt")["reason"].as_str().expect("a reason");
        assert!(reason.starts_with("the client's model doubts that it helps"), "{reason}");
        for name in ["prose", "reject"] {
            assert_eq!(save(name)["outcome"], "created", "{name}: {found}");
            assert!(save(name).get("judgment_wait_ms").is_none(), "{found}");
        }
        let questions = found["questions"].as_array().expect("questions");
        assert_eq!(questions.len(), 3, "one of each note: {found}");
        let system = questions[0]["system"].as_str().expect("a system prompt");
        assert!(system.contains("Answer with JSON only"), "{system}");
    }
    let usage = service.get("/projects/http/chat-usage").await;
    let day = &usage["items"][0];
    let counts = (&day["model"], &day["request_count"], &day["failed_count"]);
    assert_eq!(counts, (&"client".into(), &3.into(), &2.into()), "{usage}");
    assert_eq!(service.doctor("chat"), None, "it asks no client");
}

#[tokio::test(flavor = "multi_thread")]
async fn late_answer_of_the_client_is_applied() {
    let service = service(50).await;
    for found in saved(&service, &["slow"]).await {
        assert_eq!(found["saves"]["slow"]["outcome"], "created", "{found}");
    }
}
