//! Attempts to break out of bubblewrap. Each is a command that prints what it got; nothing of the
//! outside may be in its output, and the outside must not change.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

mod attempts;
mod outside;
#[path = "../support/sandbox.rs"]
mod support;

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::time::Duration;

use attempts::{Attempt, ESCAPED, TRIED};
use mc_sandbox::{Access, Directory, EndedBy, Limits, Outcome, Sandbox};
use outside::Outside;
use support::{directory_of_user, python, run, sandbox, settings, shell, work};

/// User of a service that is not root, when the tests run as root.
const SERVICE_USER: u32 = 65_534;
/// Number of attempts that the project requires.
const REQUIRED: usize = 80;

#[tokio::test]
async fn nothing_leads_out_of_the_sandbox() {
    let Some(sandbox) = sandbox().await else { return };
    let outside = Outside::new();
    let before = outside.state();
    let attempts = attempts::all(&outside);
    let mut failures = Vec::new();
    let mut tried = 0;
    for attempt in &attempts {
        if let Some(tool) = attempt.missing_tool() {
            println!("not tried: {} ({tool} is not installed)", attempt.name);
            continue;
        }
        tried += 1;
        let outcome = try_once(&sandbox, &outside, attempt).await;
        let problem = problem(&outside, &outcome);
        failures.extend(problem.map(|problem| format!("{}: {problem}", attempt.name)));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(tried >= REQUIRED, "{tried} attempts");
    assert_eq!(outside.state(), before, "the outside has changed");
    assert!(outside.other_process_is_running(), "a process outside was ended");
    assert_eq!(outside.connections(), 0, "a server outside was reached");
    println!("{tried} attempts");
}

async fn try_once(sandbox: &Sandbox, outside: &Outside, attempt: &Attempt) -> Outcome {
    let directory = directory_of_user();
    outside.add_links(directory.path());
    let read_only = Directory::open(&outside.read_only(), "/input", Access::ReadOnly).unwrap();
    let command = if attempt.is_python { python(&attempt.script) } else { shell(&attempt.script) };
    let command = command.directory(work(directory.path())).directory(read_only);
    let limits = Limits { wall_time: Duration::from_mins(1), ..Limits::default() };
    run(sandbox, command.working_directory("/work").limits(limits)).await
}

fn problem(outside: &Outside, outcome: &Outcome) -> Option<String> {
    let printed = outcome.stdout.to_text() + &outcome.stderr.to_text();
    let has_tried = outcome.stdout.to_text().trim_end().ends_with(TRIED);
    let problem = if printed.contains(outside.canary()) {
        "it read the outside"
    } else if printed.contains(ESCAPED) {
        "it was allowed"
    } else if !has_tried || outcome.ended_by != EndedBy::Exit {
        "it did not try everything"
    } else {
        return None;
    };
    Some(format!("{problem}: {printed}"))
}

/// The attempts would be found out if they succeeded: without the sandbox, many do.
#[test]
fn attempts_succeed_outside() {
    let outside = Outside::new();
    let directory = directory_of_user();
    outside.add_links(directory.path());
    let attempts = attempts::all(&outside);
    let by_name = |name: &str| attempts.iter().find(|attempt| attempt.name == name).unwrap();
    for name in [
        "a file by its path",
        "a link that leads to a file",
        "a link that the command makes",
        "the arguments of other processes",
        "a server on this machine",
        "a socket of the service",
        "an abstract socket",
        "a shared file in /dev/shm",
    ] {
        let attempt = by_name(name);
        let mut command = std::process::Command::new(if attempt.is_python {
            "/usr/bin/python3"
        } else {
            "/bin/sh"
        });
        // The paths of the sandbox do not exist here.
        let script = attempt.script.replace("/work", directory.path().to_str().unwrap());
        let output = command.args(["-c", &script]).current_dir(&directory).output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(printed.contains(outside.canary()), "{name}: {printed}");
    }
}

/// The tests above run as root here, so the commands have a user of their own. A service that is
/// not root runs them as its own user.
#[test]
fn nothing_leads_out_of_the_sandbox_of_an_unprivileged_service() {
    if !mc_testkit::runs_as_root("only root can run the test as another user") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    support::open_to_all(directory.path());
    let init = directory.path().join("sandbox-init");
    fs::copy(support::init_path(), &init).unwrap();
    let mut command = std::process::Command::new("/proc/self/exe");
    command.args(["--exact", "nothing_leads_out_of_the_sandbox", "--nocapture"]);
    command.uid(SERVICE_USER).gid(SERVICE_USER).env(support::INIT, &init).current_dir("/");
    let output = command.output().unwrap();
    let printed = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{printed}");
    let is_done = printed.contains(" attempts\n") || printed.contains("skipped: ");
    assert!(is_done && printed.contains("1 passed"), "{printed}");
}

/// Files of the service's program are not in the sandbox, although it runs there.
#[tokio::test]
async fn program_of_the_service_is_out_of_reach() {
    let Some(sandbox) = support::sandbox_with(settings()).await else { return };
    let script = "for f in /proc/1/exe /proc/1/maps /proc/1/fd/0 /proc/1/mem /proc/1/environ; do \
                  head -c 4 $f && echo reached; done; ls /proc/1/fd /proc/1/map_files; echo end";
    let outcome = run(&sandbox, shell(script)).await;
    assert_eq!(outcome.stdout.to_text(), "end\n", "{outcome:?}");
    assert_eq!(outcome.stderr.to_text().matches("Permission denied").count(), 7, "{outcome:?}");
}
