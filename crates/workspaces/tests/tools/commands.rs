//! Commands: what they see, what ends them, and what is left of them.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mc_contract::operations::workspace_tools::ToolResponse;
use mc_domain::{Classified as _, ErrorKind};
use mc_files::ProtectedDirectories;
use mc_git::WorkTree;
use mc_workspaces::tools::CommandProgress;
use serde_json::json;

use crate::support::{Fixture, SECRET, git_in};

/// Runs a command that does not succeed.
async fn failed(fixture: &Fixture, command: &str) -> ToolResponse {
    let done = fixture.bash(json!({"command": command})).await.expect(command);
    assert_ne!(done.error_code, 0, "{command}: {}", done.output);
    done
}

#[tokio::test]
async fn a_command_writes_below_the_locked_directory_only() {
    let Some(mut fixture) = Fixture::with_sandbox().await else { return };
    fixture.run("mkdir -p deep && echo new > deep/file && rm cart.rs").await;
    assert_eq!(fixture.content("src/deep/file"), "new\n");
    assert!(fixture.root.metadata("src/cart.rs").is_err());
    for command in [
        "echo x > ../README.md",
        "echo x > ../new",
        "rm ../other/notes.txt",
        "mv ../other .",
        "ln ../other/notes.txt hard",
        "mv ../src ../moved",
        "chmod 777 ../README.md",
    ] {
        failed(&fixture, command).await;
    }
    assert_eq!(fixture.content("README.md"), "# Shop\n");
    assert_eq!(fixture.content("other/notes.txt"), "notes\n");
    fixture.lock("");
    assert_eq!(fixture.run("echo x > new; pwd").await, "/workspace\n");
    assert_eq!(fixture.content("new"), "x\n");
}

#[tokio::test]
async fn a_command_sees_neither_git_nor_the_machine() {
    let Some(fixture) = Fixture::with_sandbox().await else { return };
    let names = fixture.run("ls -A /workspace").await;
    assert_eq!(names, "README.md\nother\nsrc\n", "without .git");
    let other = Fixture::new().await;
    for directory in [fixture.directory(), other.directory()] {
        // Not its permissions hide it.
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).expect("permissions");
        failed(&fixture, &format!("ls {}", directory.display())).await;
    }
    for file in ["/etc/shadow", "/etc/hostname", "/etc/fstab"] {
        failed(&fixture, &format!("cat {file}")).await;
    }
    failed(&fixture, "ls /root /home").await;
    assert!(!fixture.run("cat /etc/passwd; env").await.contains("/bin/bash\n/root"));

    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a listener");
    let port = listener.local_addr().expect("an address").port();
    failed(&fixture, &format!("echo x > /dev/tcp/127.0.0.1/{port}")).await;
    assert!(listener.accept().is_err(), "no connection");
}

#[tokio::test]
async fn a_link_to_the_outside_is_not_followed() {
    let Some(mut fixture) = Fixture::with_sandbox().await else { return };
    let outside = tempfile::tempdir().expect("a directory");
    let text = "text of the outside\n";
    fs::write(outside.path().join("canary"), text).expect("a file");
    let path = outside.path().display();
    fixture.run(&format!("ln -s {path}/canary link; ln -s {path} directory; ln -s .. up")).await;
    for path in ["link", "directory/canary", "up/README.md"] {
        fixture.navigator(json!({"subcommand": "read", "path": path})).expect_err(path);
        let write = json!({"subcommand": "write", "path": path, "content": "x\n"});
        fixture.edit(write).expect_err(path);
    }
    fixture.git(json!({"subcommand": "add"})).await.expect("the links are staged as such");
    let diff = fixture.git(json!({"subcommand": "diff", "staged": true})).await.expect("a diff");
    assert!(!diff.output.contains(text), "{}", diff.output);
    fixture.navigator(json!({"subcommand": "unlock"})).expect("unlocked");
    fixture.navigator(json!({"subcommand": "cd", "path": "directory"})).expect_err("a link");
    let kept = fs::read_to_string(outside.path().join("canary")).expect("a file");
    assert_eq!(kept, text);
}

