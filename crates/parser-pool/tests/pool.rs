//! Child processes with parsers that misbehave: they can't access other resources, and the pool
//! continues to work.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs::File;
use std::net::TcpListener;
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use mc_parser_pool::{CallError, Parser, ParserPool, Program};
use mc_privileges::UnprivilegedUser;
use mc_processor_time::thread_time;
use nix::unistd::Pid;
use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};

/// Declares parsers by name. `programs/probe.rs` defines them.
macro_rules! probes {
    ($($name:ident),+) => {
        $(struct $name;
        impl Parser for $name {
            const NAME: &'static str = stringify!($name);
            type Input<'a> = &'a str;
            type Output = String;
            fn max_output_bytes(_input_bytes: usize) -> usize {
                8 << 20
            }
            fn parse(_: &str) -> String {
                unreachable!("it runs in a child process")
            }
        })+
    };
}

probes!(
    Reverse, Loop, Compute, Park, Allocate, Hold, Abort, Panic, ReadFile, ListFiles, WriteFile,
    Connect, Run, Executable, CloseFile, User, Signal, RaiseLimit, Unknown
);

/// A bulk call of a parser that hangs.
struct BulkPark;

impl Parser for BulkPark {
    const NAME: &'static str = Park::NAME;
    const IS_BULK: bool = true;
    type Input<'a> = &'a str;
    type Output = String;
    fn max_output_bytes(input_bytes: usize) -> usize {
        Park::max_output_bytes(input_bytes)
    }
    fn parse(_: &str) -> String {
        unreachable!("it runs in a child process")
    }
}

const PROBE: &str = env!("CARGO_BIN_EXE_parser-probe");
/// The denial of a system call.
const DENIED: &str = "PermissionDenied";
/// Priority of a parser process, relative to the service's.
const NICENESS: i32 = 5;

fn pool() -> ParserPool {
    pool_with_arguments(&[])
}

/// Starts a pool whose processes have these arguments, which the program ignores.
fn pool_with_arguments(arguments: &[&str]) -> ParserPool {
    ParserPool::start(Program::new(PROBE, arguments)).unwrap()
}

fn fails<P>(pool: &ParserPool, input: &str) -> bool
where
    P: for<'a> Parser<Input<'a> = &'a str, Output = String>,
{
    matches!(pool.call::<P>(input), Err(CallError::Failed { .. }))
}

#[test]
fn parser_returns_its_result() {
    let pool = pool();
    assert_eq!(pool.call::<Reverse>("abc").unwrap(), "cba");
    assert_eq!(pool.call::<Reverse>("").unwrap(), "");
    let long = "a".repeat(5 << 20);
    assert_eq!(pool.call::<Reverse>(&long).unwrap(), long);
}

#[test]
fn calls_of_many_threads_get_their_own_results() {
    let pool = pool();
    thread::scope(|scope| {
        for number in 0..16 {
            let pool = &pool;
            scope.spawn(move || {
                for round in 0..20 {
                    let text = format!("{number} {round}");
                    let reversed: String = text.chars().rev().collect();
                    assert_eq!(pool.call::<Reverse>(&text).unwrap(), reversed);
                }
            });
        }
    });
}

#[test]
fn a_parser_that_fails_ends_its_process_only() {
    let pool = pool();
    for _ in 0..2 {
        assert!(fails::<Abort>(&pool, ""));
        assert!(fails::<Panic>(&pool, "text"));
        assert!(fails::<Unknown>(&pool, ""));
        assert_eq!(pool.call::<Reverse>("abc").unwrap(), "cba");
    }
}

#[test]
fn killed_processes_are_replaced() {
    let pool = pool_with_arguments(&["replaced-pool"]);
    let _other_pool = pool_with_arguments(&["other-pool"]);
    let of_other = processes("other-pool");
    assert_eq!(of_other.len(), 1);
    for _ in 0..3 {
        let killed = processes("replaced-pool");
        assert_eq!(killed.len(), 1);
        kill_processes("replaced-pool");
        assert_eq!(pool.call::<Reverse>("abc").unwrap(), "cba");
        assert_ne!(processes("replaced-pool"), killed);
    }
    assert_eq!(processes("other-pool"), of_other, "they were not killed");
}

/// The system kills a process to free memory. A text that has that effect each time is not parsed.
#[test]
fn a_text_whose_processes_are_killed_fails() {
    let pool = pool_with_arguments(&["killed-pool"]);
    thread::scope(|scope| {
        let running = scope.spawn(|| pool.call::<Park>(""));
        while !running.is_finished() {
            kill_processes("killed-pool");
            thread::yield_now();
        }
        let error = running.join().unwrap().unwrap_err();
        assert!(
            matches!(&error, CallError::Failed { cause, .. } if cause.contains("killed")),
            "{error}"
        );
    });
}

