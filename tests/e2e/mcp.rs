//! The MCP server, driven by the official Python client over both transports, and every outcome of
//! every tool, validated against its schema by the official Python and TypeScript clients.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::cache::cache;
use crate::harness::{Service, binary};
use crate::repository;

const SYMBOL: &str = "CartSessions::Setting#trigger_delay_time_in_minutes";
const SYMBOL_FILE: &str = "app/services/cart_sessions/setting.rb";

#[tokio::test]
async fn official_client_works_over_stdio() {
    let (service, _folder) = indexed().await;
    let mut client = client(&service);
    client.arg("--stdio").arg(binary());
    for argument in ["mcp", "--project", "shop"] {
        client.arg(format!("--arg={argument}"));
    }
    expect_success(client);
}

#[tokio::test]
async fn official_client_works_over_http() {
    let (service, _folder) = indexed().await;
    let mut client = client(&service);
    client.args(["--http", &format!("{}/mcp", service.url)]);
    client.arg("--token-file").arg(service.data_dir.join("token"));
    expect_success(client);
}

#[tokio::test]
async fn python_client_validates_every_outcome() {
    let (service, directory) = indexed().await;
    let packages = installed("mcp-client");
    let mut client = Command::new("python3");
    client.arg(script("outcomes.py")).env("PYTHONPATH", packages);
    client.args(scenario(&service, directory.path()).await);
    expect_success(client);
}

#[tokio::test]
async fn typescript_client_validates_every_outcome() {
    let (service, directory) = indexed().await;
    let packages = installed("mcp-client-typescript");
    let mut client = Command::new(packages.join("bin/node"));
    client.arg(script("typescript/outcomes.mjs")).env("MCP_PACKAGES", packages);
    client.args(scenario(&service, directory.path()).await);
    expect_success(client);
}

/// Returns the address of the server and the inputs of the steps: the tokens of a person and an
/// agent, a record to replace, and a document that exceeds the limit.
async fn scenario(service: &Service, directory: &Path) -> [String; 3] {
    service.post("/users", &json!({"login": "bot", "is_agent": true})).await;
    service.put("/projects/shop/members/bot", &json!({"role": "agent"})).await;
    let scopes = ["memory:read", "memory:write"];
    let agent = json!({"name": "outcomes", "scopes": scopes, "agent_login": "bot"});
    let agent = service.post("/tokens", &agent).await;
    let replaced = json!({"project_key": "shop", "kind": "rule",
        "content": "Shipping fees are floating-point euros, rounded wherever they are shown."});
    let replaced = service.post("/save", &replaced).await;
    let parts: String = (1..=40)
        .map(|n| format!("## Part {n}\n\n{}\n\n", "How the shop is run, step by step. ".repeat(20)))
        .collect();
    let handbook =
        json!({"doc_id": "1", "title": "Handbook", "content": format!("# Handbook\n\n{parts}")});
    let documents = json!({"project_key": "shop", "source": "wiki", "documents": [handbook]});
    service.post("/ingest/docs", &documents).await;
    let values = json!({
        "project": "shop",
        "tokens": {"person": service.token(), "agent": agent["token"]},
        "kept": {"replaced": replaced["id"], "root": directory.join("shop")},
    });
    let scenario = script("outcomes.json").display().to_string();
    [format!("{}/mcp", service.url), scenario, values.to_string()]
}

fn installed(piece: &str) -> PathBuf {
    let packages = cache().join(piece);
    assert!(packages.is_dir(), "{} is missing; run `make test`", packages.display());
    packages
}

pub fn script(name: &str) -> PathBuf {
    let package = std::env::var("CARGO_MANIFEST_DIR").expect("set by cargo");
    Path::new(&package).join("../../tests/mcp").join(name)
}

async fn indexed() -> (Service, tempfile::TempDir) {
    let service = Service::embedded().await;
    let directory = tempfile::tempdir().unwrap();
    let shop = repository::cart_sessions(directory.path());
    service.project("shop").await;
    service.index("shop", &shop).await;
    service.until("/projects/shop", |project| project["pending_vectors"] == 0).await;
    (service, directory)
}

/// Returns the command of the client, without the way to reach the server.
fn client(service: &Service) -> Command {
    let mut command = Command::new("python3");
    command.arg(script("drive.py")).env("PYTHONPATH", installed("mcp-client"));
    for (name, value) in service.environment() {
        command.env(name, value);
    }
    command.args(["--project", "shop", "--symbol", SYMBOL, "--symbol-file", SYMBOL_FILE]);
    command.args(["--describe", "sums the lines of an order and adds the shipping fee"]);
    command.args(["--describe-file", "app/models/order.rb", "--document", "Timing Rules"]);
    command
}

fn expect_success(mut client: Command) {
    let output = client.output().expect("python3 runs");
    let said = String::from_utf8_lossy(&output.stdout);
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{complaints}");
}