#[tokio::test]
async fn a_command_has_its_exit_code_and_its_limits() {
    let Some(fixture) = Fixture::with_sandbox().await else { return };
    let done = failed(&fixture, "echo out; echo err >&2; exit 7").await;
    assert_eq!((done.output.as_str(), done.error.as_str()), ("out\n", "err\n"));
    assert_eq!(done.error_code, 7);
    let done = failed(&fixture, "kill -SEGV $$").await;
    assert_eq!(done.error_code, 139);
    assert_eq!(done.error, "The command was ended by signal 11.");
    let started = Instant::now();
    let slow = json!({"command": "printf begin; sleep 100", "timeout_seconds": 1});
    let done = fixture.bash(slow).await.expect("an end");
    assert_eq!((done.output.as_str(), done.error_code), ("begin", 124));
    assert!(done.error.contains("it ran longer than 1 s; set timeout_seconds"), "{}", done.error);
    assert!(started.elapsed() < Duration::from_mins(1));
    let done = fixture.bash(json!({"command": "-x"})).await.expect("no option of the shell");
    assert_eq!(done.error_code, 127, "{}", done.error);
}

#[tokio::test]
async fn a_flood_is_cut_and_counted() {
    let Some(fixture) = Fixture::with_sandbox().await else { return };
    let flood = "echo first; head -c 5000000 /dev/zero | tr '\\0' 'x' | fold -w 99; echo last";
    let seen = Arc::new(Mutex::new(CommandProgress::default()));
    let last = Arc::clone(&seen);
    let on_progress = move |progress| *last.lock().expect("no panic") = progress;
    let done = fixture.bash_with(json!({"command": flood}), on_progress).await.expect("an end");
    let total = 6 + 5_000_000 + 5_000_000 / 99 + 5;
    assert_eq!(seen.lock().expect("no panic").stdout_bytes, total);
    assert!(done.is_truncated && done.output.len() < 33 * 1024, "{}", done.output.len());
    assert!(done.output.starts_with("first\n") && done.output.ends_with("last\n"));
    let line = done.output.lines().find(|line| line.starts_with('[')).expect("a count");
    let omitted: u64 =
        line.trim_start_matches('[').split(' ').next().expect("a number").parse().expect(line);
    let kept = (done.output.len() - line.len() - 1) as u64;
    assert_eq!(omitted + kept, total, "{line}");
}

#[tokio::test]
async fn output_of_a_command_is_masked() {
    let Some(fixture) = Fixture::with_sandbox().await else { return };
    let output = fixture.run("cat conf.toml").await;
    assert!(output.contains("[secret:") && !output.contains("hunter2"), "{output}");
    let done = failed(&fixture, "cat conf.toml >&2; exit 1").await;
    assert!(done.error.contains("[secret:") && !done.error.contains("hunter2"), "{}", done.error);
    assert_eq!(fixture.content("src/conf.toml"), SECRET);
}

#[tokio::test]
async fn no_process_is_left() {
    let Some(fixture) = Fixture::with_sandbox().await else { return };
    let started = Instant::now();
    let background = "(trap '' TERM HUP; exec sleep 3217.25) >/dev/null 2>&1 & echo started";
    assert_eq!(fixture.run(background).await, "started\n");
    let cancelled = json!({"command": "trap '' TERM; echo ready; sleep 3217.25; sleep 3217.25"});
    let cancel = fixture.cancel.clone();
    let done = fixture.bash_with(cancelled, move |_| cancel.cancel()).await.expect("an end");
    assert_eq!((done.output.as_str(), done.error_code), ("ready\n", 130));
    assert_eq!(done.error, "The command was cancelled.");
    assert!(started.elapsed() < Duration::from_mins(1));
    let processes = fs::read_dir("/proc").expect("processes").flatten();
    let commands = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    assert_eq!(commands.filter(|command| command.starts_with(b"sleep\x003217.25")).count(), 0);
}

#[tokio::test]
async fn a_command_needs_the_edit_phase_and_a_clone() {
    let Some(mut fixture) = Fixture::with_sandbox().await else { return };
    fixture.navigator(json!({"subcommand": "unlock"})).expect("unlocked");
    let error = fixture.bash(json!({"command": "true"})).await.expect_err("discovery");
    assert!(error.to_string().starts_with("Cannot run commands in discovery phase."), "{error}");
    assert_eq!(error.kind(), ErrorKind::Conflict);

    let checkout = tempfile::tempdir().expect("a directory");
    git_in(checkout.path(), &["init", "--quiet"]);
    if mc_privileges::is_root() {
        // Git never changes files as root.
        let chown = Command::new("chown").args(["-R", "65534:65534"]).arg(checkout.path()).status();
        assert!(chown.expect("chown").success());
    }
    let protected = ProtectedDirectories::default();
    let in_place = WorkTree::in_place(checkout.path(), &protected, &fixture.cancel);
    fixture.work_tree = in_place.await.expect("a work tree");
    fixture.root = fixture.work_tree.root().expect("a tree");
    fixture.lock("");
    let error = fixture.bash(json!({"command": "true"})).await.expect_err("in place");
    assert!(error.to_string().starts_with("no commands run in a registered directory"), "{error}");
}
