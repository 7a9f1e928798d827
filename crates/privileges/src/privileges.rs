//! Privileges of a service that is root.
//!
//! Its threads work as another user, [`UnprivilegedUser::SERVICE`], without capabilities. A thread
//! becomes root for the moment in which it starts a program as another user, ends it, or opens
//! files of another user.

use std::io;
use std::marker::PhantomData;
use std::panic;
use std::process;
use std::thread;

use landlock::{
    ABI, AccessFs, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, RulesetStatus,
    Scope, path_beneath_rules,
};
use nix::unistd::getresuid;
use rustix::io::Errno;
use rustix::process::{Gid, Uid, getegid, geteuid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs, set_thread_groups,
    set_thread_res_gid, set_thread_res_uid,
};

use crate::UnprivilegedUser;

/// Capabilities that the service uses.
const USED: CapabilitySet = CapabilitySet::SETUID
    // To run PostgreSQL, git and parsers as other users, and to end them.
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::KILL)
    // To give files to these users, to use them, and to repair their permissions.
    .union(CapabilitySet::CHOWN)
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    // To find the processes of a PostgreSQL that survived the service, by their directory.
    .union(CapabilitySet::SYS_PTRACE)
    // To listen on a port below 1024.
    .union(CapabilitySet::NET_BIND_SERVICE);

/// Newest version of the kernel's interface whose restrictions are used.
pub(crate) const TESTED_ABI: ABI = ABI::V6;

/// Drops all capabilities of root that the service does not use, such as those to load kernel
/// modules and to mount file systems. They are dropped permanently: also a program that the service
/// starts as root does not get them, unless the process lacks `CAP_SETPCAP`.
///
/// Call it before the process has a second thread: each thread has capabilities of its own. Does
/// nothing if the process is not root.
pub fn drop_unused_capabilities() -> io::Result<()> {
    if !is_root() {
        return Ok(());
    }
    // A newer kernel may know more capabilities than this program.
    let all = (0..u64::BITS).map(|number| CapabilitySet::from_bits_retain(1 << number));
    for unused in all.filter(|capability| !USED.contains(*capability)) {
        if capability_is_in_bounding_set(unused) != Ok(true) {
            continue;
        }
        match remove_capability_from_bounding_set(unused) {
            Ok(()) | Err(Errno::PERM) => {}
            Err(error) => return Err(error.into()),
        }
    }
    // This also removes all from the ambient set.
    let CapabilitySets { effective, permitted, inheritable: _ } = capabilities(None)?;
    set_capabilities(
        None,
        CapabilitySets {
            effective: effective & USED,
            permitted: permitted & USED,
            inheritable: CapabilitySet::empty(),
        },
    )?;
    Ok(())
}

/// Returns whether the process is root. Its threads may work as another user.
pub fn is_root() -> bool {
    getresuid().is_ok_and(|ids| ids.saved.is_root())
}

/// Makes this thread, and those that it creates, work as [`UnprivilegedUser::SERVICE`] until
/// [`raise_privileges`].
///
/// Call it before the process has a second thread. Does nothing if the process is not root.
pub fn lower_privileges() -> io::Result<()> {
    if !is_root() {
        return Ok(());
    }
    set_thread_groups(&[])?;
    let (uid, gid) = (UnprivilegedUser::SERVICE.uid, UnprivilegedUser::SERVICE.gid);
    Identity { uid: Uid::from_raw(uid), gid: Gid::from_raw(gid) }.assume()
}

/// Makes this thread root until the result is dropped. Hold it for single calls of the system, and
/// not while data from outside is parsed. A thread or program that is created meanwhile stays root.
///
/// If it fails, the calls that need root fail. Does nothing if the process is not root.
pub fn raise_privileges() -> RaisedPrivileges {
    let before = is_root().then(Before::of_this_thread).and_then(Result::ok);
    let raised = RaisedPrivileges { before, of_this_thread: PhantomData };
    if raised.before.as_ref().is_some_and(|before| !before.identity.uid.is_root()) {
        // Otherwise, the calls of the system report that they are not permitted.
        let _ = Identity::ROOT.assume();
    }
    raised.raise_again();
    raised
}