#[test]
fn a_process_is_replaced_if_it_holds_much_memory_after_a_large_text() {
    let argument = "of-memory";
    let pool = pool_with_arguments(&[argument]);
    let first = processes(argument);
    assert_eq!(first.len(), 1);
    // A number of bytes, and blanks that make the text large.
    let large = |bytes: usize| format!("{bytes}{}", " ".repeat(200_000));
    for bytes in [1_000_000, 80_000_000] {
        assert_eq!(pool.call::<Hold>(&large(bytes)).unwrap(), "");
        let is_kept = processes(argument) == first;
        assert_eq!(is_kept, bytes < 64 << 20, "{bytes} bytes");
    }
    assert_eq!(pool.call::<Reverse>("abc").unwrap(), "cba");
}

/// Kills the processes of the pool with this argument.
fn kill_processes(argument: &str) {
    for process in processes(argument) {
        // Fails if it has ended meanwhile.
        let _ = nix::sys::signal::kill(process, nix::sys::signal::Signal::SIGKILL);
    }
}

/// Returns the running processes of the pool with this argument that have dropped their privileges.
/// Tests of other pools may run in other threads of this process, or in other processes.
fn processes(argument: &str) -> Vec<Pid> {
    let parent = format!("\nPPid:\t{}\n", std::process::id());
    let last_argument = format!("\0{argument}\0");
    let is_own = |directory: &Path| {
        let read = |name: &str| std::fs::read_to_string(directory.join(name)).unwrap_or_default();
        let status = read("status");
        status.contains(&parent)
            && status.contains("\nSeccomp:\t2\n")
            && read("cmdline").ends_with(&last_argument)
    };
    let listed = std::fs::read_dir("/proc").unwrap().flatten();
    listed
        .filter(|entry| is_own(&entry.path()))
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok().map(Pid::from_raw))
        .collect()
}

#[test]
fn processor_time_and_memory_are_limited() {
    let pool = pool();
    assert!(fails::<Allocate>(&pool, &(2_u64 << 30).to_string()));
    assert_eq!(pool.call::<Allocate>("1000000").unwrap(), "1000000");
    assert_eq!(pool.call::<RaiseLimit>("").unwrap(), DENIED);
    assert!(fails::<Loop>(&pool, ""));
    assert_eq!(pool.call::<Reverse>("abc").unwrap(), "cba");
}

/// Processor time that a parser of the probe may use for a text.
const TIME_LIMIT: Duration = Duration::from_millis(500);
/// Processor time of the probe `Compute`.
const COMPUTED: Duration = Duration::from_millis(300);

/// A text that is stopped at its limit is charged to its caller. The start of a process is charged
/// to the first call that it gets.
#[test]
fn processor_time_of_a_child_process_counts_for_the_calling_thread() {
    let pool = pool();
    let start = thread_time();
    assert!(fails::<Loop>(&pool, ""));
    let used = thread_time().saturating_sub(start);
    assert!(TIME_LIMIT <= used && used < 10 * TIME_LIMIT, "{used:?}");
    // Each call is charged once, although the process is kept.
    let start = thread_time();
    pool.call::<Compute>("").unwrap();
    pool.call::<Reverse>("abc").unwrap();
    let used = thread_time().saturating_sub(start);
    assert!(COMPUTED <= used && used < 2 * COMPUTED, "{used:?}");
    let of_another_thread = thread::spawn(thread_time).join().unwrap();
    assert!(of_another_thread < TIME_LIMIT, "{of_another_thread:?}");
}

/// An operator may limit the processor time of all processes of the service.
#[test]
fn a_lower_limit_of_the_system_is_kept() {
    let start = format!("ulimit -t 5; exec {PROBE}");
    let pool = ParserPool::start(Program::new("/bin/sh", &["-c", &start])).unwrap();
    assert_eq!(pool.call::<Reverse>("abc").unwrap(), "cba");
}

#[test]
fn files_network_and_processes_are_out_of_reach() {
    let pool = pool();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    assert_eq!(pool.call::<ReadFile>("/etc/hostname").unwrap(), DENIED);
    assert_eq!(pool.call::<ReadFile>("/proc/self/environ").unwrap(), DENIED);
    assert_eq!(pool.call::<ListFiles>("/").unwrap(), DENIED);
    assert_eq!(pool.call::<WriteFile>("/tmp/parser-probe").unwrap(), DENIED);
    assert_eq!(pool.call::<Connect>(&address).unwrap(), DENIED);
    assert_ne!(pool.call::<Run>("/bin/true").unwrap(), "run");
    assert_eq!(pool.call::<Signal>(&std::process::id().to_string()).unwrap(), DENIED);
    // The same calls succeed where the process has its privileges.
    assert!(std::fs::read_dir("/").is_ok() && std::net::TcpStream::connect(&address).is_ok());
}

