//! Dropping the privileges of a child process, before it reads its first text. Linux only.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::RawFd;

use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{Gid, Uid, setgroups, setresgid, setresuid};
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, getrlimit, nice, set_dumpable_behavior, setrlimit,
};
use rustix::time::{ClockId, clock_gettime};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, apply_filter,
};

use crate::user::UnprivilegedUser;

/// Limits of a child process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Processor time for one text, in seconds.
    pub processor_seconds: u64,
    /// Address space, in bytes.
    pub memory_bytes: u64,
}

impl Default for Limits {
    /// Returns limits far above the needs of ordinary code: a megabyte of it takes a fraction of a
    /// second, and its syntax tree some hundred megabytes in addition to the program.
    fn default() -> Self {
        Self { processor_seconds: 10, memory_bytes: 1 << 30 }
    }
}

/// Lower priority than the service's, so that requests come first on a busy machine. With 10, index
/// runs take half as long again, since the model works at the same time.
const NICENESS: i32 = 5;

/// Processor time of a process in its whole life, in seconds. It ends one that no service waits
/// for.
const MAX_PROCESSOR_SECONDS: u64 = 3600;

/// Drops the privileges of this process permanently: the rights of root, and access to files, the
/// network and other processes. The error says what failed and what to do.
pub fn drop_privileges(limits: Limits) -> Result<(), String> {
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
    set_limits(limits).map_err(|error| format!("its limits can't be set ({error})"))?;
    limit_system_calls().map_err(|error| {
        format!(
            "its system calls can't be filtered ({error}); allow seccomp filters in the container \
             or kernel of the service"
        )
    })
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

fn set_limits(limits: Limits) -> io::Result<()> {
    nice(NICENESS)?;
    limit(Resource::As, limits.memory_bytes)?;
    limit(Resource::Cpu, MAX_PROCESSOR_SECONDS)?;
    for nothing in [Resource::Core, Resource::Fsize, Resource::Nofile, Resource::Nproc] {
        limit(nothing, 0)?;
    }
    // Other processes of this user can neither trace this one nor read its memory.
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// Allows this process `processor_seconds` of processor time from now on. Then the kernel kills it.
pub fn limit_processor_time(limits: Limits) -> io::Result<()> {
    let used = clock_gettime(ClockId::ProcessCPUTime).tv_sec;
    // The limit counts whole seconds, so the second that has begun is added.
    let current = u64::try_from(used).unwrap_or(0) + 1 + limits.processor_seconds;
    // At the end of its life, the process gets less, and another one parses the text.
    let maximum = getrlimit(Resource::Cpu).maximum;
    let current = maximum.map_or(current, |maximum| maximum.min(current));
    Ok(setrlimit(Resource::Cpu, Rlimit { current: Some(current), maximum })?)
}

/// Sets a limit that can't be raised again, and keeps a lower limit that the system has set.
fn limit(resource: Resource, value: u64) -> io::Result<()> {
    let value = getrlimit(resource).maximum.map_or(value, |maximum| maximum.min(value));
    Ok(setrlimit(resource, Rlimit { current: Some(value), maximum: Some(value) })?)
}

/// Makes every system call fail that is not in [`ALLOWED`], except for limits of this process and
/// memory that is not executable.
fn limit_system_calls() -> Result<(), seccompiler::Error> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
    // Process id 0 is this process. It can't change the limits of other processes of its user.
    rules.insert(libc::SYS_prlimit64, vec![rule(0, SeccompCmpOp::Eq, 0)?]);
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
    libc::SYS_write,
    libc::SYS_writev,
];
