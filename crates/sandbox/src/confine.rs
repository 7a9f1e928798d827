//! Dropping the privileges of a child process, before it reads its first text.

use std::io;

use nix::unistd::{Gid, Uid, setgroups, setresgid, setresuid};
use rustix::process::{Resource, Rlimit, getrlimit, nice, setrlimit};
use rustix::time::{ClockId, clock_gettime};

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

/// Lower priority than the service's, so that requests come first on a busy machine.
const NICENESS: i32 = 10;

/// Drops the privileges of this process permanently: the rights of root, and access to files, the
/// network and other processes.
pub fn drop_privileges(limits: Limits) -> io::Result<()> {
    nice(NICENESS)?;
    if let Some(UnprivilegedUser { uid, gid }) = UnprivilegedUser::if_root() {
        let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
        setgroups(&[])?;
        setresgid(gid, gid, gid)?;
        setresuid(uid, uid, uid)?;
    }
    limit(Resource::As, limits.memory_bytes)?;
    for nothing in [Resource::Core, Resource::Fsize, Resource::Nofile, Resource::Nproc] {
        limit(nothing, 0)?;
    }
    // Other processes of this user can neither trace this one nor read its memory.
    #[cfg(target_os = "linux")]
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    limit_system_calls()
}

/// Allows this process `processor_seconds` of processor time from now on. Then the kernel kills it.
pub fn limit_processor_time(limits: Limits) -> io::Result<()> {
    let used = clock_gettime(ClockId::ProcessCPUTime).tv_sec;
    // The limit counts whole seconds, so the second that has begun is added.
    let current = u64::try_from(used).unwrap_or(0) + 1 + limits.processor_seconds;
    let maximum = getrlimit(Resource::Cpu).maximum;
    Ok(setrlimit(Resource::Cpu, Rlimit { current: Some(current), maximum })?)
}

/// Sets a limit that can't be raised again, and keeps a lower limit that the system has set.
fn limit(resource: Resource, value: u64) -> io::Result<()> {
    let value = getrlimit(resource).maximum.map_or(value, |maximum| maximum.min(value));
    Ok(setrlimit(resource, Rlimit { current: Some(value), maximum: Some(value) })?)
}

/// Makes every system call fail that is not in [`ALLOWED`], except for limits of this process.
#[cfg(target_os = "linux")]
fn limit_system_calls() -> io::Result<()> {
    use std::collections::BTreeMap;

    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
        SeccompRule, TargetArch, apply_filter,
    };

    let other = |error: Box<dyn std::error::Error + Send + Sync>| io::Error::other(error);
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
    // Process id 0 is this process. It can't change the limits of other processes of its user.
    let is_own = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, 0)
        .and_then(|own| SeccompRule::new(vec![own]))
        .map_err(|error| other(error.into()))?;
    rules.insert(libc::SYS_prlimit64, vec![is_own]);
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|error| other(error.into()))?;
    let denied = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let program: BpfProgram = SeccompFilter::new(rules, denied, SeccompAction::Allow, arch)
        .and_then(TryInto::try_into)
        .map_err(|error| other(error.into()))?;
    apply_filter(&program).map_err(|error| other(error.into()))
}

/// System calls that parsers and the allocator need, and those that end the process. None of them
/// affects another process.
#[cfg(target_os = "linux")]
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
    libc::SYS_mmap,
    libc::SYS_mprotect,
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

/// Does nothing: the service filters system calls on Linux only. The other limits apply.
#[cfg(not(target_os = "linux"))]
fn limit_system_calls() -> io::Result<()> {
    Ok(())
}