#[test]
fn memory_cannot_become_executable() {
    assert_eq!(pool().call::<Executable>("").unwrap(), DENIED);
    assert!(memmap2::MmapMut::map_anon(1).unwrap().make_exec().is_ok(), "with its privileges");
}

/// A service may have inherited files itself, or have opened one without the flag that closes it in
/// other programs.
#[test]
fn inherited_files_are_closed() {
    // The streams of the process have lower numbers.
    let file = fcntl_dupfd_cloexec(File::open("/etc/passwd").unwrap(), 100).unwrap();
    fcntl_setfd(&file, FdFlags::empty()).unwrap();
    let number = file.as_raw_fd().to_string();
    let read = Command::new("cat").arg(format!("/dev/fd/{number}")).output().unwrap();
    assert!(read.status.success(), "other programs inherit the file: {read:?}");
    let closed = pool().call::<CloseFile>(&number).unwrap();
    assert!(closed.contains("EBADF"), "{closed}");
}

#[test]
fn parsers_have_a_lower_priority() {
    let _pool = pool_with_arguments(&["low-priority-pool"]);
    let [process] = processes("low-priority-pool")[..] else { panic!("one process") };
    // 19 is the lowest priority.
    assert_eq!(niceness(&process.to_string()), (niceness("self") + NICENESS).min(19));
}

/// Returns the niceness of a process: the seventeenth field after its name.
fn niceness(process: &str) -> i32 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    fields.split(' ').nth(16).unwrap().parse().unwrap()
}

#[test]
fn root_runs_parsers_as_another_user() {
    let is_root = mc_testkit::runs_as_root("only root can run a process as another user");
    let own = nix::unistd::geteuid().as_raw();
    let expected = if is_root { UnprivilegedUser::PARSERS.uid } else { own };
    assert_eq!(pool().call::<User>("").unwrap(), expected.to_string());
}

/// A parser that waits uses no processor time, so its limit does not end it.
#[test]
fn a_parser_that_hangs_is_replaced_after_the_timeout() {
    let program = Program::new(PROBE, &["hanging-pool"]).with_timeout(Duration::from_secs(5));
    let pool = ParserPool::start(program).unwrap();
    let hanging = processes("hanging-pool");
    assert_eq!(hanging.len(), 1);
    let error = pool.call::<Park>("").unwrap_err();
    assert!(
        matches!(&error, CallError::Failed { cause, .. } if cause.contains("timed out")),
        "{error}"
    );
    assert!(processes("hanging-pool").is_empty(), "it was killed");
    assert_eq!(pool.call::<Reverse>("abc").unwrap(), "cba");
    assert_ne!(processes("hanging-pool"), hanging);
}

#[test]
fn bulk_calls_leave_a_process_to_others() {
    let processors = thread::available_parallelism().map_or(1, usize::from).min(8);
    let argument = "bulk-calls";
    let pool = pool_with_arguments(&[argument]);
    thread::scope(|scope| {
        for _ in 0..=processors {
            scope.spawn(|| pool.call::<BulkPark>(""));
        }
        let deadline = Instant::now() + Duration::from_mins(1);
        while processes(argument).len() < processors && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(10));
        }
        let (sender, result) = mpsc::channel();
        let pool = &pool;
        scope.spawn(move || sender.send(pool.call::<Reverse>("ab")));
        let result = result.recv_timeout(Duration::from_secs(30));
        pool.stop();
        assert_eq!(result.expect("a process is free").unwrap(), "ba");
    });
}

#[test]
fn a_stopped_pool_ends_running_calls() {
    let pool = pool();
    thread::scope(|scope| {
        let started = Instant::now();
        let running = scope.spawn(|| pool.call::<Park>(""));
        pool.stop();
        assert!(matches!(running.join().unwrap(), Err(CallError::Stopped)));
        // Such a call would end after a minute.
        assert!(started.elapsed() < Duration::from_secs(50));
    });
    assert!(matches!(pool.call::<Reverse>("abc"), Err(CallError::Stopped)));
}

#[test]
fn a_program_that_is_no_parser_is_refused() {
    for path in ["/nonexistent/program", "/bin/true"] {
        let error = ParserPool::start(Program::new(path, &[])).unwrap_err();
        assert!(matches!(error, CallError::NotStarted(_)), "{error}");
    }
}