/// Privileges of a thread; see [`raise_privileges`].
#[derive(Debug)]
#[must_use]
pub struct RaisedPrivileges {
    /// The thread before; `None` if the process is not root.
    before: Option<Before>,
    /// It changes the thread that drops it, so it must stay on its thread.
    of_this_thread: PhantomData<*const ()>,
}

impl RaisedPrivileges {
    /// Makes the capabilities ineffective until [`Self::raise_again`].
    pub(crate) fn lower_capabilities(&self) -> io::Result<()> {
        self.before.as_ref().map_or(Ok(()), |_| set_effective(CapabilitySet::empty()))
    }

    /// Makes all capabilities effective.
    pub(crate) fn raise_again(&self) {
        if self.before.is_some() {
            // Otherwise, the calls of the system report that they are not permitted.
            let _ = set_effective(CapabilitySet::all());
        }
    }
}

impl Drop for RaisedPrivileges {
    fn drop(&mut self) {
        let Some(before) = &self.before else { return };
        let restored = if before.identity.uid.is_root() {
            set_effective(before.capabilities)
        } else {
            // The kernel also takes the effective capabilities away.
            before.identity.assume()
        };
        if restored.is_err() {
            // The thread must not go on as root.
            process::abort();
        }
    }
}

/// Runs a function as root in a thread that has permanently given up all capabilities. A program
/// that it starts can read the files of root, but has no capabilities, and can't regain them. If
/// the kernel supports it, the program can write, create and delete no file (since Linux 5.13),
/// truncate none (6.2), and signal no other processes of root (6.12). It can still change the modes
/// of root's files, and connect to root's sockets.
///
/// If the process is not root, runs the function in this thread.
pub fn without_capabilities<T: Send>(run: impl FnOnce() -> T + Send) -> io::Result<T> {
    if !is_root() {
        return Ok(run());
    }
    let run = || {
        forbid_changes().map_err(io::Error::other)?;
        // Otherwise a program of root gets the capabilities of the bounding set.
        set_no_new_privs(true)?;
        let none = CapabilitySet::empty();
        set_capabilities(
            None,
            CapabilitySets { effective: none, permitted: none, inheritable: none },
        )?;
        Ok(run())
    };
    thread::scope(|scope| {
        let raised = raise_privileges();
        let thread = thread::Builder::new().spawn_scoped(scope, run)?;
        drop(raised);
        thread.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked))
    })
}

/// Forbids this thread, and the programs that it starts, to write, create and delete files, except
/// for writing to `/dev/null`, and to signal other processes.
fn forbid_changes() -> Result<RulesetStatus, RulesetError> {
    let changes = AccessFs::from_write(TESTED_ABI);
    let rules = Ruleset::default()
        .handle_access(changes)?
        .scope(Scope::Signal | Scope::AbstractUnixSocket)?
        .create()?;
    let rules = rules.add_rules(path_beneath_rules(["/dev/null"], changes))?;
    Ok(rules.restrict_self()?.ruleset)
}

/// What [`raise_privileges`] changes.
#[derive(Debug)]
struct Before {
    identity: Identity,
    capabilities: CapabilitySet,
}

impl Before {
    fn of_this_thread() -> io::Result<Self> {
        let identity = Identity { uid: geteuid(), gid: getegid() };
        Ok(Self { identity, capabilities: capabilities(None)?.effective })
    }
}

/// User and group of a thread.
#[derive(Debug)]
struct Identity {
    uid: Uid,
    gid: Gid,
}

impl Identity {
    const ROOT: Self = Self { uid: Uid::ROOT, gid: Gid::ROOT };

    /// Changes the ids of this thread; it may become root again. The real ids change, too: the
    /// system restricts a program whose real and effective ids differ.
    fn assume(&self) -> io::Result<()> {
        // Only root may change the group, so it becomes root first, and another user last.
        if self.uid.is_root() {
            set_thread_res_uid(self.uid, self.uid, Uid::ROOT)?;
        }
        set_thread_res_gid(self.gid, self.gid, Gid::ROOT)?;
        Ok(set_thread_res_uid(self.uid, self.uid, Uid::ROOT)?)
    }
}

