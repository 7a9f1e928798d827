//! The stored credentials of the command line, and their refresh.

use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;

use chrono::{DateTime, Utc};
use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};

use crate::harness::{Service, until_in_call};
use crate::sign_in::{Elsewhere, said};
use crate::tools::Client;

const TOKENS: [&str; 2] = ["access_token", "refresh_token"];

#[tokio::test]
async fn command_refreshes_an_expired_login_and_hides_it() {
    let service = Service::embedded().await;
    let elsewhere = Elsewhere::of(&service);
    elsewhere.sign_in(&["memory:read"]);
    let before = expire(&elsewhere);
    comes_in(&elsewhere);
    let after = login(&elsewhere);
    for token in TOKENS {
        assert_ne!(after[token], before[token], "{token}");
    }
    let expires_at: DateTime<Utc> = after["expires_at"].as_str().unwrap().parse().unwrap();
    assert!(expires_at > Utc::now(), "{expires_at}");
    let mode = file(&elsewhere).metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "{mode:o}");
    comes_in(&elsewhere);
    assert_eq!(login(&elsewhere), after, "one that is not over stays");
    let log = service.log();
    for token in TOKENS.map(|token| after[token].as_str().unwrap()) {
        assert!(!log.contains(token), "the log has a token");
    }
}

#[tokio::test]
async fn concurrent_commands_refresh_a_login_once() {
    // The system call `flock`.
    const FLOCK: &str = if cfg!(target_arch = "aarch64") { "32 0x" } else { "73 0x" };
    let service = Service::embedded().await;
    let elsewhere = Elsewhere::of(&service);
    elsewhere.sign_in(&["memory:read"]);
    let before = expire(&elsewhere);
    // Both have seen the expired token before either may refresh it.
    let lock = File::open(file(&elsewhere).with_extension("lock")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    let both = [(); 2].map(|()| {
        let mut command = elsewhere.command(&["whoami"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    });
    for command in &both {
        until_in_call(command, &[FLOCK]);
    }
    drop(lock);
    for command in both {
        let output = command.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
    }
    for token in TOKENS {
        assert_ne!(login(&elsewhere)[token], before[token], "{token}");
    }
    // A refresh token used twice would have ended the session.
    comes_in(&elsewhere);
    expire(&elsewhere);
    comes_in(&elsewhere);
}

#[tokio::test]
async fn mcp_server_refreshes_its_login() {
    let service = Service::embedded().await;
    service.project("shop").await;
    let elsewhere = Elsewhere::of(&service);
    elsewhere.sign_in(&["memory:read"]);
    let mut client = Client::start(elsewhere.command(&["mcp", "--project", "shop"]));
    let call = json!({"name": "recall", "arguments": {"query": "anything"}});
    // The second expiry is during a run.
    for _ in 0..2 {
        let before = expire(&elsewhere);
        let result = client.request("tools/call", &call);
        assert_eq!(result["isError"], false, "{result}");
        assert_ne!(login(&elsewhere)["refresh_token"], before["refresh_token"]);
    }
}

/// Lets the stored access token expire locally, and returns the former login.
fn expire(elsewhere: &Elsewhere<'_>) -> Value {
    let before = login(elsewhere);
    let mut over = before.clone();
    over["expires_at"] = json!("2000-01-01T00:00:00Z");
    let logins = json!({ &elsewhere.service.url: over });
    std::fs::write(file(elsewhere), logins.to_string()).unwrap();
    before
}

#[track_caller]
fn comes_in(elsewhere: &Elsewhere<'_>) {
    let output = elsewhere.run(&["whoami"]);
    assert!(output.status.success(), "{}", said(&output));
}

/// Returns the stored login of the service.
fn login(elsewhere: &Elsewhere<'_>) -> Value {
    let text = std::fs::read_to_string(file(elsewhere)).unwrap();
    let logins: Value = serde_json::from_str(&text).unwrap();
    let login = &logins[&elsewhere.service.url];
    assert!(login.is_object(), "{logins}");
    login.clone()
}

fn file(elsewhere: &Elsewhere<'_>) -> PathBuf {
    elsewhere.home.path().join(".config/memory-copilot/credentials.json")
}
