//! Chat models: their configuration and the check by `doctor`, with the scripted server.

use mc_testkit::{ModelProtocol, ModelServer, Reply};
use serde_json::json;

use crate::harness::Service;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_requests_an_answer_of_each_chat_model() {
    let server = ModelServer::start(|request| match request.number {
        0 => Reply::text("Yes.").with_usage(20, 2),
        _ => Reply::status(401, "no such key sesame"),
    });
    let server = server.await;
    let mut service = Service::prepared();
    let settings = json!({
        "provider": "anthropic", "model": "small", "roles": ["judge"],
        "base_url": server.base_url(ModelProtocol::Anthropic), "api_key_env": "E2E_CHAT_KEY",
    });
    service.write_config(&json!({"chat": {"models": {"main": settings}}}).to_string());
    let check = service.doctor("chat").unwrap();
    assert!(check["ok"] == false && check["message"].to_string().contains("E2E_CHAT_KEY"));
    service.set("E2E_CHAT_KEY", "sesame".into());
    let check = service.doctor("chat").unwrap();
    let message = check["message"].to_string();
    assert!(check["ok"] == true && message.contains("main (small) answered"), "{check}");
    assert!(message.contains("with 22 tokens"), "{check}");
    let check = service.doctor("chat").unwrap();
    let message = check["message"].to_string();
    assert!(check["ok"] == false && message.contains("refused the key (status 401)"), "{check}");
    assert!(!check.to_string().contains("sesame"), "{check}");
    let shown = service.command(&["config", "show"]).output().unwrap();
    assert!(String::from_utf8_lossy(&shown.stdout).contains("provider: anthropic"));
}
