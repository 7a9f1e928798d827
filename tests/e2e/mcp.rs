//! The MCP server, driven by the official Python client over both transports.

use std::path::Path;
use std::process::Command;

use crate::cache::cache;
use crate::harness::{Service, binary};
use crate::repository;

const SYMBOL: &str = "CartSessions::Setting#trigger_delay_time_in_minutes";
const SYMBOL_FILE: &str = "app/services/cart_sessions/setting.rb";

#[tokio::test]
async fn the_official_client_does_its_work_over_stdio() {
    let (service, _folder) = indexed().await;
    let mut client = client(&service);
    client.arg("--stdio").arg(binary());
    for argument in ["mcp", "--project", "shop"] {
        client.arg(format!("--arg={argument}"));
    }
    expect_success(client);
}

#[tokio::test]
async fn the_official_client_does_its_work_over_http() {
    let (service, _folder) = indexed().await;
    let mut client = client(&service);
    client.args(["--http", &format!("{}/mcp", service.url)]);
    client.arg("--token-file").arg(service.data_dir.join("token"));
    expect_success(client);
}

async fn indexed() -> (Service, tempfile::TempDir) {
    let service = Service::embedded().await;
    let folder = tempfile::tempdir().unwrap();
    let shop = repository::cart_sessions(folder.path());
    service.project("shop").await;
    service.index("shop", &shop).await;
    service.until("/projects/shop", |project| project["pending_vectors"] == 0).await;
    (service, folder)
}

/// The client with its expectations; how it reaches the server is the caller's.
fn client(service: &Service) -> Command {
    let packages = cache().join("mcp-client");
    assert!(packages.is_dir(), "{} is missing; run `make test`", packages.display());
    let package = std::env::var("CARGO_MANIFEST_DIR").expect("set by cargo");
    let script = Path::new(&package).join("../../tests/mcp/drive.py");
    let mut command = Command::new("python3");
    command.arg(script).env("PYTHONPATH", packages);
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
