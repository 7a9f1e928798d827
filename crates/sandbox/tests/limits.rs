//! Limits of commands in bubblewrap, and commands that resist their end.

#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "support/sandbox.rs"]
mod support;

use std::fs;
use std::path::Path;
use std::time::Duration;

use mc_sandbox::{
    Access, Command, Directory, EndedBy, Limit, Limits, Outcome, OutputStream, Sandbox, Status,
};
use support::{directory_of_user, python, run, sandbox, shell, work};
use tokio_util::sync::CancellationToken;

/// Time in which a command that is not ended by its limit would fail the test.
const LONG: Duration = Duration::from_mins(2);

/// Returns limits that no test reaches.
fn wide() -> Limits {
    Limits { wall_time: LONG, processor_time: LONG, ..Limits::default() }
}

/// Returns whether a process of this machine has the text among its arguments.
fn is_running(argument: &str) -> bool {
    let listed = fs::read_dir("/proc").unwrap().flatten();
    listed.into_iter().any(|entry| {
        let arguments = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        arguments.split(|byte| *byte == 0).any(|each| each == argument.as_bytes())
    })
}

fn assert_ended_by(outcome: &Outcome, limit: Limit) {
    assert_eq!(outcome.ended_by, EndedBy::Limit(limit), "{outcome:?}");
}

/// Runs a command, and cancels it at its first output on the stream.
async fn cancel_at_output(sandbox: &Sandbox, command: Command, stream: OutputStream) -> Outcome {
    let cancel = CancellationToken::new();
    let on_output = {
        let cancel = cancel.clone();
        move |of, _: &[u8]| {
            if of == stream {
                cancel.cancel();
            }
        }
    };
    sandbox.run(command, on_output, &cancel).await.unwrap()
}

#[tokio::test]
async fn wall_time_is_limited() {
    let Some(sandbox) = sandbox().await else { return };
    let limits = Limits { wall_time: Duration::from_secs(1), ..wide() };
    let outcome = run(&sandbox, Command::new("sleep").args(["1000"]).limits(limits)).await;
    assert_ended_by(&outcome, Limit::WallTime);
    assert_eq!(outcome.status, Status::Signaled(15));
    assert!(outcome.duration >= Duration::from_secs(1));
}

#[tokio::test]
async fn command_gets_sigterm_before_sigkill() {
    let Some(sandbox) = sandbox().await else { return };
    let script = "trap 'echo ended; exit 3' TERM; echo ready; while :; do sleep 0.01; done";
    let command = shell(script).limits(Limits { grace_time: LONG, ..wide() });
    let outcome = cancel_at_output(&sandbox, command, OutputStream::Stdout).await;
    assert_eq!(outcome.ended_by, EndedBy::Cancelled);
    assert_eq!(outcome.status, Status::Exited(3));
    assert_eq!(outcome.stdout.to_text(), "ready\nended\n");
}

/// Processes that ignore SIGTERM, have another session, and have no parent any more.
#[tokio::test]
async fn no_process_survives_its_sandbox() {
    let Some(sandbox) = sandbox().await else { return };
    let name = format!("survivor-{}", std::process::id());
    let script = format!(
        "trap '' TERM HUP INT; setsid perl -e '$SIG{{TERM}}=\"IGNORE\"; mkdir \"/tmp/a\"; \
         sleep 1 while 1' {name} & \
         (setsid perl -e '$SIG{{TERM}}=\"IGNORE\"; exit if fork; mkdir \"/tmp/b\"; \
         sleep 1 while 1' {name} &) & \
         while ! test -d /tmp/a -a -d /tmp/b; do sleep 0.01; done; echo ready; \
         perl -e '$SIG{{TERM}}=\"IGNORE\"; sleep 1 while 1' {name}"
    );
    let limits = Limits { grace_time: Duration::from_millis(100), ..wide() };
    let command = shell(&script).limits(limits);
    let outcome = cancel_at_output(&sandbox, command, OutputStream::Stdout).await;
    assert_eq!(outcome.ended_by, EndedBy::Cancelled);
    assert_eq!(outcome.status, Status::Signaled(9));
    assert!(!is_running(&name));
}

