//! Dropping the privileges of a child process, before it reads its first text. Linux only.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

use nix::sys::signal::{SigEvent, SigSet, SigevNotify, Signal};
use nix::sys::time::TimeSpec;
use nix::sys::timer::{Expiration, Timer, TimerSetTimeFlags};
use nix::time::ClockId;
use nix::unistd::{Gid, Uid, setgroups, setresgid, setresuid};
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, getrlimit, nice, set_dumpable_behavior, setrlimit,
};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, apply_filter,
};

use mc_privileges::UnprivilegedUser;

/// Maximum address space of a process, in bytes. It is far above the needs of ordinary code: the
/// syntax tree of a megabyte takes some hundred megabytes in addition to the program.
const MAX_MEMORY_BYTES: u64 = 1 << 30;

/// Lower priority than the service's, so that requests come first on a busy machine. With 10, index
/// runs take half as long again, since the model works at the same time.
const NICENESS: i32 = 5;

/// Processor time of a process in its whole life, in seconds. It ends one that no service waits
/// for.
const MAX_PROCESSOR_SECONDS: u64 = 3600;

/// Drops the privileges of this process permanently: the rights of root, and access to files, the
/// network and other processes. Returns its timer, which can't be created later. The error says
/// what failed and what to do.
pub fn drop_privileges() -> Result<ProcessorTimer, String> {
    block_signals().map_err(|error| format!("its signals can't be blocked ({error})"))?;
    // The kernel kills this process before others if memory is short. Fails without `/proc`.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    change_user().map_err(|error| {
        format!(
            "it can't become the user {} ({error}); give the service the capabilities CAP_SETUID, \
             CAP_SETGID and CAP_KILL, or run it as another user than root",
            UnprivilegedUser::PARSERS.uid
        )
    })?;
    set_limits().map_err(|error| format!("its limits can't be set ({error})"))?;
    let timer = ProcessorTimer::new()
        .map_err(|error| format!("its processor time can't be limited ({error})"))?;
    limit_system_calls().map_err(|error| {
        format!(
            "its system calls can't be filtered ({error}); allow seccomp filters in the container \
             or kernel of the service"
        )
    })?;
    Ok(timer)
}

/// Ends this process by `SIGXCPU` when a text has taken its processor time. Unlike a limit of the
/// process, a timer counts milliseconds.
#[derive(Debug)]
pub struct ProcessorTimer(Timer);

impl ProcessorTimer {
    fn new() -> nix::Result<Self> {
        let signal = SigevNotify::SigevSignal { signal: Signal::SIGXCPU, si_value: 0 };
        Timer::new(ClockId::CLOCK_PROCESS_CPUTIME_ID, SigEvent::new(signal)).map(Self)
    }

    /// Allows this process so much processor time from now on.
    pub fn start(&mut self, time: Duration) -> io::Result<()> {
        // Without time, the timer would be stopped.
        self.set(time.max(Duration::from_nanos(1)))
    }

    /// Ends the limit.
    pub fn stop(&mut self) -> io::Result<()> {
        self.set(Duration::ZERO)
    }

    fn set(&mut self, time: Duration) -> io::Result<()> {
        let expiration = Expiration::OneShot(TimeSpec::from_duration(time));
        Ok(self.0.set(expiration, TimerSetTimeFlags::empty())?)
    }
}

/// Blocks the signals that a terminal or a service manager sends to all processes of the service:
/// a text that is being parsed then would count as too costly.
fn block_signals() -> io::Result<()> {
    let signals = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT];
    Ok(signals.into_iter().collect::<SigSet>().thread_block()?)
}

/// Closes all files but the standard streams. The service may have inherited some that it did not
/// open itself.
pub fn close_inherited_files() {
    let listed = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let files: Vec<RawFd> =
        listed.filter_map(|file| file.file_name().to_str()?.parse().ok()).collect();
    for file in files.into_iter().filter(|file| *file > 2) {
        // That of the listing is closed already.
        let _ = nix::unistd::close(file);
    }
}

fn change_user() -> nix::Result<()> {
    if let Some(UnprivilegedUser { uid, gid }) = UnprivilegedUser::PARSERS.if_root() {
        let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
        setgroups(&[])?;
        setresgid(gid, gid, gid)?;
        setresuid(uid, uid, uid)?;
    }
    Ok(())
}

fn set_limits() -> io::Result<()> {
    nice(NICENESS)?;
    limit(Resource::As, MAX_MEMORY_BYTES)?;
    limit(Resource::Cpu, MAX_PROCESSOR_SECONDS)?;
    for nothing in [Resource::Core, Resource::Fsize, Resource::Nofile, Resource::Nproc] {
        limit(nothing, 0)?;
    }
    // Other processes of this user can neither trace this one nor read its memory.
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// Sets a limit that can't be raised again, and keeps a lower limit that the system has set.
fn limit(resource: Resource, value: u64) -> io::Result<()> {
    let value = getrlimit(resource).maximum.map_or(value, |maximum| maximum.min(value));
    Ok(setrlimit(resource, Rlimit { current: Some(value), maximum: Some(value) })?)
}

/// Makes every system call fail that is not in [`ALLOWED`], except for memory that is not
/// executable.
fn limit_system_calls() -> Result<(), seccompiler::Error> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
    let executable = libc::PROT_EXEC.unsigned_abs().into();
    for call in [libc::SYS_mmap, libc::SYS_mprotect] {
        rules.insert(call, vec![rule(2, SeccompCmpOp::MaskedEq(executable), 0)?]);
    }
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let denied = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let program: BpfProgram =
        SeccompFilter::new(rules, denied, SeccompAction::Allow, arch)?.try_into()?;
    apply_filter(&program)
}

/// Returns the rule that an argument of a system call compares to the value.
fn rule(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(vec![SeccompCondition::new(
        argument,
        SeccompCmpArgLen::Dword,
        operator,
        value,
    )?])
}

/// System calls that parsers and the allocator need, and those that end the process. None of them
/// affects another process.
const ALLOWED: &[i64] = &[
    libc::SYS_brk,
    libc::SYS_clock_gettime,
    libc::SYS_close,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_futex,
    libc::SYS_getrandom,
    libc::SYS_geteuid,
    libc::SYS_madvise,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_read,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_sigaltstack,
    libc::SYS_timer_settime,
    libc::SYS_write,
    libc::SYS_writev,
];
