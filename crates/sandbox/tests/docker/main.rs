//! Commands in containers. A stand-in plays the engine: it checks the requests, and sends output,
//! exit codes and errors. No real engine takes part.

#![allow(clippy::unwrap_used, reason = "tests")]

mod engine;

use std::path::Path;
use std::time::Duration;

use engine::{Engine, IMAGE, Scenario};
use mc_domain::{Classified as _, ErrorKind};
use mc_privileges::{UnprivilegedUser, is_root};
use mc_sandbox::{
    Access, Command, Directory, EndedBy, Error, InitProgram, Limit, Limits, Outcome, OutputStream,
    RunnerChoice, RunnerKind, Sandbox, Settings, Status,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// Limits with a short grace time.
fn limits() -> Limits {
    Limits { grace_time: Duration::from_millis(50), ..Limits::default() }
}

fn settings(engine: &Engine) -> Settings {
    let mut settings = Settings::new(InitProgram::current().unwrap());
    settings.runner = RunnerChoice::Docker;
    settings.docker.socket = engine.socket();
    IMAGE.clone_into(&mut settings.docker.image);
    settings
}

async fn run(engine: &Engine, command: Command) -> Result<Outcome, Error> {
    let sandbox = Sandbox::detect(settings(engine)).await.unwrap();
    let ignored = |_: OutputStream, _: &[u8]| {};
    sandbox.run(command.limits(limits()), ignored, &CancellationToken::new()).await
}

#[tokio::test]
async fn container_is_created_with_every_restriction() {
    let engine = Engine::start(Scenario::default());
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let limits = Limits {
        processor_time: Duration::from_secs(7),
        memory_bytes: 1 << 28,
        processes: 9,
        file_bytes: 1 << 20,
        temporary_bytes: 1 << 21,
        open_files: 77,
        ..limits()
    };
    let user = UnprivilegedUser { uid: 65_520, gid: 65_521 };
    let command = Command::new("cargo")
        .args(["test", "--", "a b"])
        .directory(Directory::open(first.path(), "/work", Access::Writable).unwrap())
        .directory(Directory::open(second.path(), "/input", Access::ReadOnly).unwrap())
        .working_directory("/work")
        .env("KEY", "value")
        .user(Some(user))
        .limits(limits);
    let sandbox = Sandbox::detect(settings(&engine)).await.unwrap();
    sandbox.run(command, |_, _| {}, &CancellationToken::new()).await.unwrap();
    let mut created = engine.created();
    let until = created["Labels"]["memory-copilot.sandbox.until"].take();
    assert!(until.as_str().unwrap().parse::<u64>().unwrap() > 1_700_000_000);
    let own = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let (uid, gid) = if is_root() { (user.uid, user.gid) } else { own };
    let real = |path: &Path| path.canonicalize().unwrap().to_str().unwrap().to_owned();
    let mount = |source: String, target: &str, is_read_only: bool| {
        json!({
            "Type": "bind", "Source": source, "Target": target, "ReadOnly": is_read_only,
            "BindOptions": {"Propagation": "rprivate", "CreateMountpoint": false},
        })
    };
    let ulimit = |name: &str, value: u64| json!({"Name": name, "Soft": value, "Hard": value});
    let expected = json!({
        "Image": IMAGE,
        "Entrypoint": ["cargo"],
        "Cmd": ["test", "--", "a b"],
        "Env": ["HOME=/tmp", "TMPDIR=/tmp", "LANG=C.UTF-8", "KEY=value"],
        "WorkingDir": "/work",
        "User": format!("{uid}:{gid}"),
        "Labels": {"memory-copilot.sandbox.until": null},
        "NetworkDisabled": true,
        "AttachStdin": false, "AttachStdout": true, "AttachStderr": true,
        "OpenStdin": false, "Tty": false,
        "HostConfig": {
            "NetworkMode": "none",
            "CapDrop": ["ALL"],
            "Privileged": false,
            "SecurityOpt": ["no-new-privileges:true"],
            "ReadonlyRootfs": true,
            "Tmpfs": {"/tmp": "rw,nosuid,nodev,exec,mode=1777,size=2097152"},
            "ShmSize": 2_097_152,
            "IpcMode": "private",
            "CgroupnsMode": "private",
            "PidsLimit": 9,
            "Memory": 1 << 28, "MemorySwap": 1 << 28,
            "NanoCpus": 1_000_000_000,
            "OomScoreAdj": 1000,
            "Ulimits": [
                ulimit("nofile", 77), ulimit("fsize", 1 << 20), ulimit("cpu", 7),
                ulimit("core", 0),
            ],
            "Init": true,
            "AutoRemove": false,
            "LogConfig": {"Type": "none"},
            "Mounts": [
                mount(real(first.path()), "/work", false),
                mount(real(second.path()), "/input", true),
            ],
        },
    });
    assert_eq!(created, expected);
}

#[tokio::test]
async fn socket_of_the_engine_is_never_mounted() {
    let engine = Engine::start(Scenario::default());
    let sandbox = Sandbox::detect(settings(&engine)).await.unwrap();
    let parent = engine.socket().parent().unwrap().to_owned();
    let directory = Directory::open(&parent, "/work", Access::ReadOnly).unwrap();
    let command = Command::new("true").directory(directory);
    let error = sandbox.run(command, |_, _| {}, &CancellationToken::new()).await.unwrap_err();
    assert!(matches!(error, Error::InvalidCommand(_)), "{error}");
    assert_eq!(engine.count("POST", "/containers/create"), 0);
}

#[tokio::test]
async fn output_and_exit_code_are_those_of_the_container() {
    let output = vec![(1, "one\n".to_owned()), (2, "two\n".to_owned()), (1, "x".repeat(200_000))];
    let engine = Engine::start(Scenario { output, exit_code: 3, ..Scenario::default() });
    let outcome = run(&engine, Command::new("make")).await.unwrap();
    assert_eq!((outcome.status, outcome.ended_by), (Status::Exited(3), EndedBy::Exit));
    assert_eq!(outcome.stderr.to_text(), "two\n");
    assert_eq!(outcome.stdout.total_bytes, 200_004);
    assert_eq!(outcome.stdout.omitted_bytes(), 200_004 - (64 << 10));
    engine.assert_removed();
    // The output is read before the container starts, and the status after its end.
    let order: Vec<String> = engine.requests().into_iter().map(|(_, path, _)| path).collect();
    let at = |part: &str| order.iter().position(|path| path.contains(part)).unwrap();
    assert!(at("/create") < at("/attach") && at("/attach") < at("/start"));
    assert!(at("/start") < at("/wait"));
}

#[tokio::test]
async fn exit_code_above_128_is_a_signal() {
    for (exit_code, is_out_of_memory, status, ended_by) in [
        (0, false, Status::Exited(0), EndedBy::Exit),
        (127, false, Status::Exited(127), EndedBy::Exit),
        (139, false, Status::Signaled(11), EndedBy::Exit),
        (137, false, Status::Signaled(9), EndedBy::Exit),
        (137, true, Status::Signaled(9), EndedBy::Limit(Limit::Memory)),
        (152, false, Status::Signaled(24), EndedBy::Limit(Limit::ProcessorTime)),
        (153, false, Status::Signaled(25), EndedBy::Limit(Limit::FileBytes)),
    ] {
        let engine = Engine::start(Scenario { exit_code, is_out_of_memory, ..Scenario::default() });
        let outcome = run(&engine, Command::new("make")).await.unwrap();
        assert_eq!((outcome.status, outcome.ended_by), (status, ended_by), "{exit_code}");
    }
}

#[tokio::test]
async fn container_that_exceeds_its_time_is_ended() {
    for ignores_sigterm in [false, true] {
        let scenario = Scenario { hangs: true, ignores_sigterm, ..Scenario::default() };
        let engine = Engine::start(scenario);
        let limits = Limits { wall_time: Duration::from_secs(1), ..limits() };
        let sandbox = Sandbox::detect(settings(&engine)).await.unwrap();
        let command = Command::new("sleep").limits(limits);
        let outcome = sandbox.run(command, |_, _| {}, &CancellationToken::new()).await.unwrap();
        assert_eq!(outcome.ended_by, EndedBy::Limit(Limit::WallTime));
        let signals: &[&str] = if ignores_sigterm { &["SIGTERM", "SIGKILL"] } else { &["SIGTERM"] };
        assert_eq!(engine.signals(), signals);
        engine.assert_removed();
    }
}

#[tokio::test]
async fn cancelled_container_is_ended() {
    let scenario = Scenario { hangs: true, ignores_sigterm: true, ..Scenario::default() };
    let engine = Engine::start(Scenario { output: vec![(1, "ready".to_owned())], ..scenario });
    let sandbox = Sandbox::detect(settings(&engine)).await.unwrap();
    let cancel = CancellationToken::new();
    let on_output = {
        let cancel = cancel.clone();
        move |_, _: &[u8]| cancel.cancel()
    };
    let command = Command::new("sleep").limits(limits());
    let outcome = sandbox.run(command, on_output, &cancel).await.unwrap();
    assert_eq!(outcome.ended_by, EndedBy::Cancelled);
    assert_eq!(engine.signals(), ["SIGTERM", "SIGKILL"]);
    engine.assert_removed();
}

#[tokio::test]
async fn container_is_removed_if_nobody_waits_for_it() {
    let scenario = Scenario { hangs: true, output: vec![(1, "x".into())], ..Scenario::default() };
    let engine = Engine::start(scenario);
    let sandbox = Sandbox::detect(settings(&engine)).await.unwrap();
    let (started, mut is_started) = tokio::sync::mpsc::unbounded_channel();
    let on_output = move |_, _: &[u8]| started.send(()).unwrap();
    let cancel = CancellationToken::new();
    tokio::select! {
        _ = sandbox.run(Command::new("sleep").limits(limits()), on_output, &cancel) => {
            panic!("it does not end")
        }
        _ = is_started.recv() => {}
    }
    while engine.count("DELETE", "/containers/") == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    engine.assert_removed();
}

#[tokio::test]
async fn errors_of_the_engine_are_reported_and_leave_no_container() {
    let failing = |at: &'static str, status: u16| {
        Engine::start(Scenario { error: Some((at, status)), ..Scenario::default() })
    };
    let engine = failing("/create", 500);
    let error = run(&engine, Command::new("make")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains("played error"), "{error}");
    assert_eq!(engine.count("DELETE", "/containers/"), 0, "there is nothing to remove");
    let engine = failing("/start", 400);
    let error = run(&engine, Command::new("no-such-program")).await.unwrap_err();
    assert!(matches!(&error, Error::Program { program, .. } if program == "no-such-program"));
    engine.assert_removed();
    for at in ["/attach", "/start", "/wait"] {
        let engine = failing(at, 500);
        let error = run(&engine, Command::new("make")).await.unwrap_err();
        assert!(matches!(error, Error::Docker(_)), "{at}: {error}");
        engine.assert_removed();
    }
    let engine = Engine::start(Scenario { error: Some(("DELETE", 500)), ..Scenario::default() });
    let error = run(&engine, Command::new("make")).await.unwrap_err();
    assert!(matches!(error, Error::NotEnded(_)), "{error}");
}

