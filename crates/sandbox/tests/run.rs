//! Commands in bubblewrap: what they see, and what is known of them afterwards.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

#[path = "support/sandbox.rs"]
mod support;

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use mc_domain::{Classified as _, ErrorKind};
use mc_sandbox::{
    Access, Command, Directory, EndedBy, Error, OutputStream, ProbeResult, ProbeStatus,
    RunnerChoice, RunnerKind, Sandbox, Status,
};
use support::{directory_of_user, python, run, sandbox, sandbox_with, settings, shell, work};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn command_has_its_status_and_its_output() {
    let Some(sandbox) = sandbox().await else { return };
    let outcome = run(&sandbox, shell("echo out; echo err >&2; exit 7")).await;
    assert_eq!((outcome.status, outcome.ended_by), (Status::Exited(7), EndedBy::Exit));
    assert_eq!(
        (outcome.stdout.to_text(), outcome.stderr.to_text()),
        ("out\n".into(), "err\n".into())
    );
    assert!(!outcome.is_success());
    let outcome = run(&sandbox, shell("kill -SEGV $$")).await;
    assert_eq!((outcome.status, outcome.ended_by), (Status::Signaled(11), EndedBy::Exit));
    assert!(run(&sandbox, Command::new("true")).await.is_success());
    assert_eq!(sandbox.kind(), RunnerKind::Bubblewrap);
}

#[tokio::test]
async fn arguments_reach_the_program_unchanged() {
    let Some(sandbox) = sandbox().await else { return };
    let arguments = ["a b", "", "$HOME `id` ; exit 1", "--bind", "-", "\u{e9}\n'\""];
    let command = python("import sys; print(sys.argv[1:])").args(arguments);
    let outcome = run(&sandbox, command).await;
    let expected = "['a b', '', '$HOME `id` ; exit 1', '--bind', '-', '\u{e9}\\n\\'\"']\n";
    assert_eq!(outcome.stdout.to_text(), expected);
}

