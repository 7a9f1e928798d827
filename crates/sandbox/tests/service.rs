//! The service behind a sandbox: with the privileges of root, killed, or without a response of the
//! first process.

#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "support/sandbox.rs"]
mod support;

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::MetadataExt as _;
use std::process::{Command as Program, Stdio};
use std::thread;
use std::time::Duration;

use mc_privileges::lower_privileges;
use mc_sandbox::{DEFAULT_USER, EndedBy, Limit, Limits, PROCESS_ARGUMENT};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use support::{directory_of_user, init_path, sandbox, shell, work};
use tokio_util::sync::CancellationToken;

/// Returns the processes of this machine, with their parents and arguments.
fn processes() -> HashMap<i32, (i32, String)> {
    let listed = fs::read_dir("/proc").unwrap().flatten();
    let process = |entry: fs::DirEntry| {
        let id: i32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        let parent = stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()?;
        let arguments = fs::read(entry.path().join("cmdline")).ok()?;
        Some((id, (parent, String::from_utf8_lossy(&arguments).into_owned())))
    };
    listed.filter_map(process).collect()
}

fn is_running(argument: &str) -> bool {
    let has = |arguments: &str| arguments.split('\0').any(|each| each == argument);
    processes().values().any(|(_, arguments)| has(arguments))
}

/// Returns the first process of the only sandbox that this process has started.
fn first_process() -> Option<Pid> {
    let all = processes();
    let is_own = |mut id: i32| {
        while let Some((parent, _)) = all.get(&id) {
            if *parent == std::process::id().cast_signed() {
                return true;
            }
            id = *parent;
        }
        false
    };
    // Before bubblewrap executes it, its arguments are bubblewrap's, which contain the same word.
    let is_first = |arguments: &str| {
        let mut words = arguments.split('\0');
        words.next().is_some_and(|first| first.starts_with("/proc/self/fd/"))
            && words.next() == Some(PROCESS_ARGUMENT)
    };
    let found = all.iter().find(|(id, (_, arguments))| is_first(arguments) && is_own(**id));
    found.map(|(id, _)| Pid::from_raw(*id))
}

/// A service that is root works as another user, in all threads.
#[test]
fn service_with_lowered_privileges_runs_commands_as_their_user() {
    if !mc_testkit::runs_as_root("only root has privileges to lower") {
        return;
    }
    let directory = directory_of_user();
    let service = thread::spawn({
        let directory = directory.path().to_owned();
        move || {
            lower_privileges().unwrap();
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let Some(sandbox) = sandbox().await else { return };
                let script = "echo text > /work/file; echo ready; sleep 1000";
                let cancel = CancellationToken::new();
                let on_output = {
                    let cancel = cancel.clone();
                    move |_, _: &[u8]| cancel.cancel()
                };
                let command = shell(script).directory(work(&directory));
                let outcome = sandbox.run(command, on_output, &cancel).await.unwrap();
                assert_eq!(outcome.ended_by, EndedBy::Cancelled);
                let written = fs::metadata(directory.join("file")).unwrap();
                assert_eq!((written.uid(), written.gid()), (DEFAULT_USER.uid, DEFAULT_USER.gid));
            });
        }
    });
    service.join().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn sandbox_whose_first_process_does_not_respond_is_killed() {
    let Some(sandbox) = sandbox().await else { return };
    let name = format!("unresponsive-{}", std::process::id());
    let cancel = CancellationToken::new();
    let on_output = {
        let cancel = cancel.clone();
        move |_, _: &[u8]| {
            kill(first_process().unwrap(), Signal::SIGSTOP).unwrap();
            cancel.cancel();
        }
    };
    let limits = Limits { grace_time: Duration::ZERO, ..Limits::default() };
    let command = shell("echo ready; while :; do sleep 1; done").args([&name]).limits(limits);
    let outcome = sandbox.run(command, on_output, &cancel).await.unwrap();
    assert_eq!(outcome.ended_by, EndedBy::Cancelled);
    assert!(!is_running(&name));
}

#[tokio::test(flavor = "multi_thread")]
async fn command_ends_if_its_first_process_is_killed() {
    let Some(sandbox) = sandbox().await else { return };
    let name = format!("orphan-{}", std::process::id());
    let on_output = |_, _: &[u8]| kill(first_process().unwrap(), Signal::SIGKILL).unwrap();
    let command = shell("echo ready; while :; do sleep 1; done").args([&name]);
    let outcome = sandbox.run(command, on_output, &CancellationToken::new()).await.unwrap();
    // As if the system had killed it, to free memory.
    assert_eq!(outcome.ended_by, EndedBy::Limit(Limit::Memory));
    assert!(!is_running(&name));
}

#[tokio::test]
async fn command_ends_with_the_service() {
    if sandbox().await.is_none() {
        return;
    }
    let name = format!("service-{}", std::process::id());
    let mut service = Program::new(init_path());
    let mut service = service.args(["service", &name]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(service.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    assert!(is_running(&name));
    service.kill().unwrap();
    service.wait().unwrap();
    while is_running(&name) {
        thread::sleep(Duration::from_millis(10));
    }
}

#[tokio::test]
async fn command_ends_if_the_function_for_its_output_panics() {
    let Some(sandbox) = sandbox().await else { return };
    let name = format!("panic-{}", std::process::id());
    let command = shell("echo ready; while :; do sleep 1; done").args([&name]);
    let on_output = |_, _: &[u8]| panic!("a panic of the caller");
    let error = sandbox.run(command, on_output, &CancellationToken::new()).await.unwrap_err();
    assert!(error.to_string().contains("panicked"), "{error}");
    while is_running(&name) {
        thread::sleep(Duration::from_millis(10));
    }
}
