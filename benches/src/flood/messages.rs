//! Attacks by large bodies: messages to `/mcp`, with the least token, and webhook deliveries.

use std::sync::LazyLock;
use std::time::Duration;

use anyhow::Result;
use axum::body::Bytes;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use super::attacker::Attacker;
use super::wire;

const MIB: usize = 1024 * 1024;
/// Declared size of an unfinished message.
const UNFINISHED_BYTES: usize = 15 * MIB;
/// Declared size of an unfinished delivery, below the limit of 25 MiB.
const DELIVERY_BYTES: usize = 24 * MIB;
/// Bytes that are written at once.
const CHUNK_BYTES: usize = 64 * 1024;
/// How long an unfinished message is kept.
const HOLD: Duration = Duration::from_secs(10);
/// What a client of `/mcp` accepts.
const ACCEPTED: &str = "application/json, text/event-stream";

/// Millions of empty arrays in 14 MiB: a parsed value takes many times its text.
static MANY_VALUES: LazyLock<Bytes> =
    LazyLock::new(|| format!("[{}[]]", "[],".repeat(14 * MIB / 3)).into());

static INITIALIZE: LazyLock<Bytes> = LazyLock::new(|| {
    let client = json!({ "name": "flood", "version": "1" });
    let params = json!({
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client
    });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    message.to_string().into()
});

/// Sends all of a message but its end, and keeps the connection.
pub async fn unfinished(attacker: &Attacker) -> Result<()> {
    let token = &attacker.target.reader;
    let header = format!("Authorization: Bearer {token}\r\nAccept: {ACCEPTED}");
    send_unfinished(attacker, "/mcp", &header, UNFINISHED_BYTES).await
}

/// Sends all of a delivery but its end, and keeps the connection.
pub async fn unfinished_delivery(attacker: &Attacker) -> Result<()> {
    let header = "X-GitHub-Event: ping";
    send_unfinished(attacker, &attacker.target.webhook, header, DELIVERY_BYTES).await
}

async fn send_unfinished(
    attacker: &Attacker,
    path: &str,
    header: &str,
    bytes: usize,
) -> Result<()> {
    let mut stream = TcpStream::connect(attacker.target.address).await?;
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\n{header}\r\n\
         Content-Type: application/json\r\nContent-Length: {bytes}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    attacker.count(1);
    let chunk = vec![b' '; CHUNK_BYTES];
    for _ in 1..bytes / CHUNK_BYTES {
        stream.write_all(&chunk).await?;
        attacker.rest().await;
    }
    wire::drain(&mut stream, HOLD).await;
    Ok(())
}

/// Sends a message of many values.
pub async fn many_values(attacker: &Attacker) -> Result<()> {
    send(attacker, MANY_VALUES.clone()).await
}

/// Opens a session.
pub async fn initialize(attacker: &Attacker) -> Result<()> {
    send(attacker, INITIALIZE.clone()).await
}

async fn send(attacker: &Attacker, message: Bytes) -> Result<()> {
    let request = attacker.http.post(attacker.target.url("/mcp"));
    let request = request
        .bearer_auth(&attacker.target.reader)
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, ACCEPTED)
        .body(message);
    attacker.count(1);
    attacker.send(request).await
}
