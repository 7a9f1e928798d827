//! Faults as the person who meets them reads them.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{Service, binary};
use crate::repository;

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns an address at which nothing listens.
fn refused_address() -> String {
    // A separate address, so that no other process can take the port once it is free.
    let listener = TcpListener::bind("127.0.0.85:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

#[tokio::test]
async fn ingest_with_failed_files_names_them_and_fails() {
    let service = Service::embedded().await;
    let directory = TempDir::new().unwrap();
    let repository = repository::cart_sessions(directory.path());
    let shut = repository.join("shut.rb");
    std::fs::write(&shut, "def cart\n  1\nend\n").unwrap();
    std::fs::set_permissions(&shut, std::fs::Permissions::from_mode(0o0)).unwrap();
    let ingest = |json: &[&str]| {
        let mut command = service.command(&[json, &["ingest", "--project", "shop"]].concat());
        command.arg(&repository).output().unwrap()
    };
    let output = ingest(&[]);
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(shown.contains("SUCCEEDED"), "{shown}");
    assert!(shown.contains("failed: shut.rb: Permission denied (os error 13)"), "{shown}");
    let error = said(&output);
    assert!(error.contains("1 file could not be read or stored"), "{error}");
    let output = ingest(&["--json"]);
    let run: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&run["status"], &run["failed_files"]), (&json!("SUCCEEDED"), &json!(1)));
    assert_eq!(output.status.code(), Some(1));

    let empty = directory.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    std::fs::rename(&shut, empty.join("shut.rb")).unwrap();
    let mut command = service.command(&["ingest", "--project", "shop"]);
    let output = command.arg(&empty).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let error = said(&output);
    assert!(error.contains("none of the files") && error.contains("shut.rb"), "{error}");
    let log = service.log();
    assert!(log.contains("repository indexed"), "what matters is in the log at info");
    assert!(!log.contains("request completed"), "a request is not");
}

#[tokio::test]
async fn misspelt_url_leaves_no_repository() {
    let service = Service::embedded().await;
    let directory = TempDir::new().unwrap();
    let right = repository::cart_sessions(directory.path());
    let wrong = format!("file://{}/misspelt/{}", directory.path().display(), "cart");
    let ingest = |location: &str| {
        service.command(&["ingest", "-p", "shop", "--name", "cart", location]).output().unwrap()
    };
    let output = ingest(&wrong);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("check the location"), "{}", said(&output));
    assert_eq!(service.get("/projects/shop").await["repositories"], 0);
    let output = ingest(&format!("file://{}", right.display()));
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(service.get("/projects/shop").await["repositories"], 1);
}

#[tokio::test]
async fn interrupted_ingest_says_that_the_run_continues() {
    let service = Service::embedded().await;
    let directory = TempDir::new().unwrap();
    let repository = repository::cart_sessions(directory.path());
    for n in 0..2_000 {
        let text = format!("def cart_{n}\n  {n}\nend\n");
        std::fs::write(repository.join(format!("file_{n}.rb")), text).unwrap();
    }
    let mut command = service.command(&["ingest", "--project", "shop", "--wait-for-vectors"]);
    command.arg(&repository).stdout(Stdio::piped()).stderr(Stdio::piped());
    let command = command.spawn().unwrap();
    service.project("shop").await;
    let runs = "/repos/local/shop/index?project_key=shop";
    let run = until_requested(&service, runs).await;
    let pid = Pid::from_raw(i32::try_from(command.id()).unwrap()).unwrap();
    // The command handles the signal once it follows the run, of which nothing outside tells.
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    kill_process(pid, Signal::INT).unwrap();
    let output = command.wait_with_output().unwrap();
    let said = said(&output);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("the service continues the index run"), "{said}");
    assert!(said.contains(&format!("`memory-copilot repos cancel {run}`")), "{said}");
    service.until(runs, |run| run["status"] == "SUCCEEDED").await;
}

async fn until_requested(service: &Service, runs: &str) -> String {
    loop {
        let (status, run) = service.try_get(runs).await;
        if status == 200 {
            let run: Value = serde_json::from_str(&run).unwrap();
            return run["ingest_id"].as_str().unwrap().to_owned();
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn wrong_token_names_where_it_comes_from() {
    let service = Service::embedded().await;
    let whoami = || service.command(&["whoami"]);
    let output = whoami().env("MEMORY_COPILOT_TOKEN", "mcp_wrong").output().unwrap();
    let error = said(&output);
    assert!(!output.status.success(), "{error}");
    assert!(error.contains("the environment variable MEMORY_COPILOT_TOKEN"), "{error}");
    assert!(error.contains("Unset it") && !error.contains("mcp_wrong"), "{error}");

    let file = service.data_dir.join("token");
    std::fs::write(&file, "mcp_wrong").unwrap();
    let error = said(&whoami().output().unwrap());
    assert!(error.contains(&file.display().to_string()), "{error}");
    let answer = crate::harness::direct_client().get(format!("{}/status", service.url));
    let problem: Value =
        answer.bearer_auth("mcp_wrong").send().await.unwrap().json().await.unwrap();
    assert!(problem["detail"].to_string().contains("unknown, expired or revoked"), "{problem}");
}

#[test]
fn refused_database_names_its_host_and_no_password() {
    let directory = TempDir::new().unwrap();
    let address = refused_address();
    let url = format!("postgres://me:hunter2@{address}/memory");
    let mut command = Command::new(binary());
    command.arg("doctor").env("DATABASE_URL", &url);
    let output = command.env("MEMORY_COPILOT__DATA_DIR", directory.path()).output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    let expected = format!("database server {address} can't be reached (Connection refused");
    assert!(shown.contains(&expected), "{shown}");
    assert!(!shown.contains("hunter2"), "{shown}");
}

#[test]
fn serve_names_the_database_that_refuses_it() {
    let directory = TempDir::new().unwrap();
    let address = refused_address();
    let mut command = Command::new(binary());
    command.arg("serve").env("DATABASE_URL", format!("postgres://me:hunter2@{address}/memory"));
    command.env("MEMORY_COPILOT__DATA_DIR", directory.path());
    command.env("MEMORY_COPILOT__SERVER__LISTEN", "127.0.0.1:0").stderr(Stdio::piped());
    let mut service = command.stdout(Stdio::null()).spawn().unwrap();
    let log = std::io::BufReader::new(service.stderr.take().unwrap());
    let named = std::io::BufRead::lines(log).map(Result::unwrap).find(|line| {
        assert!(!line.contains("hunter2"), "{line}");
        line.contains(&address)
    });
    service.kill().unwrap();
    service.wait().unwrap();
    let named = named.expect("a line with the address");
    assert!(named.contains("Connection refused"), "{named}");
}

#[test]
fn invalid_database_url_shows_the_form_of_one() {
    let directory = TempDir::new().unwrap();
    let mut command = Command::new(binary());
    command.arg("doctor").env("DATABASE_URL", "postgres://me:hunter2@[db/memory");
    let output = command.env("MEMORY_COPILOT__DATA_DIR", directory.path()).output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(shown.contains("postgres://USER:PASSWORD@HOST:PORT/DATABASE"), "{shown}");
    assert!(!shown.contains("hunter2"), "{shown}");
}
