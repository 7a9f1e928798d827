//! What the first process gives up itself, and takes from the command.

use std::io;
use std::os::fd::RawFd;

use landlock::{
    ABI, Access as _, AccessFs, LandlockStatus, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _,
    RulesetError, Scope, path_beneath_rules,
};
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit,
};

use crate::limits::Limits;
use crate::message::Text;

/// Newest version of the kernel's interface whose restrictions are used.
const TESTED_ABI: ABI = ABI::V6;

/// Files and directories of the sandbox in which every command may write. `/dev/zero` is not among
/// them: mapped for writing, it is shared memory that is not counted.
const WRITABLE: &[&str] = &[
    "/dev/full",
    "/dev/null",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/random",
    "/dev/shm",
    "/dev/tty",
    "/dev/urandom",
    "/tmp",
];

/// Additional processes and threads of the first process while it starts a command.
const OWN_PROCESSES: u64 = 1;
/// Processor time in seconds after which the kernel kills a process that ignores SIGXCPU.
const HARD_SECONDS: u64 = 1;

/// Closes the files that this process has inherited, except for its streams. Directories of the
/// service are among them.
pub(super) fn close_inherited_files() {
    let listed = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let files: Vec<RawFd> =
        listed.filter_map(|file| file.file_name().to_str()?.parse().ok()).collect();
    for file in files.into_iter().filter(|file| *file > 2) {
        // That of the listing is closed already.
        let _ = nix::unistd::close(file);
    }
}

/// Sets the limits of each process, which the command inherits, and hides this process from it.
pub(super) fn protect_this_process(limits: &Limits) -> io::Result<()> {
    // If the machine runs out of memory, the kernel kills a process of a command first. It is an
    // advantage only, so the set-up goes on without it.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    let seconds = limits.processor_time.as_secs();
    limit(Resource::Cpu, seconds, seconds.saturating_add(HARD_SECONDS))?;
    for (resource, value) in [
        // Memory that is reserved only, as by the virtual machine of Java, does not count.
        (Resource::Data, limits.memory_bytes),
        (Resource::Nproc, limits.processes.saturating_add(OWN_PROCESSES)),
        (Resource::Fsize, limits.file_bytes),
        (Resource::Nofile, limits.open_files),
        (Resource::Core, 0),
        (Resource::Memlock, 0),
        (Resource::Msgqueue, 0),
        (Resource::Nice, 0),
        (Resource::Rtprio, 0),
    ] {
        limit(resource, value, value)?;
    }
    // Processes of the same user can neither trace this one nor read its memory.
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// Sets a limit that can't be raised again, and keeps a lower limit that the system has set.
fn limit(resource: Resource, soft: u64, hard: u64) -> io::Result<()> {
    let maximum = getrlimit(resource).maximum;
    let lower = |value: u64| Some(maximum.map_or(value, |maximum| maximum.min(value)));
    Ok(setrlimit(resource, Rlimit { current: lower(soft), maximum: lower(hard) })?)
}

/// Forbids this thread, and the programs that it starts, to write outside of the writable
/// directories, to signal processes outside of the command, and to gain privileges. In the
/// directories of `writable`, they can create no pipe and no device, which would block programs
/// outside that read the tree. Returns the version of Landlock's interface in force; `None` on a
/// kernel without it.
pub(super) fn restrict_files(writable: &[Text]) -> Result<Option<i32>, RulesetError> {
    let all = AccessFs::from_all(TESTED_ABI);
    let rules = Ruleset::default()
        .handle_access(all)?
        .scope(Scope::Signal | Scope::AbstractUnixSocket)?
        .create()?;
    let of_tree = all & !(AccessFs::MakeFifo | AccessFs::MakeChar | AccessFs::MakeBlock);
    let rules = rules
        .add_rules(path_beneath_rules(["/"], AccessFs::from_read(TESTED_ABI)))?
        .add_rules(path_beneath_rules(WRITABLE, all))?
        .add_rules(path_beneath_rules(writable.iter().map(Text::to_path), of_tree))?;
    Ok(match rules.restrict_self()?.landlock {
        LandlockStatus::Available { effective_abi, .. } => {
            Some(effective_abi.min(TESTED_ABI) as i32)
        }
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => None,
    })
}
