//! The fixtures of the official MCP conformance suite behind the HTTP stack that ships.
//!
//! `mc_mcp::http_router` mounts them exactly as it mounts the product's own server, behind the
//! product's own ingress, so the results of the suite about names, headers, status codes, sessions
//! and streams are valid for the product. Prints the URL it serves and runs until it is
//! killed. `scripts/conformance` starts it.

#![expect(deprecated, reason = "the suite asks for what the newest revision is about to drop")]

mod changes;
mod dialogs;
mod handler;
mod jobs;
mod legacy;
mod prompts;
mod resources;
mod samples;
mod tools;

use axum::Router;
use mc_api::{Ingress, IngressConfig, Serving, with_ingress};
use mc_mcp::http_router;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::handler::Fixtures;

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the URL is what this program has to say")]
async fn main() -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}/mcp", listener.local_addr()?);
    let shutdown = CancellationToken::new();
    let fixtures = Fixtures::new();
    let mcp = http_router(move || fixtures.clone(), shutdown.clone());
    let router = Router::new().nest_service("/mcp", mcp);
    let router = with_ingress(router, &Ingress::new(IngressConfig::default()));
    mc_api::run(listener, router, Serving::default(), shutdown).await
}
