//! Reasoning schemas: a prompt for a client that this project did not write, its answer, and the
//! proposals that follow from it.

use std::process::Command;

use serde_json::{Value, json};

use crate::cache::cache;
use crate::harness::{Service, binary};
use crate::mcp::script;

#[tokio::test]
async fn official_client_gets_a_prompt_and_its_answer_becomes_proposals() {
    let service = Service::embedded().await;
    service.project("shop").await;
    let fact = "The trigger delay of a cart session is nil if the two units differ.";
    service.post("/save", &json!({"project_key": "shop", "kind": "gotcha", "content": fact})).await;

    let mut client = Command::new("python3");
    client.arg(script("reason.py")).env("PYTHONPATH", cache().join("mcp-client"));
    for (name, value) in service.environment() {
        client.env(name, value);
    }
    client.arg(binary()).args(["shop", &service.url]).arg(service.data_dir.join("token"));
    let output = client.output().expect("python3 runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let printed: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let prompt = printed["prompt"].as_str().expect("a text");
    assert!(prompt.contains(fact), "the prompt has the memory bundle: {prompt}");

    let system = printed["system"].as_str().expect("a text");
    assert!(system.starts_with("- Before you change code, recall"), "{system}");

    let proposals = printed["stored"]["proposals"].as_array().expect("proposals");
    let kinds: Vec<_> = proposals.iter().map(|one| (&one["kind"], &one["outcome"])).collect();
    let proposed = json!("proposed");
    assert_eq!(kinds, [(&json!("fact"), &proposed), (&json!("fewshot"), &proposed)]);

    let open = service.get("/proposals?project_key=shop").await;
    let items = open["items"].as_array().expect("items");
    assert_eq!(items.len(), 2, "{open}");
    let example = items.iter().find(|one| one["kind"] == "fewshot").expect("an example");
    let content = example["content"].as_str().expect("a text");
    assert!(content.contains("+  delay_in(trigger_delay_unit)"), "{content}");
}