#[tokio::test]
async fn only_the_named_environment_is_there() {
    let Some(sandbox) = sandbox().await else { return };
    let command = Command::new("env").env("KEY", "a=b").env("LANG", "C");
    let outcome = run(&sandbox, command).await;
    let text = outcome.stdout.to_text();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    let expected = [
        "HOME=/tmp/home",
        "KEY=a=b",
        "LANG=C",
        "PATH=/usr/local/bin:/usr/bin:/bin",
        "TMPDIR=/tmp",
        "USER=sandbox",
    ];
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn writable_directory_keeps_the_changes() {
    let Some(sandbox) = sandbox().await else { return };
    let (written, read) = (directory_of_user(), directory_of_user());
    fs::write(read.path().join("input"), "text").unwrap();
    let read_only = Directory::open(read.path(), "/input", Access::ReadOnly).unwrap();
    let script = "cat /input/input > copy; mkdir -p a/b; ln -s /etc link; echo x > /input/new; \
                  echo x > /input/input; pwd; id -un";
    let command = shell(script).directory(work(written.path())).directory(read_only);
    let outcome = run(&sandbox, command.working_directory("/work")).await;
    assert_eq!(outcome.stdout.to_text(), "/work\nsandbox\n");
    assert_eq!(outcome.stderr.to_text().matches("Read-only file system").count(), 2);
    assert_eq!(fs::read_to_string(written.path().join("copy")).unwrap(), "text");
    assert!(written.path().join("a/b").is_dir());
    assert_eq!(fs::read_dir(read.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn part_of_a_read_only_directory_is_writable() {
    let Some(sandbox) = sandbox().await else { return };
    let outer = directory_of_user();
    for name in ["inner", "other"] {
        fs::create_dir(outer.path().join(name)).unwrap();
        support::give_to_user(&outer.path().join(name));
        fs::write(outer.path().join(name).join("file"), name).unwrap();
    }
    let read_only = Directory::open(outer.path(), "/work", Access::ReadOnly).unwrap();
    let inner = Directory::open(&outer.path().join("inner"), "/work/inner", Access::Writable);
    let script = "cat other/file; echo x > inner/new; echo x > other/new; echo x > new; \
                  rm other/file; mv inner moved; ln other/file inner/hard";
    let command = shell(script).directory(read_only).directory(inner.unwrap());
    let outcome = run(&sandbox, command.working_directory("/work")).await;
    assert_eq!(outcome.stdout.to_text(), "other");
    let errors = outcome.stderr.to_text();
    assert_eq!(errors.lines().count(), 5, "{errors}");
    assert!(outer.path().join("inner/new").exists() && !outer.path().join("inner/hard").exists());
    assert_eq!(fs::read_dir(outer.path().join("other")).unwrap().count(), 1);
    assert_eq!(fs::read_dir(outer.path()).unwrap().count(), 2);
}

/// Returns the paths of a directory, of a free place for it, and of the directory that replaces it.
fn replaceable_path() -> (TempDir, [PathBuf; 3]) {
    let parent = directory_of_user();
    let [path, moved, other] = ["path", "moved", "other"].map(|name| parent.path().join(name));
    for directory in [&path, &other] {
        fs::create_dir(directory).unwrap();
        support::give_to_user(directory);
    }
    fs::write(path.join("file"), "expected").unwrap();
    fs::write(other.join("file"), "other").unwrap();
    (parent, [path, moved, other])
}

/// The directory is bound by its descriptor, not by its path.
#[tokio::test]
async fn a_replaced_path_has_no_effect() {
    let Some(sandbox) = sandbox().await else { return };
    let (_parent, [path, moved, other]) = replaceable_path();
    let directory = work(&path);
    fs::rename(&path, &moved).unwrap();
    symlink(&other, &path).unwrap();
    let command = shell("cat /work/file; echo x > /work/new").directory(directory);
    let outcome = run(&sandbox, command).await;
    assert_eq!(outcome.stdout.to_text(), "expected");
    assert!(moved.join("new").exists() && !other.join("new").exists());
}

/// While bubblewrap starts, another process replaces the path again and again.
#[tokio::test(flavor = "multi_thread")]
async fn a_path_that_is_replaced_during_the_start_is_refused_or_right() {
    let Some(sandbox) = sandbox().await else { return };
    let (parent, [path, moved, other]) = replaceable_path();
    let directory = work(&path);
    let is_stopped = Arc::new(AtomicBool::new(false));
    let swapping = std::thread::spawn({
        let is_stopped = is_stopped.clone();
        move || {
            while !is_stopped.load(Ordering::Relaxed) {
                fs::rename(&path, &moved).unwrap();
                symlink(&other, &path).unwrap();
                fs::remove_file(&path).unwrap();
                fs::rename(&moved, &path).unwrap();
            }
        }
    });
    let parent_path = parent.path().to_string_lossy();
    let (mut right, mut tried) = (0, 0);
    while tried < 40 || right == 0 && tried < 400 {
        tried += 1;
        let command = shell("cat /work/file").directory(directory.clone());
        match sandbox.run(command, |_, _| {}, &CancellationToken::new()).await {
            Ok(outcome) => {
                assert_eq!(outcome.stdout.to_text(), "expected");
                right += 1;
            }
            Err(Error::Directory { .. }) => {}
            // Bubblewrap has found another directory at the path, or the directory has another path
            // again.
            Err(Error::NotStarted(reason)) => {
                assert!(reason.contains("Race") || reason.contains(&*parent_path), "{reason}");
            }
            Err(error) => panic!("{error}"),
        }
    }
    is_stopped.store(true, Ordering::Relaxed);
    swapping.join().unwrap();
    assert!(right > 0, "none of {tried} commands was started");
    println!("{right} of {tried} commands were started");
}

#[tokio::test]
async fn output_arrives_while_the_command_runs() {
    let Some(sandbox) = sandbox().await else { return };
    let directory = directory_of_user();
    let go = directory.path().join("go");
    // The command ends only if its first line arrives before.
    let script = "echo one; while [ ! -e /work/go ]; do sleep 0.01; done; echo two >&2";
    let seen = Arc::new(Mutex::new(Vec::new()));
    let on_output = {
        let seen = seen.clone();
        move |stream, bytes: &[u8]| {
            seen.lock().unwrap().push((stream, bytes.to_vec()));
            fs::write(&go, "").unwrap();
        }
    };
    let command = shell(script).directory(work(directory.path()));
    let outcome = sandbox.run(command, on_output, &CancellationToken::new()).await.unwrap();
    assert!(outcome.is_success());
    let expected =
        [(OutputStream::Stdout, b"one\n".to_vec()), (OutputStream::Stderr, b"two\n".to_vec())];
    assert_eq!(*seen.lock().unwrap(), expected);
}

#[tokio::test]
async fn program_that_can_not_run_is_an_error() {
    let Some(sandbox) = sandbox().await else { return };
    for (program, cause) in [
        ("no-such-program", "No such file"),
        ("/etc/passwd", "Permission denied"),
        ("/work/x", "No such file"),
    ] {
        let run = sandbox.run(Command::new(program), |_, _| {}, &CancellationToken::new()).await;
        let error = run.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains(cause), "{error}");
    }
    let command = Command::new("true").working_directory("/work");
    let error = sandbox.run(command, |_, _| {}, &CancellationToken::new()).await.unwrap_err();
    assert!(error.to_string().contains("the working directory /work"), "{error}");
}

#[tokio::test]
async fn directory_that_the_user_can_not_reach_is_an_error() {
    let Some(sandbox) = sandbox().await else { return };
    if !mc_testkit::runs_as_root("only root has directories that the user can't enter") {
        return;
    }
    let closed = tempfile::tempdir().unwrap();
    fs::set_permissions(closed.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let inner = closed.path().join("inner");
    fs::create_dir(&inner).unwrap();
    let command = Command::new("true").directory(work(&inner));
    let error = sandbox.run(command, |_, _| {}, &CancellationToken::new()).await.unwrap_err();
    assert!(matches!(&error, Error::Directory { path, .. } if *path == inner), "{error}");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("denied"), "{error}");
}

#[tokio::test]
async fn tools_outside_of_usr_can_be_used() {
    let tools = tempfile::tempdir().unwrap();
    support::open_to_all(tools.path());
    fs::create_dir(tools.path().join("bin")).unwrap();
    support::open_to_all(&tools.path().join("bin"));
    let tool = tools.path().join("bin/tool");
    fs::write(&tool, "#!/bin/sh\necho tool\n").unwrap();
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    let mut settings = settings();
    settings.read_only_paths.push(tools.path().to_owned());
    let Some(with_tools) = sandbox_with(settings).await else { return };
    assert_eq!(run(&with_tools, Command::new(&tool)).await.stdout.to_text(), "tool\n");
    assert_eq!(run(&with_tools, Command::new("tool")).await.stdout.to_text(), "tool\n");
    let Some(without) = sandbox().await else { return };
    without.run(Command::new(&tool), |_, _| {}, &CancellationToken::new()).await.unwrap_err();
}

#[tokio::test]
async fn without_a_runner_commands_are_refused_with_the_reason() {
    let mut none = settings();
    none.runner = RunnerChoice::None;
    let error = Sandbox::detect(none).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Forbidden);
    let mut missing = settings();
    missing.bubblewrap = Some("/nonexistent/bwrap".into());
    let error = Sandbox::detect(missing).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    for part in ["bwrap is not installed", "sandbox.image is not set", "apt-get install bubblewrap"]
    {
        assert!(error.to_string().contains(part), "{error}");
    }
    let mut broken = settings();
    broken.bubblewrap = Some("/bin/false".into());
    let error = Sandbox::detect(broken).await.unwrap_err();
    assert!(matches!(error, Error::NoRunner { .. }), "{error}");
}

#[tokio::test]
async fn directory_of_the_service_is_refused() {
    let data = directory_of_user();
    let mut settings = settings();
    let [secrets, keys, roots, tree] =
        ["secrets", "secrets/keys", "secrets/trees", "secrets/trees/1"]
            .map(|name| data.path().join(name));
    settings.protected_paths.push(secrets.clone());
    settings.allowed_roots.push(roots.clone());
    for path in [&secrets, &keys, &roots, &tree] {
        fs::create_dir(path).unwrap();
        support::give_to_user(path);
    }
    let Some(sandbox) = sandbox_with(settings).await else { return };
    let command = shell("echo x > /work/new").directory(work(&tree));
    assert!(run(&sandbox, command).await.is_success());
    assert!(tree.join("new").exists());
    for path in [data.path(), &secrets, &keys, &roots, Path::new("/")] {
        let command = Command::new("true").directory(work(path));
        let error = sandbox.run(command, |_, _| {}, &CancellationToken::new()).await.unwrap_err();
        assert!(matches!(error, Error::InvalidCommand(_)), "{error}");
    }
}

#[tokio::test]
async fn probes_of_doctor_find_nothing() {
    let Some(sandbox) = sandbox().await else { return };
    let secret = directory_of_user().path().join("secret");
    let report = sandbox.probe(&[&secret, Path::new("/etc/hostname")]).await;
    assert!(report.holds(), "{report:?}");
    assert_eq!(report.results.len(), 13);
    let has_tools =
        |name: &&str| ["/usr/bin", "/bin"].iter().any(|path| Path::new(path).join(name).exists());
    if ["bash", "timeout", "unshare"].iter().all(has_tools) {
        let is_held = |result: &ProbeResult| result.status == ProbeStatus::Held;
        assert!(report.results.iter().all(is_held), "{report:?}");
    }
}

/// Without Landlock, a process may write this file of its own.
#[tokio::test]
async fn landlock_is_in_force() {
    let Some(sandbox) = sandbox().await else { return };
    if sandbox.probe(&[]).await.landlock.is_none() {
        mc_testkit::skip("MC_TEST_LANDLOCK", "the kernel has no Landlock", "with Linux 5.13");
        return;
    }
    let script = "echo 1000 > /proc/self/oom_score_adj; cat /proc/self/oom_score_adj";
    let outcome = run(&sandbox, shell(script)).await;
    assert_eq!(outcome.stdout.to_text(), "1000\n", "the first process has set it");
    assert!(outcome.stderr.to_text().contains("Permission denied"), "{outcome:?}");
}

/// A pipe in the tree would block git, and every other program outside that reads the tree.
#[tokio::test]
async fn pipes_are_created_outside_of_the_tree_only() {
    let Some(sandbox) = sandbox().await else { return };
    if sandbox.probe(&[]).await.landlock.is_none() {
        mc_testkit::skip("MC_TEST_LANDLOCK", "the kernel has no Landlock", "with Linux 5.13");
        return;
    }
    let directory = directory_of_user();
    let script = "mkfifo /tmp/pipe && echo one; mkfifo /work/pipe || echo two; \
                  mv /tmp/pipe /work/pipe || echo three; ls /work";
    let outcome = run(&sandbox, shell(script).directory(work(directory.path()))).await;
    assert_eq!(outcome.stdout.to_text(), "one\ntwo\nthree\n", "{outcome:?}");
}