#[tokio::test]
async fn engine_without_the_image_is_refused() {
    let engine = Engine::start(Scenario { error: Some(("/images/", 404)), ..Scenario::default() });
    let error = Sandbox::detect(settings(&engine)).await.unwrap_err();
    assert!(error.to_string().contains("docker pull"), "{error}");
    let mut without_image = settings(&engine);
    without_image.docker.image.clear();
    let error = Sandbox::detect(without_image).await.unwrap_err();
    assert!(error.to_string().contains("sandbox.image is not set"), "{error}");
    let mut without_engine = settings(&engine);
    without_engine.docker.socket = "/nonexistent/docker.sock".into();
    let error = Sandbox::detect(without_engine).await.unwrap_err();
    assert!(error.to_string().contains("/nonexistent/docker.sock"), "{error}");
}

#[tokio::test]
async fn docker_is_used_if_there_is_no_bubblewrap() {
    let engine = Engine::start(Scenario::default());
    let mut settings = settings(&engine);
    settings.runner = RunnerChoice::Auto;
    settings.bubblewrap = Some("/nonexistent/bwrap".into());
    let sandbox = Sandbox::detect(settings).await.unwrap();
    assert_eq!(sandbox.kind(), RunnerKind::Docker);
    assert!(sandbox.description().contains(IMAGE));
}