#[tokio::test]
async fn children_end_with_the_first_process() {
    let Some(sandbox) = sandbox().await else { return };
    let name = format!("daemon-{}", std::process::id());
    // It has closed the streams, so that nobody waits for it.
    let script = format!(
        "perl -e 'use POSIX; exit if fork; setsid; exit if fork; open STDOUT, \">/dev/null\"; \
         open STDERR, \">/dev/null\"; open F, \">/tmp/ready\"; close F; sleep 1000' {name}; \
         while ! test -e /tmp/ready; do :; done"
    );
    let outcome = run(&sandbox, shell(&script).limits(wide())).await;
    assert!(outcome.is_success(), "{outcome:?}");
    assert!(!is_running(&name));
}

#[tokio::test]
async fn cancelled_command_ends() {
    let Some(sandbox) = sandbox().await else { return };
    let name = format!("cancelled-{}", std::process::id());
    let cancel = CancellationToken::new();
    let on_output = {
        let cancel = cancel.clone();
        move |_, _: &[u8]| cancel.cancel()
    };
    let limits = Limits { grace_time: Duration::from_millis(100), ..wide() };
    let command = shell("trap '' TERM; echo ready; while :; do sleep 1; done").args([&name]);
    let outcome = sandbox.run(command.limits(limits), on_output, &cancel).await.unwrap();
    assert_eq!(outcome.ended_by, EndedBy::Cancelled);
    assert_eq!(outcome.stdout.to_text(), "ready\n");
    assert!(!is_running(&name));
    // A command that is cancelled before its start ends, too.
    let directory = directory_of_user();
    let target = format!("/early-{}", std::process::id());
    // It is among the arguments of bubblewrap, and so of a process that bubblewrap leaves behind.
    let early = Directory::open(directory.path(), &target, Access::ReadOnly).unwrap();
    let command = shell("sleep 1000").directory(early);
    let outcome = sandbox.run(command, |_, _| {}, &cancel).await.unwrap();
    assert_eq!(outcome.ended_by, EndedBy::Cancelled);
    assert!(!is_running(&target));
}