/// Makes those of the permitted capabilities effective that are in `wanted`.
fn set_effective(wanted: CapabilitySet) -> io::Result<()> {
    let sets = capabilities(None)?;
    let effective = wanted & sets.permitted;
    Ok(set_capabilities(None, CapabilitySets { effective, ..sets })?)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;
    use std::process::Command;

    use super::*;

    /// Environment variable. If it is `required`, a test fails on a kernel without Landlock.
    const LANDLOCK: &str = "MC_TEST_LANDLOCK";

    /// Runs a function in a thread of a service that is root.
    fn in_thread_of_a_service(run: impl FnOnce() + Send) {
        thread::scope(|scope| {
            let run = || {
                lower_privileges().expect("lower privileges");
                run();
            };
            scope.spawn(run).join().expect("no panic");
        });
    }

    fn is_privileged() -> bool {
        let before = Before::of_this_thread().expect("an identity");
        let has_capabilities = before.capabilities.contains(CapabilitySet::KILL);
        assert_eq!(before.identity.uid.is_root(), has_capabilities);
        assert_eq!(before.identity.gid == Gid::ROOT, has_capabilities);
        has_capabilities
    }

    #[test]
    fn thread_is_root_only_while_its_privileges_are_raised() {
        if !mc_testkit::runs_as_root("only root has privileges to lower") {
            return;
        }
        let directory = tempfile::tempdir().expect("a directory");
        let of_root = directory.path().join("of-root");
        fs::write(&of_root, "").expect("a file");
        fs::set_permissions(&of_root, Permissions::from_mode(0o600)).expect("permissions");
        in_thread_of_a_service(|| {
            assert!(!is_privileged() && is_root());
            fs::read(&of_root).expect_err("a file of root");
            let raised = raise_privileges();
            assert!(is_privileged());
            fs::read(&of_root).expect("a file of root");
            drop(raise_privileges());
            assert!(is_privileged(), "the outer one is not dropped");
            drop(raised);
            assert!(!is_privileged());
            fs::read(&of_root).expect_err("a file of root");
        });
        assert!(is_privileged(), "other threads keep their privileges");
    }

    #[test]
    fn program_of_root_starts_without_capabilities() {
        if !mc_testkit::runs_as_root("only root has capabilities") {
            return;
        }
        let shown = || {
            let lines_of_ids = ["-E", "^(Uid|Gid|CapPrm|CapEff):", "/proc/self/status"];
            let shown = Command::new("grep").args(lines_of_ids).output().expect("a program");
            String::from_utf8(shown.stdout).expect("a text")
        };
        let is_root_without_capabilities = |shown: &str| {
            let lines: Vec<Vec<&str>> =
                shown.lines().map(|line| line.split_whitespace().skip(1).collect()).collect();
            assert_eq!(lines.len(), 4, "{shown}");
            lines.concat().iter().all(|number| number.trim_matches('0').is_empty())
        };
        assert!(is_root_without_capabilities(&without_capabilities(shown).expect("a thread")));
        assert!(!is_root_without_capabilities(&shown()), "this thread keeps them");
        in_thread_of_a_service(|| {
            assert!(is_root_without_capabilities(&without_capabilities(shown).expect("a thread")));
            assert!(!is_privileged());
        });
    }

    #[test]
    fn program_of_root_reads_files_and_writes_none() {
        if !mc_testkit::runs_as_root("only root has privileges to drop") {
            return;
        }
        let status = thread::scope(|scope| scope.spawn(forbid_changes).join().expect("no panic"));
        if status.expect("a status") != RulesetStatus::FullyEnforced {
            mc_testkit::skip(LANDLOCK, "the kernel has no Landlock", "with Linux 6.12 or newer");
            return;
        }
        let directory = tempfile::tempdir().expect("a directory");
        let of_root = directory.path().join("of-root");
        fs::write(&of_root, "text").expect("a file");
        let run = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]).current_dir(&directory);
            without_capabilities(|| command.status()).expect("a thread").expect("a shell").success()
        };
        assert!(run("test \"$(cat of-root)\" = text && echo > /dev/null"));
        for change in ["echo > of-root", "echo > new", "rm of-root", "mkdir new", "kill -0 $PPID"] {
            assert!(!run(change), "{change}");
        }
        assert_eq!(fs::read_to_string(&of_root).expect("a file"), "text");
    }
}
