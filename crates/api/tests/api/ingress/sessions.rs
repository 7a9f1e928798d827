//! Sessions of `/mcp` with the callers that authentication finds.

use mc_api::{Ingress, IngressConfig, Serving};
use mc_mcp::{CoreClient, MemoryServer, ServerSettings};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::wire::{Answer, Service};
use crate::client::{SECRET, TestApi};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_token_of_the_same_user_has_no_part_in_a_session() {
    let api = TestApi::start().await;
    let made = api.post("/tokens", json!({"name": "other", "scopes": ["memory:read"]})).await.ok();
    let other = made["token"].as_str().unwrap();
    let service = served(&api).await;
    let opened = post(&service, SECRET, "", "initialize").await;
    assert_eq!(opened.status, 200, "{opened:?}");
    let session = opened.header("mcp-session-id").unwrap();
    let of_session = format!("\r\nMcp-Session-Id: {session}");
    let end = |token: &str| {
        format!(
            "DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}{of_session}"
        )
    };
    assert_eq!(post(&service, other, &of_session, "notifications/initialized").await.status, 404);
    assert_eq!(service.ask(&end(other)).await.status, 404);
    assert_eq!(post(&service, SECRET, &of_session, "notifications/initialized").await.status, 202);
    assert_eq!(service.ask(&end(SECRET)).await.status, 202);
    assert_eq!(post(&service, SECRET, &of_session, "notifications/initialized").await.status, 404);
}

async fn served(api: &TestApi) -> Service {
    let core = CoreClient::in_process(mc_api::router(api.state.clone()));
    let server = MemoryServer::new(core, ServerSettings::default());
    let mcp = mc_mcp::http_router(move || server.for_session(), CancellationToken::new());
    let ingress = Ingress::new(IngressConfig::default());
    let router = mc_api::public_router(api.state.clone(), mcp, &ingress);
    Service::of(router, Serving::default()).await
}

/// Sends a message; `headers` begin with a line break.
async fn post(service: &Service, token: &str, headers: &str, method: &str) -> Answer {
    let mut message = json!({"jsonrpc": "2.0", "method": method});
    if method == "initialize" {
        message["id"] = 1.into();
        message["params"] = json!({
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}
        });
    }
    let body = message.to_string();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}{headers}\r\n\
         Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    service.ask(&request).await
}