#[tokio::test]
async fn command_ends_if_nobody_waits_for_it() {
    let Some(sandbox) = sandbox().await else { return };
    let name = format!("dropped-{}", std::process::id());
    let (started, mut is_started) = tokio::sync::mpsc::unbounded_channel();
    let on_output = move |_, _: &[u8]| started.send(()).unwrap();
    let limits = Limits { grace_time: Duration::from_millis(100), ..wide() };
    let command = shell("trap '' TERM; echo ready; while :; do sleep 1; done").args([&name]);
    let cancel = CancellationToken::new();
    tokio::select! {
        _ = sandbox.run(command.limits(limits), on_output, &cancel) => panic!("it does not end"),
        _ = is_started.recv() => {}
    }
    while is_running(&name) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn fork_bomb_is_limited() {
    let Some(sandbox) = sandbox().await else { return };
    let limits = Limits { processes: 32, grace_time: Duration::ZERO, ..wide() };
    // The shell reports the first process that it can't create.
    let command = shell("f() { f | f & }; f; sleep 1000").limits(limits);
    let outcome = cancel_at_output(&sandbox, command, OutputStream::Stderr).await;
    assert!(outcome.stderr.to_text().contains("Cannot fork"), "{outcome:?}");
    assert!(outcome.usage.peak_processes <= 33, "{outcome:?}");
}

#[tokio::test]
async fn threads_count_as_processes() {
    let Some(sandbox) = sandbox().await else { return };
    let script = "import threading, time\n\
                  count = 0\n\
                  try:\n\
                  \x20 while count < 100: threading.Thread(target=time.sleep, args=(20,), \
                  daemon=True).start(); count += 1\n\
                  except RuntimeError: pass\n\
                  print(count, flush=True)\n\
                  import os; os._exit(0)";
    let outcome = run(&sandbox, python(script).limits(Limits { processes: 20, ..wide() })).await;
    let count: u64 = outcome.stdout.to_text().trim().parse().unwrap();
    assert!((10..=20).contains(&count), "{outcome:?}");
}

#[tokio::test]
async fn one_process_can_not_use_more_memory() {
    let Some(sandbox) = sandbox().await else { return };
    let script = "try:\n  data = bytearray(1 << 30)\nexcept MemoryError:\n  print('refused')";
    let limits = Limits { memory_bytes: 200 << 20, ..wide() };
    let outcome = run(&sandbox, python(script).limits(limits)).await;
    assert_eq!(outcome.stdout.to_text(), "refused\n", "{outcome:?}");
}

#[tokio::test]
async fn all_processes_together_can_not_use_more_memory() {
    let Some(sandbox) = sandbox().await else { return };
    let script = "import os, time\n\
                  for _ in range(8):\n\
                  \x20 if os.fork() == 0:\n\
                  \x20   data = bytearray(b'x') * (60 << 20)\n\
                  \x20   time.sleep(1000)\n\
                  time.sleep(1000)";
    let limits = Limits { memory_bytes: 200 << 20, ..wide() };
    let outcome = run(&sandbox, python(script).limits(limits)).await;
    assert_ended_by(&outcome, Limit::Memory);
    assert!(outcome.usage.peak_memory_bytes < 600 << 20, "{outcome:?}");
}

#[tokio::test]
async fn shared_memory_and_temporary_files_count_as_memory() {
    let Some(sandbox) = sandbox().await else { return };
    // A process that takes the memory out of its own does not free it.
    let shared = "import mmap, os, time\n\
                  f = os.open('/dev/shm/s', os.O_RDWR | os.O_CREAT)\n\
                  os.ftruncate(f, 200 << 20)\nm = mmap.mmap(f, 200 << 20)\n\
                  for at in range(0, 200 << 20, 4096):\n\
                  \x20 m[at] = 1\n\
                  \x20 m.madvise(mmap.MADV_DONTNEED, at, 4096)\n\
                  time.sleep(1000)";
    let limits = Limits { memory_bytes: 150 << 20, ..wide() };
    assert_ended_by(&run(&sandbox, python(shared).limits(limits.clone())).await, Limit::Memory);
    let files = "head -c 100M /dev/zero > /tmp/a; head -c 100M /dev/zero > /dev/shm/b; sleep 1000";
    assert_ended_by(&run(&sandbox, shell(files).limits(limits.clone())).await, Limit::Memory);
    // Files without content take memory of the kernel.
    let empty = "import os\nfor n in range(10**9): os.close(os.open(f'/tmp/{n}', os.O_CREAT))";
    let limits = Limits { memory_bytes: 64 << 20, ..limits };
    assert_ended_by(&run(&sandbox, python(empty).limits(limits)).await, Limit::Memory);
}

/// After `MADV_DONTNEED`, it would belong to no process and stay allocated.
#[tokio::test]
async fn shared_memory_without_a_file_is_refused() {
    let Some(sandbox) = sandbox().await else { return };
    let script = "import mmap, os\n\
                  def shared():\n\
                  \x20 return mmap.mmap(-1, 4096, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)\n\
                  def validated(): return mmap.mmap(-1, 4096, 3 | mmap.MAP_ANONYMOUS)\n\
                  def zeroes(): return mmap.mmap(os.open('/dev/zero', os.O_RDWR), 4096)\n\
                  def private():\n\
                  \x20 return mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n\
                  for each in (shared, validated, zeroes, private):\n\
                  \x20 try: each(); print('allowed')\n\
                  \x20 except PermissionError: print('refused')";
    let outcome = run(&sandbox, python(script)).await;
    let has_landlock = sandbox.probe(&[]).await.landlock.is_some();
    let zeroes = if has_landlock { "refused" } else { "allowed" };
    let expected = format!("refused\nrefused\n{zeroes}\nallowed\n");
    assert_eq!(outcome.stdout.to_text(), expected, "{}", outcome.stderr.to_text());
}

/// Programs that projects use run without it.
#[tokio::test]
async fn usual_tools_run_in_the_sandbox() {
    let Some(sandbox) = sandbox().await else { return };
    let parallel = "import multiprocessing as m\n\
                    def f(n, v): v.value += n\n\
                    c = m.get_context('fork'); v = c.Value('i', 1)\n\
                    p = c.Process(target=f, args=(2, v)); p.start(); p.join(); print(v.value)";
    let outcome = run(&sandbox, python(parallel)).await;
    assert_eq!(outcome.stdout.to_text(), "3\n", "{}", outcome.stderr.to_text());
    let script = "set -e; cd /tmp; git init --quiet r; cd r; echo x > f; git add f; \
                  git -c user.name=a -c user.email=a@b commit --quiet --message=m; git gc --quiet; \
                  printf 'all:\\n\\t@perl -e \"print 1+1\"\\n' > Makefile; make -j2; \
                  seq 9 | sort -r | wc -l";
    let outcome = run(&sandbox, shell(script)).await;
    assert_eq!(outcome.stdout.to_text(), "29\n", "{}", outcome.stderr.to_text());
}

#[tokio::test]
async fn kept_output_is_no_more_than_the_limit() {
    let Some(sandbox) = sandbox().await else { return };
    for output_bytes in [0, 1, 7, 3000] {
        let script = "head -c 5000 /dev/zero; head -c 5000 /dev/zero >&2";
        let limits = Limits { output_bytes, ..wide() };
        let outcome = run(&sandbox, shell(script).limits(limits)).await;
        for output in [&outcome.stdout, &outcome.stderr] {
            assert_eq!(output.head.len() + output.tail.len(), output_bytes);
            assert_eq!(output.total_bytes, 5000);
        }
    }
}

#[tokio::test]
async fn size_of_files_is_limited() {
    let Some(sandbox) = sandbox().await else { return };
    let directory = directory_of_user();
    let limits = Limits { file_bytes: 1 << 20, temporary_bytes: 4 << 20, ..wide() };
    let copy = Command::new("dd").args(["if=/dev/zero", "of=/work/large", "bs=64k", "count=99"]);
    let command = copy.directory(work(directory.path())).limits(limits.clone());
    assert_ended_by(&run(&sandbox, command).await, Limit::FileBytes);
    assert_eq!(fs::metadata(directory.path().join("large")).unwrap().len(), 1 << 20);
    let many = "for n in 1 2 3 4 5 6; do head -c 1000000 /dev/zero > /tmp/$n || echo full; done";
    let outcome = run(&sandbox, shell(many).limits(limits)).await;
    assert_eq!(outcome.stdout.to_text().matches("full").count(), 2, "{outcome:?}");
}

#[tokio::test]
async fn number_of_open_files_is_limited() {
    let Some(sandbox) = sandbox().await else { return };
    let script = "import os\nfiles = []\n\
                  try:\n\
                  \x20 while True: files.append(os.open('/dev/null', 0))\n\
                  except OSError: print(len(files))";
    let outcome = run(&sandbox, python(script).limits(Limits { open_files: 50, ..wide() })).await;
    assert_eq!(outcome.stdout.to_text(), "47\n", "{outcome:?}");
}

#[tokio::test]
async fn processor_time_of_one_process_is_limited() {
    let Some(sandbox) = sandbox().await else { return };
    let limits = Limits { processor_time: Duration::from_secs(1), ..wide() };
    let outcome = run(&sandbox, python("while True: pass").limits(limits)).await;
    assert_ended_by(&outcome, Limit::ProcessorTime);
    // The kernel counts whole ticks of its clock, so the exact time may be less than the limit.
    assert!(outcome.usage.processor_time >= Duration::from_millis(700), "{outcome:?}");
}

/// Each process uses less than the limit.
#[tokio::test]
async fn processor_time_of_all_processes_together_is_limited() {
    let Some(sandbox) = sandbox().await else { return };
    let limits = Limits { processor_time: Duration::from_secs(2), ..wide() };
    for ignores_children in ["DEFAULT", "IGNORE"] {
        let script = format!(
            "$SIG{{CHLD}} = '{ignores_children}'; while (1) {{ if (!fork) {{ \
             1 while (times)[0] < 0.3; exit }} $SIG{{CHLD}} eq 'IGNORE' ? select(undef, undef, \
             undef, 0.3) : wait }}"
        );
        let command = Command::new("perl").args(["-e", &script]).limits(limits.clone());
        assert_ended_by(&run(&sandbox, command).await, Limit::ProcessorTime);
    }
}

#[tokio::test]
async fn flood_of_output_is_drained() {
    let Some(sandbox) = sandbox().await else { return };
    let limits = Limits { output_bytes: 1000, ..wide() };
    let script = "echo start; head -c 300M /dev/zero; echo; echo end";
    let before = peak_memory();
    let outcome = run(&sandbox, shell(script).limits(limits)).await;
    assert!(outcome.is_success(), "{outcome:?}");
    assert_eq!(outcome.stdout.total_bytes, 300 * (1 << 20) + 11);
    let kept = outcome.stdout.head.len() + outcome.stdout.tail.len();
    assert!(kept <= 1000, "{kept}");
    assert!(outcome.stdout.head.starts_with(b"start\n") && outcome.stdout.tail.ends_with(b"end\n"));
    assert!(peak_memory() - before < 50 << 20, "the service kept the flood");
}

/// Returns the largest memory that this process has used, in bytes.
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

#[tokio::test]
async fn endless_output_can_be_cancelled() {
    let Some(sandbox) = sandbox().await else { return };
    let cancel = CancellationToken::new();
    let mut seen = 0;
    let on_output = {
        let cancel = cancel.clone();
        move |_, bytes: &[u8]| {
            seen += bytes.len();
            if seen > 10 << 20 {
                cancel.cancel();
            }
        }
    };
    let command = Command::new("yes").limits(wide());
    let outcome = sandbox.run(command, on_output, &cancel).await.unwrap();
    assert_eq!(outcome.ended_by, EndedBy::Cancelled);
    assert!(outcome.stdout.omitted_bytes() > 9 << 20, "{outcome:?}");
}

#[tokio::test]
async fn space_on_the_disk_is_limited() {
    let Some(sandbox) = sandbox().await else { return };
    let directory = directory_of_user();
    let limits = Limits { disk_bytes: 50 << 20, ..wide() };
    let script = "n=0; while :; do head -c 4M /dev/zero > /work/$n; n=$((n + 1)); done";
    let command = shell(script).directory(work(directory.path())).limits(limits.clone());
    assert_ended_by(&run(&sandbox, command).await, Limit::DiskBytes);
    let empty = "n=0; while :; do : > /work/empty$n; n=$((n + 1)); done";
    let command = shell(empty).directory(work(directory.path())).limits(limits);
    assert_ended_by(&run(&sandbox, command).await, Limit::DiskBytes);
}

#[tokio::test]
async fn limits_can_not_be_raised_inside() {
    let Some(sandbox) = sandbox().await else { return };
    let script = "import resource as r\n\
                  for each in (r.RLIMIT_NPROC, r.RLIMIT_DATA, r.RLIMIT_FSIZE, r.RLIMIT_NOFILE, \
                  r.RLIMIT_CPU, r.RLIMIT_CORE):\n\
                  \x20 try: r.setrlimit(each, (r.RLIM_INFINITY, r.RLIM_INFINITY)); \
                  print('raised')\n\
                  \x20 except (ValueError, PermissionError): print('refused')\n";
    let outcome = run(&sandbox, python(script)).await;
    assert_eq!(outcome.stdout.to_text(), "refused\n".repeat(6), "{outcome:?}");
}

#[tokio::test]
async fn sandboxes_run_at_the_same_time() {
    let Some(sandbox) = sandbox().await else { return };
    let directories: Vec<_> = (0..8).map(|_| directory_of_user()).collect();
    let commands = directories.iter().enumerate().map(|(number, directory)| {
        let script = format!("echo {number} > /work/own; cat /work/own; ls /proc/self/fd | wc -l");
        run(&sandbox, shell(&script).directory(work(directory.path())))
    });
    for (number, outcome) in futures::future::join_all(commands).await.iter().enumerate() {
        // The streams, and the directory that is listed: no file of another sandbox.
        assert_eq!(outcome.stdout.to_text(), format!("{number}\n4\n"));
    }
    assert!(!Path::new("/work/own").exists());
}