#[tokio::test]
async fn container_is_removed_if_the_function_for_its_output_panics() {
    let scenario = Scenario { hangs: true, output: vec![(1, "x".into())], ..Scenario::default() };
    let engine = Engine::start(scenario);
    let sandbox = Sandbox::detect(settings(&engine)).await.unwrap();
    let on_output = |_, _: &[u8]| panic!("a panic of the caller");
    let command = Command::new("sleep").limits(limits());
    let error = sandbox.run(command, on_output, &CancellationToken::new()).await.unwrap_err();
    assert!(error.to_string().contains("panic"), "{error}");
    engine.assert_removed();
}

/// A service that was killed could not remove its container.
#[tokio::test]
async fn expired_containers_are_removed_at_the_start_and_before_each_command() {
    let containers = json!([
        {"Id": "expired", "Labels": {"memory-copilot.sandbox.until": "1000"}},
        {"Id": "running", "Labels": {"memory-copilot.sandbox.until": "99999999999"}},
        {"Id": "other", "Labels": {}},
    ]);
    let engine = Engine::start(Scenario { containers, ..Scenario::default() });
    let sandbox = Sandbox::detect(settings(&engine)).await.unwrap();
    let removed: Vec<String> = engine
        .requests()
        .into_iter()
        .filter(|(method, _, _)| method == "DELETE")
        .map(|(_, path, _)| path)
        .collect();
    let [removed] = removed.as_slice() else { panic!("{removed:?}") };
    assert!(removed.contains("/containers/expired?"), "{removed}");
    let listed = engine.requests().into_iter().find(|(_, path, _)| path.contains("/json?"));
    let (_, path, _) = listed.unwrap();
    assert!(path.contains("memory-copilot.sandbox.until") && path.contains("all=true"), "{path}");
    sandbox.run(Command::new("make"), |_, _| {}, &CancellationToken::new()).await.unwrap();
    let order = engine.requests();
    let created = order.iter().position(|(_, path, _)| path.contains("/create")).unwrap();
    let is_removal = |(method, path, _): &&(String, String, serde_json::Value)| {
        method == "DELETE" && path.contains("/containers/expired?")
    };
    assert_eq!(order[..created].iter().filter(is_removal).count(), 2);
    assert_eq!(engine.count("DELETE", "/containers/running"), 0);
}
